"""The collectives of a step with their kinds, sizes and times."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER
from solver.limits import MAX_BYTES, MAX_STEP_COLLECTIVES
from solver.traces.channel_times import own_times
from solver.traces.kineto.communication_kernels import kind_in
from solver.traces.kineto.payload_sizes import (
    article,
    bytes_of,
    contradicts,
    is_between_stages,
    kind_of,
    workers_of,
)
from solver.traces.kineto.recording import RankRecording, RecordedCollective
from solver.traces.trace import TraceChannel

#: How to record a trace that can be read.
RECORDING = (
    "Record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], "
    "record_shapes=True)"
)
#: Source of a channel's workers when nothing but the job's is known.
WORLD = "the trace's world size"
_LONGEST = 80


class SizedCollective(NamedTuple):
    """A collective of the step.

    Attributes
    ----------
    recorded
        As recorded.
    kind, bytes
        As in the graph; no bytes where nothing tells them.
    time
        How long it held its channel [us].
    """

    recorded: RecordedCollective
    kind: str
    bytes: int | None
    time: float


def channel_times(collectives: Sequence[RecordedCollective]) -> list[float]:
    """Return how long each collective held its channel [us]: none counts the one before it."""
    ended: dict[str, float] = {}
    result = []
    for collective in collectives:
        work = collective.work
        begin = max(work.start, ended.get(work.stream, work.start))
        ended[work.stream] = max(begin, work.end)
        result.append(ended[work.stream] - begin)
    return result


def undisturbed_times(collectives: Sequence[RecordedCollective]) -> list[float | None]:
    """Return how long each collective ran [us]; None for one beside which another ran."""
    rows: dict[str, list[int]] = {}
    for i, collective in enumerate(collectives):
        rows.setdefault(collective.work.stream, []).append(i)
    times: list[float | None] = [None] * len(collectives)
    for places in rows.values():
        own = own_times([collectives[i].work for i in places])
        for i, time in zip(places, own, strict=True):
            times[i] = time
    return times


def size_of(
    collective: RecordedCollective, channels: Mapping[str, TraceChannel], world: int | None
) -> tuple[str, int | None, bool]:
    """Return kind and bytes of a collective, and whether it was taken for one of the whole job.

    An all-gather is of which only a worker's share is known, and whose group is not written.
    """
    kind, _ = kind_of(collective)
    channel = channels.get(collective.work.stream)
    workers = workers_of(collective, kind)
    if workers is None and channel and channel.source != WORLD:
        workers = channel.workers
    size = bytes_of(collective, kind, workers)
    if size is None and kind == ALL_GATHER and workers is None and world:
        return kind, bytes_of(collective, kind, world), True
    return kind, size, False


def _granted(collective: RecordedCollective, kind: str, size: int, world: int | None) -> str:
    """Say what of a collective's kind and size was taken for granted; empty if naught.

    ``world`` are the ranks of the job where it was taken for one of them all.
    """
    _, is_exact = kind_of(collective)
    name = (collective.kernel.name or "")[:_LONGEST]
    if world:
        said = f"{name}: its group is not recorded; taken for an {kind} of all {world} ranks."
        return said if size else ""
    if is_exact and (contradiction := contradicts(collective, kind)):
        return f"{name}: {contradiction}."
    return _said(collective, kind, size, name, is_exact=is_exact)


def _said(
    collective: RecordedCollective, kind: str, size: int, name: str, *, is_exact: bool
) -> str:
    note = kind_in(collective.note.name) if collective.note else None
    if size == 0:
        return f"{article(kind).capitalize()} {kind} of 0 bytes ({name}) is left out."
    if is_between_stages(collective):
        return (
            f"{name}: a transfer between stages of a pipeline, taken for {article(kind)} "
            f"{kind} of as many bytes that waits for this rank alone."
        )
    if not is_exact:
        return f"{name}: taken for {article(kind)} {kind} of as many bytes."
    if note and note != kind and not collective.family:
        return f"{name}: the library's way to do {kind}; its times are of that."
    if collective.family and ("dispatch" in name or "combine" in name):
        return f"{name}: taken for {article(kind)} {kind} of the bytes that were handed to it."
    return ""


def sized(
    recording: RankRecording,
    collectives: Sequence[RecordedCollective],
    times: Sequence[float],
    channels: Mapping[str, TraceChannel],
    place: str,
) -> tuple[list[SizedCollective], list[str]]:
    """Size the collectives; those of 0 bytes are left out. Also says what was taken for granted.

    Raises
    ------
    InvalidTrace
        When there are too many, none has a size, or all are of 0 bytes.
    """
    if len(collectives) > MAX_STEP_COLLECTIVES:
        detail = (
            f"A step of {len(collectives)} collectives: at most {MAX_STEP_COLLECTIVES:,} are read."
        )
        raise InvalidTrace([Fault(place, FaultCode.TOO_LARGE, detail)])
    result, notes, unsized = [], [], []
    for collective, time in zip(collectives, times, strict=True):
        kind, size, is_whole = size_of(collective, channels, recording.workers)
        if size is None or size > MAX_BYTES:
            unsized.append((collective.kernel.name or "")[:_LONGEST])
            result.append(SizedCollective(collective, kind, None, time))
            continue
        said = _granted(collective, kind, size, recording.workers if is_whole else None)
        notes += [said] if said else []
        if size:
            result.append(SizedCollective(collective, kind, size, time))
    if unsized and len(unsized) == len(result):
        detail = (
            f"{len(unsized)} of {len(collectives)} collectives have no size ({unsized[0]}). "
            f"{RECORDING}, with PyTorch 2.2 or newer."
        )
        raise InvalidTrace([Fault(place, FaultCode.NO_SIZES, detail)])
    if unsized:
        notes.append(f"Collectives without a size may have one in another trace. {RECORDING}.")
    if not result:
        raise InvalidTrace(
            [Fault(place, FaultCode.NO_COLLECTIVE, "All collectives are of 0 bytes.")]
        )
    return result, list(dict.fromkeys(notes))
