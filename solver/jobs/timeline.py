"""When each job of a mix begins its iterations, and when it sends."""

from itertools import pairwise
from typing import NamedTuple

from solver.jobs.mix import Mix
from solver.jobs.simulate import MixRun

#: Iterations of the longest job that are told, where the pattern is longer.
_TOLD = 6
#: Speeds this near to one another are the same.
_SAME = 1e-6


class Sending(NamedTuple):
    """A while in which a job sends.

    Attributes
    ----------
    begin_us, end_us
        From the start of the window [us].
    speed
        Share of what it sends at alone: of its slowest transfer then.
    """

    begin_us: float
    end_us: float
    speed: float


class JobTimeline(NamedTuple):
    """A job in the first iterations of the window.

    Attributes
    ----------
    begins_us
        When its iterations begin, from the start of the window [us].
    sends
        When it sends, in the order of time.
    """

    begins_us: tuple[float, ...]
    sends: tuple[Sending, ...]


def timelines_of(mix: Mix, run: MixRun) -> tuple[float, tuple[JobTimeline, ...]]:
    """Return how long is told [us], and each job's iterations and transfers in that time.

    It is the pattern, or the first six iterations of the longest job where that is shorter.

    Parameters
    ----------
    mix
        The jobs.
    run
        As they ran, traced.

    Notes
    -----
    O(pieces carried x log + pieces x transfers under way).
    """
    begin, end = run.window
    told = min(end - begin, _TOLD * max(run.means))
    pieces: list[list[tuple[float, float, float]]] = [[] for _ in mix.jobs]
    for each in run.carried:
        if each.begin - begin < told:
            until = min(each.end - begin, told)
            pieces[each.job].append((each.begin - begin, until, each.speed))
    return told, tuple(
        JobTimeline(
            tuple(at for at in _from(begin, begins, run.pattern_us) if at < told * (1 - _SAME)),
            tuple(_spans(sorted(set(own)))),
        )
        for begins, own in zip(run.begins, pieces, strict=True)
    )


def _from(begin: float, begins: tuple[float, ...], pattern: float | None) -> list[float]:
    """Return when iterations begin from a time on: what began before it does again in a pattern."""
    since = [at - begin for at in begins]
    again = [at + pattern for at in since if at < -_SAME] if pattern is not None else []
    return sorted([at for at in since if at >= -_SAME] + again)


def _spans(pieces: list[tuple[float, float, float]]) -> list[Sending]:
    """Join pieces of the same speed that touch; of those at once the slowest counts."""
    edges = sorted({at for begin, end, _ in pieces for at in (begin, end)})
    found: list[Sending] = []
    under_way: list[tuple[float, float, float]] = []
    after = 0
    for begin, end in pairwise(edges):
        while after < len(pieces) and pieces[after][0] <= begin:
            under_way.append(pieces[after])
            after += 1
        under_way = [piece for piece in under_way if piece[1] > begin]
        if not under_way:
            continue
        speed = min(piece[2] for piece in under_way)
        last = found[-1] if found else None
        if last and last.end_us == begin and abs(last.speed - speed) <= _SAME:
            found[-1] = last._replace(end_us=end)
        else:
            found.append(Sending(begin, end, speed))
    return found
