"""Which gradients a bucket holds, when each is ready, and which forward op needs it.

DistributedDataParallel sums a bucket when autograd's ``AccumulateGrad`` stores the last of its
gradients. The call before it on the thread computed the gradient, and has the sequence number of
the forward op that used the parameter.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from solver.traces.kineto.recording import (
    CpuSpan,
    RankRecording,
    RecordedCollective,
    accumulates,
    sequence,
)
from solver.traces.kineto.steps import ProfiledStep, Threads
from solver.traces.spans import enclosing


@dataclass(frozen=True, slots=True)
class Gradient:
    """One gradient, or a bucket of them that nobody can tell apart.

    Attributes
    ----------
    name
        Of the parameter; empty for a whole bucket.
    bytes
        Its size.
    ready
        When the work that computes it is done [us].
    needed
        When the forward pass comes to the parameter [us]; None when unknown.
    """

    name: str
    bytes: int
    ready: float
    needed: float | None


def bucket_calls(
    step: ProfiledStep, collectives: Sequence[RecordedCollective]
) -> list[list[CpuSpan]]:
    """Return for each collective the calls of ``AccumulateGrad`` that fill its bucket.

    Those on its thread since the one before it, the one in which it was launched included; a
    collective that was launched elsewhere sums no bucket and has none.
    """
    calls: dict[str, list[CpuSpan]] = {}
    for span in step.backward:
        if accumulates(span):
            calls.setdefault(span.thread, []).append(span)
    result: list[list[CpuSpan]] = [[] for _ in collectives]
    since: dict[str, int] = {}
    order = sorted(range(len(collectives)), key=lambda i: collectives[i].work.launched)
    for i in order:
        work = collectives[i].work
        mine = calls.get(work.thread, [])
        if enclosing(mine, work.launched):
            filled = bisect_right(mine, work.launched, key=attrgetter("start"))
            result[i] = mine[since.get(work.thread, 0) : filled]
            since[work.thread] = filled
    return result


def times_of_need(
    recording: RankRecording, step: ProfiledStep, threads: Threads, start: float
) -> dict[int, float]:
    """Return when the forward pass needs each gradient [us], by the start of its call.

    ``start`` is that of the backward pass. The forward op is the last one with the sequence
    number, as PyTorch's own profiler has it; its first kernel tells the time. Those that cannot
    be found are missing.
    """
    result: dict[int, float] = {}
    producer: dict[str, int | None] = {}
    for span in step.backward:
        if not accumulates(span):
            producer[span.thread] = sequence(span)
            continue
        number = producer.get(span.thread)
        ops = [] if number is None else recording.forward.get(number, [])
        i = bisect_left(ops, span.start, key=attrgetter("start"))
        if i:
            work = threads.next(ops[i - 1].thread, ops[i - 1].start)
            if work and step.begin <= work.start < start:
                result[id(span.event)] = work.start
    return result


def split_parameters(
    sizes: Sequence[int], parameters: Sequence[tuple[str, int]]
) -> list[list[tuple[str, int]]] | None:
    """Cut parameters, of which the last is filled in first, into buckets of these bytes.

    DistributedDataParallel fills its first buckets in reverse order of registration, and those
    after its first step in order of readiness. None when the sizes do not come out.
    """
    left = list(parameters)
    result = []
    for size in sizes:
        missing = size
        run: list[tuple[str, int]] = []
        while left and missing > 0:
            run.append(left.pop())
            missing -= run[-1][1]
        if missing:
            return None
        result.append(run)
    return None if left else result


def bucket_gradients(
    size: int,
    release: float,
    run: Sequence[tuple[str, int]] | None,
    calls: Sequence[CpuSpan],
    needed: dict[int, float],
    threads: Threads,
) -> list[Gradient]:
    """Return what a bucket holds: its tensors where their names are known, else itself.

    A tensor's times are those of the call that stored it when there are as many of both, and
    the bucket's else.

    Parameters
    ----------
    size
        Of the bucket [bytes].
    release
        When it was sent, if nothing else was on the channel [us].
    run
        Its tensors in the order in which they are filled in; None when unknown.
    calls
        From :func:`bucket_calls`.
    needed
        From :func:`times_of_need`.
    threads
        What was launched.
    """
    times = [needed.get(id(call.event)) for call in calls]
    known = [time for time in times if time is not None]
    earliest = min(known) if known and len(known) == len(times) else None
    if run is None:
        return [Gradient("", size, release, earliest)]
    if len(run) != len(calls):
        return [Gradient(name, length, release, earliest) for name, length in run]
    return [
        Gradient(name, length, min(release, threads.ready(call.thread, call.end)), time)
        for (name, length), call, time in zip(run, calls, times, strict=True)
    ]
