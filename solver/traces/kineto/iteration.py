"""One step of one rank as a graph: backward pass, optimizer, next forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from solver.graph import ALL_REDUCE, COMPUTE, REDUCE_SCATTER, Op
from solver.graph.names import HOST
from solver.traces.kineto.gradients import (
    Gradient,
    bucket_calls,
    bucket_gradients,
    split_parameters,
    times_of_need,
)
from solver.traces.kineto.line import Busy, ComputeLine, LineCut
from solver.traces.kineto.recording import CpuSpan, RankRecording, RecordedCollective
from solver.traces.kineto.sized_collectives import SizedCollective
from solver.traces.kineto.statements import order_said
from solver.traces.kineto.steps import ProfiledStep, Threads
from solver.traces.kineto.units import UnitNames, unit_names
from solver.traces.kineto.waits import (
    SLACK,
    Join,
    barrier,
    gap,
    guess_waits,
    merge_gaps,
    outside_gaps,
    recorded_waits,
    release_times,
    released_last,
)
from solver.traces.spans import enclosing
from solver.traces.unsized import ChannelLaunch, in_channel_order, unsized_op

_RELEASES, _WAITS, _RUNS, _NAMES = range(4)


@dataclass(slots=True)
class RankStep:
    """A step of a rank, on its way to a graph.

    Attributes
    ----------
    recording, step, collectives, units
        The rank, one of its steps, the step's collectives by start, and what FSDP2 calls them.
    start, over
        When the iteration begins on the line, most often with the backward pass, and when that
        ends on the CPU [us].
    ops
        Of one iteration.
    measured
        Id and recorded time [us] of each collective of known bytes, in the order in which they
        ran, those of the backward pass first.
    launched
        All collectives, likewise.
    assumed, warnings
        One sentence for each decision, and for what was given and is not used.
    is_barrier
        Whether all gradients are waited for at once.
    """

    recording: RankRecording
    step: ProfiledStep
    collectives: Sequence[SizedCollective]
    units: UnitNames
    threads: Threads
    busy: Busy
    start: float
    over: float
    marks: list[LineCut] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    measured: list[tuple[str, float]] = field(default_factory=list)
    launched: list[ChannelLaunch] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_barrier: bool = False


def iteration(
    recording: RankRecording,
    step: ProfiledStep,
    collectives: Sequence[SizedCollective],
    parameters: Sequence[tuple[str, int]] | None,
    *,
    is_barrier: bool = False,
) -> RankStep:
    """Build the iteration of a step.

    The recorded step is cut where its backward pass begins and put together the other way round,
    so that the forward pass that hides what the backward pass leaves unsent comes after it. Where
    a collective runs across the cut, as one that FSDP fetches early, the step stays as it was, and
    so it does where collectives are named by units of FSDP2: its gathers begin the forward pass.

    Parameters
    ----------
    recording
        The rank.
    step
        One of its steps.
    collectives
        The step's collectives, by start.
    parameters
        Name and bytes of each, in order of registration; None when unknown.
    is_barrier
        Whether the optimizer waits for all gradients, as PyTorch's does, though it be known which
        forward op needs which.

    Notes
    -----
    O(events log events).
    """
    threads = Threads(step.works)
    first = threads.next(step.backward[0].thread, step.backward[0].start) if step.backward else None
    start = first.start if first else step.begin
    over = max((span.end for span in step.backward), default=step.begin)
    crosses = any(one.recorded.work.start < start < one.recorded.work.end for one in collectives)
    units = unit_names(recording, collectives)
    stays = crosses or bool(units.names)
    cut = step.begin if stays else start
    it = RankStep(recording, step, collectives, units, threads, Busy(step.works), cut, over)
    it.is_barrier = is_barrier or stays
    it.assumed += [*units.said, order_said(step, crosses=crosses, sharded=bool(units.names))]
    _send(it, parameters)
    _run(it)
    it.ops = in_channel_order(it.ops, it.launched)
    return it


def _send(it: RankStep, parameters: Sequence[tuple[str, int]] | None) -> None:
    """Mark where collectives are released and waited for."""
    collectives = [one.recorded for one in it.collectives]
    filled = bucket_calls(it.step, collectives)
    calls = [some if one.bytes else [] for some, one in zip(filled, it.collectives, strict=True)]
    joins = list(_unit_joins(it))
    known = {i for join in joins for i in join.members}
    others = [i for i, some in enumerate(calls) if not some and i not in known]
    waited, left = recorded_waits(it.step, [collectives[i] for i in others], it.threads)
    begun = it.step.backward[0].start if it.step.backward else it.step.end
    late = {others[j] for j in left if _is_late(it, it.collectives[others[j]], begun)}
    rest = [j for j in left if others[j] not in late]
    waited += guess_waits(it.step, [collectives[i] for i in others], rest)
    joins += [join._replace(members=tuple(others[j] for j in join.members)) for join in waited]
    buckets = [i for i, some in enumerate(calls) if (some or i in late) and i not in known]
    releases, since = release_times(it.step, collectives, it.threads)
    pieces = _gradients(it, buckets, calls, releases, parameters)
    gaps = []
    names = [it.units.names.get(i, name) for i, name in enumerate(_names(it.collectives))]
    for join in joins:
        some = [collectives[i] for i in join.members]
        running = released_last((since[i], collectives[i].work.end) for i in join.members)
        # without a GPU the thread may wait inside the call already
        asked = join if it.recording.is_gpu else join._replace(wait_at=running)
        at, skip = gap(it.busy, it.step.begin, asked, some, running)
        gaps.append((at, skip))
        it.marks.append(LineCut(at, _WAITS, wait=tuple(names[i] for i in join.members), skip=skip))
    if buckets:
        running = released_last((since[i], collectives[i].work.end) for i in buckets)
        gaps.append(_sum_up(it, [collectives[i] for i in buckets], pieces, names, running))
    gone = merge_gaps(gaps)
    for i in sorted(range(len(it.collectives)), key=lambda i: releases[i] < it.start):
        one = it.collectives[i]
        work, shard = one.recorded.work, it.units.after.get(names[i])
        after = () if shard is None else (shard,)
        later = it.step.length if releases[i] < it.start else 0.0
        whole = [Gradient("", one.bytes or 0, releases[i], None)]
        for piece in pieces.get(i, whole):
            if one.bytes:
                op = Op(_id(piece, names[i]), one.kind, None, piece.bytes, after, work.stream)
                it.measured.append((op.id, one.time * piece.bytes / one.bytes))
            else:
                op = unsized_op(names[i], one.time, after, work.stream)
            at = outside_gaps(gone, piece.ready)
            it.marks.append(LineCut(at, _RELEASES, release=op))
            times = (work.start + later, work.end + later)
            it.launched.append(ChannelLaunch(op.id, work.stream, *times, bool(one.bytes)))


def _unit_joins(it: RankStep) -> Iterator[Join]:
    """Yield what waits for the gathers of units; without a GPU the recorded waits tell."""
    for i, wait in it.units.waits.items() if it.recording.is_gpu else ():
        work = it.threads.next(wait.thread, wait.at)
        if work and work.start >= it.collectives[i].recorded.work.end - SLACK:
            yield Join(work.start, wait.at, (i,))


def _run(it: RankStep) -> None:
    """Run the line from the backward pass to the end of the step, then from its begin."""
    time: dict[str, float] = {}
    for work in it.step.works:
        time[work.stream] = time.get(work.stream, 0.0) + work.end - work.start
    line = ComputeLine(it.busy, max(sorted(time), key=lambda stream: time[stream], default=HOST))
    after = [mark for mark in it.marks if mark.at >= it.start]
    before = [mark for mark in it.marks if mark.at < it.start]
    line.run(it.start, it.step.end, [*_phases(it), *after])
    line.run(it.step.begin, it.start, [LineCut(it.step.begin, _RELEASES, phase="forward"), *before])
    it.ops = line.ops


def _phases(it: RankStep) -> list[LineCut]:
    """Name what runs from the start of the iteration on."""
    if not it.step.backward:
        return [LineCut(it.start, _RELEASES, phase="step")]
    first = it.threads.next(it.step.backward[0].thread, it.step.backward[0].start)
    begun = first.start if first else it.start
    if begun <= it.start:
        return [LineCut(it.start, _RELEASES, phase="backward")]
    return [
        LineCut(it.start, _RELEASES, phase="forward"),
        LineCut(begun, _RELEASES, phase="backward"),
    ]


def _is_late(it: RankStep, one: SizedCollective, begun: float) -> bool:
    """Tell whether a collective sums gradients though nothing says of which bucket.

    Without a GPU a thread that did nothing while the collective ran waited for it then.
    """
    work = one.recorded.work
    if not one.bytes or one.kind not in {ALL_REDUCE, REDUCE_SCATTER} or work.launched < begun:
        return False
    return it.recording.is_gpu or it.busy.before(work.end) > it.busy.before(work.start)


def _names(collectives: Sequence[SizedCollective]) -> list[str]:
    return [f"{one.kind} {i + 1}" for i, one in enumerate(collectives)]


def _id(piece: Gradient, bucket: str) -> str:
    return f"grad:{piece.name}" if piece.name else bucket


def _unused(sizes: Sequence[int], parameters: Sequence[tuple[str, int]]) -> str:
    """Say why the parameters that were given are not in the graph."""
    if not sizes:
        return "The parameters are not used: no bucket of gradients was recognised."
    return (
        f"The parameters are not used: {len(parameters)} of "
        f"{sum(size for _, size in parameters)} bytes, from the last to the first, do not fill "
        f"the buckets of {', '.join(map(str, sizes))} bytes. DistributedDataParallel fills them in "
        "order of readiness: a capture by interlace_client.torch writes the file in that order."
    )


def _gradients(
    it: RankStep,
    buckets: Sequence[int],
    calls: Sequence[Sequence[CpuSpan]],
    releases: Sequence[float],
    parameters: Sequence[tuple[str, int]] | None,
) -> dict[int, list[Gradient]]:
    """Return what each bucket of gradients holds."""
    needed = {}
    if not it.is_barrier:
        needed = times_of_need(it.recording, it.step, it.threads, it.start)
    sizes = [it.collectives[i].bytes or 0 for i in buckets]
    runs = None if parameters is None or it.units.names else split_parameters(sizes, parameters)
    if it.units.names:
        it.assumed.append("Fusion is fixed: each unit of FSDP2 is one tensor, as recorded.")
    elif runs is not None and parameters is not None:
        it.assumed.append(
            f"The {len(sizes)} buckets are split into {len(parameters)} tensors: "
            "filled in reverse order of registration, the bytes come out."
        )
    else:
        hint = " Give names and bytes of the parameters to split them." if not parameters else ""
        it.assumed.append(f"Fusion is fixed: each bucket is one tensor, as recorded.{hint}")
    if parameters is not None and runs is None:
        it.warnings.append(_unused(sizes, parameters))
    filled = [None for _ in buckets] if runs is None else runs
    return {
        i: bucket_gradients(size, releases[i], run, calls[i], needed, it.threads)
        for i, size, run in zip(buckets, sizes, filled, strict=True)
    }


def _sum_up(
    it: RankStep,
    collectives: Sequence[RecordedCollective],
    pieces: dict[int, list[Gradient]],
    names: Sequence[str],
    running: float,
) -> tuple[float, float]:
    """Mark what waits for the gradients: each forward op for its own, or all for all.

    Returns the time in which the recorded step waited for them [us].
    """
    join = barrier(it.step, collectives, it.over)
    at, skip = gap(it.busy, it.step.begin, join, collectives, running)
    groups: dict[float | None, list[Gradient]] = {}
    ids: dict[float | None, list[str]] = {}
    for i, gradients in pieces.items():
        for piece in gradients:
            groups.setdefault(piece.needed, []).append(piece)
            ids.setdefault(piece.needed, []).append(_id(piece, names[i]))
    times = sorted(time for time in groups if time is not None)
    it.is_barrier = len(times) < len(groups)
    if it.is_barrier:
        everything = tuple(name for names in ids.values() for name in names)
        it.marks.append(LineCut(at, _WAITS, wait=everything, skip=skip))
        it.marks.append(LineCut(skip, _NAMES, phase="optimizer"))
        it.assumed.append(
            "The optimizer and the next forward pass wait for all gradients (a barrier): which "
            "forward op needs which is not known."
        )
        return at, skip
    done = max([skip, *_updates(it)])
    share = (done - skip) / sum(piece.bytes for group in groups.values() for piece in group)
    for k, time in enumerate(times):
        took = round(share * sum(piece.bytes for piece in groups[time]), 3)
        update = Op(f"update {k + 1}", COMPUTE, took, stream="update") if took else None
        where = (at, _WAITS, done) if k == 0 else (time, _RUNS, -inf)
        it.marks.append(
            LineCut(where[0], where[1], wait=tuple(ids[time]), skip=where[2], insert=update)
        )
    it.marks.append(LineCut(done, _NAMES, phase="rest"))
    it.assumed.append(
        "Each forward op waits for the gradients that it needs, known from autograd's sequence "
        f"numbers. The {done - skip:.3f} us from the end of the backward pass to that of the "
        "optimizer are shared among them by bytes and run before the op, the first right after "
        "the backward pass. PyTorch itself waits for all."
    )
    return at, skip


def _updates(it: RankStep) -> list[float]:
    """Return the ends of what the optimizer launched after the backward pass [us]."""
    return [
        work.end
        for work in it.step.works
        if work.launched >= it.over and enclosing(it.step.optimizer, work.launched)
    ]
