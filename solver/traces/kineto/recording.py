"""What one rank did, taken from its events: work, launches, collectives, passes, waits."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from solver.traces.kineto.events import Event

_GPU = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
_RUNTIME = {"cuda_runtime", "runtime", "cuda_driver", "hip_runtime"}
_CPU = {"cpu_op", "operator", "user_annotation"}
_STEP = re.compile(r"ProfilerStep#(\d{1,18})")
_LIBRARY = re.compile(r"(nccl|rccl|msccl)", re.IGNORECASE)
_ANNOTATED = ("nccl:", "gloo:", "mpi:", "ucc:", "rccl:")
_RECORD = "record_param_comms"
_BACKWARD = "autograd::engine::evaluate_function: "
_ACCUMULATE = "AccumulateGrad"
_OPTIMIZER = "Optimizer.step#"


class Span(NamedTuple):
    """Something that ran on a CPU thread [us]."""

    start: float
    end: float
    thread: str
    event: Event


class Work(NamedTuple):
    """A kernel or copy on a GPU, or an op where there is no GPU [us].

    Attributes
    ----------
    start, end
        When it ran.
    launched
        When the CPU asked for it.
    thread
        What asked.
    stream
        Where it ran.
    """

    start: float
    end: float
    launched: float
    thread: str
    stream: str


class Collective(NamedTuple):
    """A collective as it was recorded: its kernel, with all that may name its size."""

    work: Work
    kernel: Event
    record: Event | None
    note: Event | None


class Wait(NamedTuple):
    """A thread asks that a collective be done."""

    at: float
    thread: str


@dataclass(slots=True)
class Recording:
    """One rank's file.

    Attributes
    ----------
    steps
        Number, start and end of each ``ProfilerStep``, by start.
    works
        All that computes, by launch.
    launches
        Collectives, by start on their channel.
    backward
        Autograd's calls, by start; those of ``AccumulateGrad`` among them.
    forward
        The ops with a sequence number, by that number and by start; not autograd's.
    optimizer
        The optimizer's steps, by start.
    waits
        By time.
    is_gpu
        Whether the work ran on a GPU.
    lost
        Kernels of which no launch was recorded.
    workers
        Ranks of the job; None when nothing says it.
    """

    steps: list[tuple[int, float, float]] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    backward: list[Span] = field(default_factory=list)
    forward: dict[int, list[Span]] = field(default_factory=dict)
    optimizer: list[Span] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    is_gpu: bool = True
    lost: int = 0
    workers: int | None = None


def sequence(span: Span) -> int | None:
    """Return the sequence number that a forward op shares with its backward op."""
    return span.event.args.sequence if span.event.args else None


def accumulates(span: Span) -> bool:
    """Tell whether a call of autograd's stores a parameter's gradient."""
    return _ACCUMULATE in (span.event.name or "")


def recording_of(events: Iterable[Event], workers: int | None) -> Recording:
    """Sort the events of one file.

    A kernel belongs to the CPU call with its correlation id; the GPU's copies of annotations
    (``gpu_user_annotation``) are passed over, or each collective would count twice. Where no GPU
    was recorded the ops themselves are the work, and a collective is the span of its annotation.

    Notes
    -----
    O(events log events).
    """
    sorted_ = _Sorted()
    for event in events:
        kind = (event.cat or "").lower()
        if kind in _GPU:
            sorted_.kernels.append(event)
        elif kind in _RUNTIME:
            if event.args and event.args.correlation is not None:
                sorted_.calls.setdefault(event.args.correlation, _span(event))
        elif kind in _CPU:
            _sort_in(sorted_, _span(event), is_op=kind != "user_annotation")
    records, notes = _by_thread(sorted_.records), _by_thread(sorted_.notes)
    recording = Recording(workers=workers, waits=_waits(sorted_.records, notes))
    recording.steps = sorted(sorted_.steps, key=lambda step: step[1:])
    recording.optimizer = sorted(sorted_.optimizer, key=attrgetter("start"))
    _split_passes(recording, sorted_.ops)
    if sorted_.kernels:
        _gpu_work(recording, sorted_.kernels, sorted_.calls, records, notes)
    else:
        _cpu_work(recording, sorted_.ops, records, sorted_.notes)
    recording.works.sort(key=attrgetter("launched", "start", "end"))
    recording.collectives.sort(key=attrgetter("work"))
    return recording


@dataclass(slots=True)
class _Sorted:
    """Events by what they are."""

    kernels: list[Event] = field(default_factory=list)
    calls: dict[int, Span] = field(default_factory=dict)
    steps: list[tuple[int, float, float]] = field(default_factory=list)
    records: list[Span] = field(default_factory=list)
    notes: list[Span] = field(default_factory=list)
    optimizer: list[Span] = field(default_factory=list)
    ops: list[Span] = field(default_factory=list)


def _sort_in(into: _Sorted, span: Span, *, is_op: bool) -> None:
    """Sort what ran on a CPU thread by its name."""
    name = span.event.name or ""
    if step := _STEP.fullmatch(name):
        into.steps.append((int(step[1]), span.start, span.end))
    elif name == _RECORD:
        into.records.append(span)
    elif name.startswith(_ANNOTATED):
        into.notes.append(span)
    elif name.startswith(_OPTIMIZER):
        into.optimizer.append(span)
    elif is_op:
        into.ops.append(span)


def enclosing(spans: Sequence[Span], at: float) -> Span | None:
    """Return the last of spans (by start) that began by ``at``, if it lasts until then."""
    i = bisect_right(spans, at, key=attrgetter("start"))
    return spans[i - 1] if i and spans[i - 1].end >= at else None


def _span(event: Event) -> Span:
    start = event.ts or 0.0
    return Span(start, start + max(event.dur or 0.0, 0.0), f"{event.pid} {event.tid}", event)


def _stream(event: Event) -> str:
    return f"gpu {event.pid} stream {str(event.tid).removeprefix('stream ')}"


def _by_thread(spans: Iterable[Span]) -> dict[str, list[Span]]:
    threads: dict[str, list[Span]] = {}
    for span in sorted(spans, key=attrgetter("start")):
        threads.setdefault(span.thread, []).append(span)
    return threads


def _split_passes(recording: Recording, ops: Iterable[Span]) -> None:
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


def _waits(records: Iterable[Span], notes: dict[str, list[Span]]) -> list[Wait]:
    """Find the records that name a wait, or hold no collective."""
    waits = []
    for span in records:
        name = span.event.args and span.event.args.collective
        inside = notes.get(span.thread, ())
        i = bisect_right(inside, span.start, key=attrgetter("start"))
        is_empty = i == len(inside) or inside[i].start > span.end
        if name == "wait" or (name is None and is_empty):
            waits.append(Wait(span.start, span.thread))
    return sorted(waits)


def _gpu_work(
    recording: Recording,
    kernels: Iterable[Event],
    calls: dict[int, Span],
    records: dict[str, list[Span]],
    notes: dict[str, list[Span]],
) -> None:
    """Launch the GPU's work; a collective of several kernels is one, from first to last."""
    whole: dict[int, Collective] = {}
    for event in kernels:
        span = _span(event)
        number = event.args.correlation if event.args else None
        call = None if number is None else calls.get(number)
        if call is None and calls:
            recording.lost += 1
            continue
        at, thread = (call.start, call.thread) if call else (span.start, "")
        work = Work(span.start, span.end, at, thread, _stream(event))
        args = event.args
        if not (args and args.collective) and not _LIBRARY.search(event.name or ""):
            recording.works.append(work)
            continue
        record = enclosing(records.get(thread, ()), at)
        note = enclosing(notes.get(thread, ()), at)
        key = id(record.event) if record else id(event)
        if key in whole:
            first = whole[key].work
            start, end = min(first.start, work.start), max(first.end, work.end)
            work = first._replace(start=start, end=end, launched=min(first.launched, at))
        whole[key] = Collective(work, event, record and record.event, note and note.event)
    recording.collectives = list(whole.values())


def _cpu_work(
    recording: Recording, ops: Sequence[Span], records: dict[str, list[Span]], notes: Sequence[Span]
) -> None:
    """Take ops for the work, and annotations for the collectives.

    The library runs them on threads of its own in the order in which they were called; such a
    thread may note late that it is done, but no gradient is summed after its optimizer began.
    """
    recording.is_gpu = False
    stores = _by_thread(span for span in recording.backward if accumulates(span))
    calls = [span for span in ops if (span.event.name or "").startswith("c10d::")]
    calls.sort(key=attrgetter("start"))
    ran = sorted(notes, key=attrgetter("start"))
    if len(calls) != len(ran):
        calls = ran
    for call, note in zip(calls, ran, strict=True):
        end = note.end
        if enclosing(stores.get(call.thread, ()), call.start):
            i = bisect_right(recording.optimizer, note.start, key=attrgetter("start"))
            end = min([end, *(span.start for span in recording.optimizer[i : i + 1])])
        work = Work(note.start, end, min(call.start, note.start), call.thread, "")
        record = enclosing(records.get(call.thread, ()), call.start)
        recording.collectives.append(
            Collective(work, note.event, record and record.event, note.event)
        )
    recording.works = [
        Work(span.start, span.end, span.start, span.thread, f"thread {span.event.tid}")
        for span in ops
        if not (span.event.name or "").startswith("c10d::")
    ]
