"""From the events of one file to what the rank did."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from solver.traces.kineto.categories import CPU, GPU, RUNTIME
from solver.traces.kineto.events import Distributed, KinetoEvent
from solver.traces.kineto.groups import groups_of
from solver.traces.kineto.known_works import NONE_KNOWN, KnownWorks
from solver.traces.kineto.launches import HostLaunch, Nested, gpu_work, host_work, is_call
from solver.traces.kineto.payload_sizes import is_barrier
from solver.traces.kineto.recording import (
    RECORD,
    CpuSpan,
    RankRecording,
    Wait,
    by_thread,
    sequence,
    span_of,
)

_STEP = re.compile(r"ProfilerStep#(\d{1,18})")
_ANNOTATED = ("nccl:", "gloo:", "mpi:", "ucc:", "rccl:", "xccl:", "hccl:", "oneccl")
_BACKWARD = "autograd::engine::evaluate_function: "
_WAIT = "c10d_functional::wait_tensor"
_OPTIMIZER = "Optimizer.step#"
_SHARDING = "FSDP::"


def recording_of(
    events: Iterable[KinetoEvent], job: Distributed, known: KnownWorks = NONE_KNOWN
) -> RankRecording:
    """Sort the events of one file, and what is known without, given what it says of its job.

    A kernel belongs to the CPU call with its correlation id; the GPU's copies of annotations
    (``gpu_user_annotation``) are passed over, or each collective would count twice. Where no GPU
    was recorded the ops themselves are the work, and a collective is the span of its annotation.

    Notes
    -----
    O(events log events).
    """
    found = _Sorted(calls=dict(known.calls))
    for event in events:
        kind = (event.cat or "").lower()
        if kind in GPU:
            found.kernels.append(event)
        elif kind in RUNTIME:
            if event.args and event.args.correlation is not None:
                found.calls.setdefault(event.args.correlation, span_of(event))
        elif kind in CPU:
            _sort_in(found, span_of(event), is_op=kind != "user_annotation")
    records, notes = by_thread(found.records), by_thread(found.notes)
    recording = RankRecording(workers=job.world_size, groups=groups_of(job.pg_config))
    recording.waits = _waits(found, notes)
    recording.steps = sorted(found.steps, key=lambda step: step[1:])
    recording.sharding = sorted(found.sharding, key=attrgetter("start"))
    recording.optimizer = sorted(found.optimizer, key=attrgetter("start"))
    _split_passes(recording, found.ops)
    if found.kernels or known.streams:
        launched = HostLaunch(found.calls, records, notes, Nested(found.called))
        gpu_work(recording, found.kernels, launched, known)
    else:
        host_work(recording, found.ops, records, found.notes)
    carrying = [one for one in recording.collectives if not is_barrier(one)]
    recording.barriers = len(recording.collectives) - len(carrying)
    recording.collectives = carrying
    recording.works.sort(key=attrgetter("launched", "start", "end"))
    recording.collectives.sort(key=lambda one: (one.work.launched, one.work))
    return recording


@dataclass(slots=True)
class _Sorted:
    """Events by what they are."""

    kernels: list[KinetoEvent] = field(default_factory=list)
    calls: dict[int, CpuSpan] = field(default_factory=dict)
    steps: list[tuple[int, float, float]] = field(default_factory=list)
    records: list[CpuSpan] = field(default_factory=list)
    notes: list[CpuSpan] = field(default_factory=list)
    optimizer: list[CpuSpan] = field(default_factory=list)
    sharding: list[CpuSpan] = field(default_factory=list)
    ops: list[CpuSpan] = field(default_factory=list)
    called: list[CpuSpan] = field(default_factory=list)


def _sort_in(into: _Sorted, span: CpuSpan, *, is_op: bool) -> None:
    """Sort what ran on a CPU thread by its name."""
    name = span.event.name or ""
    if step := _STEP.fullmatch(name):
        into.steps.append((int(step[1]), span.start, span.end))
    elif name == RECORD:
        into.records.append(span)
    elif name.startswith(_ANNOTATED):
        into.notes.append(span)
    elif name.startswith(_OPTIMIZER):
        into.optimizer.append(span)
    elif name.startswith(_SHARDING):
        into.sharding.append(span)
    elif is_op:
        into.ops.append(span)
        if is_call(name):
            into.called.append(span)


def _split_passes(recording: RankRecording, ops: Iterable[CpuSpan]) -> None:
    """Tell autograd's calls from the forward ops that have a sequence number."""
    for span in ops:
        if (span.event.name or "").startswith(_BACKWARD):
            recording.backward.append(span)
        else:
            number, args = sequence(span), span.event.args
            if args and number is not None and number >= 0 and not args.forward_thread:
                recording.forward.setdefault(number, []).append(span)
    for spans in (recording.backward, *recording.forward.values()):
        spans.sort(key=attrgetter("start"))


def _waits(found: _Sorted, notes: dict[str, list[CpuSpan]]) -> list[Wait]:
    """Find the ops that wait, and the records that name a wait or hold no collective."""
    ops = (span for span in found.called if (span.event.name or "").endswith(_WAIT))
    waits = [Wait(span.start, span.thread) for span in ops]
    for span in found.records:
        name = span.event.args and span.event.args.collective
        inside = notes.get(span.thread, ())
        i = bisect_right(inside, span.start, key=attrgetter("start"))
        is_empty = i == len(inside) or inside[i].start > span.end
        if name == "wait" or (name is None and is_empty):
            waits.append(Wait(span.start, span.thread))
    return sorted(waits)
