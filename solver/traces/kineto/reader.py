"""From files to a graph: choose a rank and a step, size its collectives, build its iteration."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidTrace
from solver.graph import COMPUTE, build
from solver.limits import MAX_BYTES, MAX_STEP_COLLECTIVES
from solver.traces.kineto.events import parse
from solver.traces.kineto.iteration import SizedCollective, channels_of, iteration
from solver.traces.kineto.recording import Collective, Recording, recording_of
from solver.traces.kineto.sizes import bytes_of, is_between_stages, kind_of
from solver.traces.kineto.steps import Step, steps
from solver.traces.recorded import recorded_time
from solver.traces.steps import choose_step
from solver.traces.trace import Channel, Report, Sample, Trace, TraceOptions, totals

FORMAT = "kineto"

_SEEN = 2**16
_EVENT = re.compile(rb'"ph"\s*:\s*"')
_RECORDING = (
    "Record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], "
    "record_shapes=True)"
)


def looks_like(content: bytes) -> bool:
    """Tell whether a file's first bytes are those of a Chrome trace."""
    head = content[:_SEEN].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        return bool(_EVENT.search(head))
    is_named = b'"traceEvents"' in head or b'"deviceProperties"' in head
    return head.startswith(b"{") and (is_named or bool(_EVENT.search(head)))


@dataclass(frozen=True, slots=True)
class _Rank:
    """One file."""

    recording: Recording
    steps: list[Step]
    outside: int


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read one rank, or several ranks of the same run, and build one iteration.

    The step is the one asked for, or the one of median length of those with collectives. Of
    several ranks the graph is that of the one that waited least inside its collectives, since the
    others waited for it there; a collective's time is the least over the ranks.

    Raises
    ------
    InvalidTrace
        When a file is no trace, there is no such step, no collective, a collective has no size,
        the ranks' collectives differ, or the graph would break a rule, as by a time of years or by
        two parameters of one name.
    """
    if not files:
        raise InvalidTrace([Fault("", FaultCode.EMPTY, "No file was given.")])
    places = [f"/files/{i}" if len(files) > 1 else "" for i in range(len(files))]
    ranks = [_rank(file, place) for file, place in zip(files, places, strict=True)]
    index = _choose(ranks[0], options.step)
    parts = _same_step(ranks, index, places)
    times_by_rank = [_channel_times(part.collectives) for part in parts]
    slowest = min(range(len(ranks)), key=lambda i: (sum(times_by_rank[i]), i))
    least = [min(times) for times in zip(*times_by_rank, strict=True)]
    rank, step = ranks[slowest], parts[slowest]
    collectives, notes = _sized(step.collectives, least, rank.recording.workers, places[slowest])
    it = iteration(rank.recording, step, collectives, options.parameters)
    try:
        graph = build(options.name, it.ops)
    except InvalidGraph as error:  # places in the graph mean nothing to who sent the file
        faults = [Fault(places[slowest], fault.code, fault.detail) for fault in error.faults]
        raise InvalidTrace(faults) from None
    report = Report(
        format=FORMAT,
        steps=len(rank.steps),
        step=index,
        ops=len(graph.ops),
        collectives=totals(graph.ops),
        dropped=_losses(rank),
        assumed=(*_assumptions(rank, step, len(files), slowest), *it.assumed),
        warnings=(*notes, *_warnings(rank, len(files))),
        measured_us=round(step.length, 3),
    )
    channels = tuple(
        Channel(name, rank.recording.workers, "the trace's world size")
        for name in dict.fromkeys(op.channel for op in graph.ops if op.kind != COMPUTE)
    )
    names = channels_of([one.recorded for one in collectives])
    samples = tuple(
        Sample(name, one.kind, one.bytes, one.time)
        for name, one in zip(names, collectives, strict=True)
    )
    trace = Trace(graph, report, tuple(it.measured), channels, samples)
    return replace(trace, report=replace(report, recorded_us=round(recorded_time(trace), 3)))


def _rank(content: bytes, place: str) -> _Rank:
    recording = recording_of(*parse(content, place))
    return _Rank(recording, *steps(recording))


def _choose(rank: _Rank, step: int | None) -> int:
    """Return the index of the step to read."""
    if not rank.recording.collectives:
        detail = (
            "No collective found: the trace is of one worker, or its collectives were not "
            f"recorded. {_RECORDING} on a run with more workers."
        )
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
    lengths = [one.length for one in rank.steps]
    if step is not None:
        index = choose_step(step, lengths)
        if not rank.steps[index].collectives:
            detail = f"Step {step} launched no collective."
            raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
        return index
    able = [i for i, one in enumerate(rank.steps) if one.collectives]
    if not able:
        detail = "No step launched a collective."
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
    return able[choose_step(None, [lengths[i] for i in able])]


def _same_step(ranks: Sequence[_Rank], index: int, places: Sequence[str]) -> list[Step]:
    """Return each rank's step of the same number; their collectives must be the same."""
    first = ranks[0].steps[index]
    kinds = [kind_of(collective)[0] for collective in first.collectives]
    parts = [first]
    for rank, place in zip(ranks[1:], places[1:], strict=True):
        same = [step for step in rank.steps if step.number == first.number]
        if not same:
            detail = f"This rank has no ProfilerStep#{first.number}, the first file has."
            raise InvalidTrace([Fault(place, FaultCode.RANKS_DIFFER, detail)])
        if [kind_of(collective)[0] for collective in same[0].collectives] != kinds:
            stages = any(map(is_between_stages, [*first.collectives, *same[0].collectives]))
            why = (
                "they are stages of a pipeline, which send to each other: give the ranks of one "
                "stage"
                if stages
                else "not ranks of one job"
            )
            detail = (
                f"The collectives of this rank's step ({len(same[0].collectives)}) and of the "
                f"first file's ({len(kinds)}) differ: {why}."
            )
            raise InvalidTrace([Fault(place, FaultCode.RANKS_DIFFER, detail)])
        parts.append(same[0])
    return parts


def _channel_times(collectives: Sequence[Collective]) -> list[float]:
    """Return how long each collective held its channel [us]: none counts the one before it."""
    ended: dict[str, float] = {}
    result = []
    for collective in collectives:
        work = collective.work
        begin = max(work.start, ended.get(work.stream, work.start))
        ended[work.stream] = max(begin, work.end)
        result.append(ended[work.stream] - begin)
    return result


def _sized(
    collectives: Sequence[Collective], times: Sequence[float], workers: int | None, place: str
) -> tuple[list[SizedCollective], list[str]]:
    """Size the collectives; those of no bytes are left out."""
    if len(collectives) > MAX_STEP_COLLECTIVES:
        detail = (
            f"A step of {len(collectives)} collectives: at most {MAX_STEP_COLLECTIVES:,} are read."
        )
        raise InvalidTrace([Fault(place, FaultCode.TOO_LARGE, detail)])
    sized, notes, unsized = [], [], []
    for collective, time in zip(collectives, times, strict=True):
        kind, is_exact = kind_of(collective)
        size = bytes_of(collective, kind, workers)
        name = (collective.kernel.name or "")[:80]
        if size is None or size > MAX_BYTES:
            unsized.append(name)
        elif size == 0:
            notes.append(f"A {kind} of 0 bytes ({name}) is left out.")
        else:
            sized.append(SizedCollective(collective, kind, size, time))
            if is_between_stages(collective):
                notes.append(
                    f"{name}: a transfer between stages of a pipeline, taken for a {kind} of as "
                    "many bytes that waits for this rank alone."
                )
            elif not is_exact:
                notes.append(f"{name}: taken for a {kind} of as many bytes.")
    if unsized:
        detail = (
            f"{len(unsized)} of {len(collectives)} collectives have no size ({unsized[0]}). "
            f"{_RECORDING}, with PyTorch 2.2 or newer."
        )
        raise InvalidTrace([Fault(place, FaultCode.NO_SIZES, detail)])
    if not sized:
        raise InvalidTrace(
            [Fault(place, FaultCode.NO_COLLECTIVE, "All collectives are of 0 bytes.")]
        )
    return sized, list(dict.fromkeys(notes))


def _losses(rank: _Rank) -> tuple[str, ...]:
    result = []
    if rank.recording.lost:
        result.append(
            f"{rank.recording.lost} kernels that were launched before the recording began."
        )
    if rank.outside:
        result.append(f"{rank.outside} kernels or ops launched outside of all steps.")
    return tuple(result)


def _assumptions(rank: _Rank, step: Step, files: int, slowest: int) -> list[str]:
    number = "The whole file" if step.number is None else f"ProfilerStep#{step.number}"
    what = "All streams of the GPU" if rank.recording.is_gpu else "All threads"
    took = (
        f"{number} took {step.length:.3f} us, from the end of all work of the step before to "
        "the end of its own."
    )
    result = [
        took,
        f"{what} are one line of compute; where nothing runs, the host holds it up.",
    ]
    if step.backward:
        result.append(
            "The iteration begins with the backward pass; the forward pass of the same step "
            "stands for the next one."
        )
    else:
        result.append("No backward pass was recognised: the iteration is the step as it was.")
    if files > 1:
        result.append(
            f"Of {files} ranks the graph is that of file {slowest + 1}, which waited least in its "
            "collectives; their times are the least over the ranks."
        )
    return result


def _warnings(rank: _Rank, files: int) -> list[str]:
    result = []
    if files == 1:
        result.append(
            "The recorded times of collectives include waiting for slower ranks: give the files "
            "of all ranks to have the least."
        )
    if not rank.recording.steps:
        result.append(
            "No ProfilerStep: the whole file was read as one step. Call the profiler's step() "
            "after each iteration."
        )
    return result
