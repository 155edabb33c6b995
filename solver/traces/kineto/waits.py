"""When a collective is released and what waits for it, checked against the times."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heappush
from typing import NamedTuple

from solver.traces.kineto.line import Busy
from solver.traces.kineto.recording import RecordedCollective
from solver.traces.kineto.steps import ProfiledStep, Threads
from solver.traces.spans import pop_ended

#: Clocks of the CPU and of the GPU agree so far [us].
SLACK = 1.0
#: A collective that starts so soon after the one before it waited for the channel [us].
_QUEUED = 20.0

#: From when until when the line waits [us].
Gap = tuple[float, float]


class Join(NamedTuple):
    """A place where the line waits.

    Attributes
    ----------
    start
        Of the work that waited [us]; the end of the step when none did.
    wait_at
        When the CPU waited [us].
    members
        The collectives, by their index.
    """

    start: float
    wait_at: float
    members: tuple[int, ...]


def release_times(
    step: ProfiledStep, collectives: Sequence[RecordedCollective], threads: Threads
) -> tuple[list[float], list[float]]:
    """Return when each collective could start, and since when it, or what kept it, ran [us].

    One that was launched while another ran, and followed it closely, was kept by the channel: it
    was ready when it had been launched and all was done that its thread had launched before. Any
    other started when it could.
    """
    releases, since = [], []
    ended: dict[str, float] = {}
    began: dict[str, float] = {}
    for collective in collectives:
        work = collective.work
        release = work.start
        before = ended.get(work.stream)
        if before is not None and work.launched < before and work.start - before < _QUEUED:
            release = min(release, threads.ready(work.thread, work.launched))
        else:
            began[work.stream] = work.start
        ended[work.stream] = max(ended.get(work.stream, step.begin), work.end)
        releases.append(max(release, step.begin))
        since.append(max(release, began[work.stream]))
    return releases, since


def recorded_waits(
    step: ProfiledStep, collectives: Sequence[RecordedCollective], threads: Threads
) -> tuple[list[Join], list[int]]:
    """Return who waits for these collectives, and those for which no wait was recorded.

    A recorded wait names no collective. It is taken to be for all that its thread has launched and
    not waited for, if they had ended when the thread's next work began: work that began earlier
    did not wait. ``members`` index ``collectives``.
    """
    by_thread: dict[str, list[int]] = {}
    for i in sorted(range(len(collectives)), key=lambda i: -collectives[i].work.launched):
        by_thread.setdefault(collectives[i].work.thread, []).append(i)
    running: dict[str, list[tuple[float, int]]] = {thread: [] for thread in by_thread}
    result = []
    for wait in step.waits:
        coming, heap = by_thread.get(wait.thread, []), running.get(wait.thread, [])
        while coming and collectives[coming[-1]].work.launched < wait.at:
            i = coming.pop()
            heappush(heap, (collectives[i].work.end, i))
        work = threads.next(wait.thread, wait.at) if heap else None
        done = pop_ended(heap, work.start + SLACK) if work else []
        if work and done:
            result.append(Join(work.start, wait.at, tuple(i for _, i in done)))
    done_ones = {i for join in result for i in join.members}
    return result, [i for i in range(len(collectives)) if i not in done_ones]


def guess_waits(
    step: ProfiledStep, collectives: Sequence[RecordedCollective], left: Sequence[int]
) -> list[Join]:
    """Let the work that begins next after its end wait for each of the collectives left."""
    starts = [*sorted(work.start for work in step.works), step.end]
    result = []
    for i in left:
        work = collectives[i].work
        place = bisect_left(starts, work.end - SLACK, hi=len(starts) - 1)
        result.append(Join(starts[place], work.launched, (i,)))
    return result


def barrier(step: ProfiledStep, collectives: Sequence[RecordedCollective], over: float) -> Join:
    """Return where the step waits for all gradients: after the backward pass, ``over`` [us]."""
    ended = max(collective.work.end for collective in collectives) - SLACK
    starts = (w.start for w in step.works if w.launched >= over and w.start >= ended)
    return Join(min(starts, default=step.end), over, tuple(range(len(collectives))))


def gap(
    busy: Busy, begin: float, join: Join, collectives: Iterable[RecordedCollective], running: float
) -> Gap:
    """Return from when until when the line waited for collectives and for nothing else [us].

    Not before they, or what kept them, were ``running``: until then the host was late.
    """
    idle = busy.idle_since(join.start, begin)
    at = min(max(idle, join.wait_at, running), join.start)
    ended = max(collective.work.end for collective in collectives)
    return at, min(max(ended, at), join.start)


def released_last(times: Iterable[Gap]) -> float:
    """Return since when something was always under way until all had ended [us].

    ``times`` has begin and end of each: what was over before is no reason to wait.
    """
    return merge_gaps(times)[-1][0]


def merge_gaps(gaps: Iterable[Gap]) -> list[Gap]:
    """Return gaps by time, those that overlap as one."""
    result: list[Gap] = []
    for at, skip in sorted(gaps):
        if result and at < result[-1][1]:
            result[-1] = result[-1][0], max(result[-1][1], skip)
        else:
            result.append((at, skip))
    return result


def outside_gaps(gaps: Sequence[Gap], at: float) -> float:
    """Return a time, or when the gap began in which it lies."""
    i = bisect_left(gaps, (at,))
    return gaps[i - 1][0] if i and at < gaps[i - 1][1] else at
