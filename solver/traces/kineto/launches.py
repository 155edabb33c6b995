"""Which call launched what ran, and what of it is a collective."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from solver.traces.kineto.communication_kernels import family_of, is_suspect
from solver.traces.kineto.events import KinetoEvent
from solver.traces.kineto.known_works import NONE_KNOWN, KnownWorks
from solver.traces.kineto.payload_sizes import elements_called
from solver.traces.kineto.recording import (
    CpuSpan,
    DeviceWork,
    RankRecording,
    RecordedCollective,
    Unread,
    accumulates,
    by_thread,
)
from solver.traces.spans import enclosing

_LIBRARY = re.compile(r"nccl|rccl|msccl", re.IGNORECASE)
#: How the names of ops that communicate begin.
_CALLS = (
    *("c10d::", "_c10d_functional::", "c10d_functional::", "symm_mem::", "_C_custom_ar::"),
    *("vllm::all_reduce", "vllm::all_gather", "vllm::reduce_scatter", "sglang::", "sgl_kernel::"),
    *("trtllm::", "flashinfer::", "deep_ep::", "Fused", "torch_ccl::", "oneccl", "hccl", "npu::"),
)
_FUNCTIONAL = ("c10d::", "_c10d_functional::", "c10d_functional::")
#: Ops that compute between the ops that they call.
_COMPUTES = ("aten::", "mkldnn::", "quantized::")
#: Kind, type, elements in and out, as written on a kernel.
_Counts = tuple[str | None, str | None, int, int | None]
#: A thread notes that it began a collective so much before the call that asked for it [us].
_SLACK = 5.0


def is_call(name: str) -> bool:
    """Tell whether an op may launch a collective, by its name."""
    return name.startswith(_CALLS)


def is_of_library(kernel: str) -> bool:
    """Tell whether a kernel is NCCL's or one alike, by its name."""
    return _LIBRARY.search(kernel) is not None


class Nested:
    """Spans of each thread, one inside the other, to ask which lie around a time."""

    def __init__(self, spans: Iterable[CpuSpan]) -> None:
        self._spans = by_thread(spans)
        self._outer: dict[str, list[int]] = {}
        self._around: set[int] = set()
        for thread, row in self._spans.items():
            row.sort(key=lambda span: (span.start, -span.end))
            outer: list[int] = []
            open_: list[int] = []
            for i, span in enumerate(row):
                while open_ and row[open_[-1]].end < span.end:
                    open_.pop()
                outer.append(open_[-1] if open_ else -1)
                self._around |= {id(row[open_[-1]].event)} if open_ else set()
                open_.append(i)
            self._outer[thread] = outer

    def is_around_another(self, span: CpuSpan) -> bool:
        """Tell whether another span lies inside one of them."""
        return id(span.event) in self._around

    def around(self, thread: str, at: float) -> CpuSpan | None:
        """Return the innermost span around a time; None when there is none. O(log n + depth)."""
        row = self._spans.get(thread, [])
        i = bisect_right(row, at, key=attrgetter("start")) - 1
        while i >= 0 and row[i].end < at:
            i = self._outer[thread][i]
        return row[i] if i >= 0 else None


class HostLaunch(NamedTuple):
    """What the CPU did to launch work.

    Attributes
    ----------
    calls
        Of the runtime, by correlation id.
    records, notes
        PyTorch's records and the library's annotations, by thread and start.
    ops
        The ops that may communicate.
    """

    calls: dict[int, CpuSpan]
    records: dict[str, list[CpuSpan]]
    notes: dict[str, list[CpuSpan]]
    ops: Nested


def gpu_work(
    recording: RankRecording,
    kernels: Iterable[KinetoEvent],
    launched: HostLaunch,
    known: KnownWorks = NONE_KNOWN,
) -> None:
    """Launch the GPU's work; a collective of several kernels is one, from first to last.

    Kernels of one record on which different counts are written are collectives of their own.
    A kernel of no family that looks like communication stays compute, and is counted in
    ``unread``.
    """
    whole: dict[tuple[int, _Counts | None] | int, RecordedCollective] = {}
    last: dict[int, _Counts | None] = {}
    unread = dict(known.unread)
    recording.works.extend(known.works)
    recording.lost = known.lost
    has_calls = bool(launched.calls) or known.has_calls
    for event in kernels:
        number = event.args.correlation if event.args else None
        call = None if number is None else launched.calls.get(number)
        if call is None and has_calls:
            recording.lost += 1
            continue
        start, end = event.start, event.end
        at, thread = (call.start, call.thread) if call else (start, "")
        work = DeviceWork(start, end, at, thread, stream_name(event.pid, event.tid))
        name = event.name or ""
        op = launched.ops.around(thread, at)
        is_ours = bool(event.args and event.args.collective) or is_of_library(name)
        family = None if is_ours else family_of(name, (op and op.event.name) or "")
        if not is_ours and family is None:
            recording.works.append(work)
            if is_suspect(name):
                count, time = unread.get(name, (0, 0.0))
                unread[name] = count + 1, time + work.end - work.start
            continue
        record = enclosing(launched.records.get(thread, ()), at)
        note = enclosing(launched.notes.get(thread, ()), at)
        found = RecordedCollective(
            work, event, record and record.event, note and note.event, op and op.event, family
        )
        if record is None and not (family and op):
            whole[id(event)] = found
            continue
        around = id(record.event if record else op.event if op else event)
        counts = _counts(event)
        last[around] = counts or last.get(around)
        place = around, last[around]
        if place in whole:
            first = whole[place].work
            found = found if counts or not last[around] else whole[place]
            start, end = min(first.start, work.start), max(first.end, work.end)
            work = first._replace(start=start, end=end, launched=min(first.launched, at))
            found = found._replace(work=work)
        whole[place] = found
    recording.collectives = list(whole.values())
    recording.unread = [Unread(name, *some) for name, some in sorted(unread.items())]


def _counts(event: KinetoEvent) -> _Counts | None:
    """Return what is written on a kernel of its size."""
    args = event.args
    if args is None or args.elements_in is None:
        return None
    return args.collective, args.dtype, args.elements_in, args.elements_out


@lru_cache(maxsize=4_096)
def stream_name(device: int | str | None, stream: int | str | None) -> str:
    """Return what a stream of a GPU is called here."""
    return f"gpu {device} stream {str(stream).removeprefix('stream ')}"


def host_work(
    recording: RankRecording,
    ops: Sequence[CpuSpan],
    records: dict[str, list[CpuSpan]],
    notes: Sequence[CpuSpan],
) -> None:
    """Take ops for the work, and annotations for the collectives.

    The library runs them on threads of its own; such a thread may note late that it is done, but
    no gradient is summed after its optimizer began. What calls other ops is no work of its own but
    for PyTorch's own ops, nor is an op that communicates: they may wait inside. What the library
    copies inside a collective is of it.
    """
    recording.is_gpu = False
    stores = by_thread(span for span in recording.backward if accumulates(span))
    calls = [span for span in ops if (span.event.name or "").startswith("c10d::")]
    for note, call in _called(sorted(notes, key=attrgetter("start")), calls):
        end = note.end
        if enclosing(stores.get(call.thread, ()), call.start):
            i = bisect_right(recording.optimizer, note.start, key=attrgetter("start"))
            end = min([end, *(span.start for span in recording.optimizer[i : i + 1])])
        work = DeviceWork(note.start, end, min(call.start, note.start), call.thread, note.thread)
        record = enclosing(records.get(call.thread, ()), call.start)
        op = None if call is note else call.event
        recording.collectives.append(
            RecordedCollective(work, note.event, record and record.event, note.event, op)
        )
    nested, inside = Nested(ops), by_thread(notes)
    recording.works = [
        DeviceWork(span.start, span.end, span.start, span.thread, f"thread {span.event.tid}")
        for span in ops
        if not (span.event.name or "").startswith(_FUNCTIONAL)
        and ((span.event.name or "").startswith(_COMPUTES) or not nested.is_around_another(span))
        and not enclosing(inside.get(span.thread, ()), span.start)
    ]


def _called(notes: Sequence[CpuSpan], calls: Iterable[CpuSpan]) -> list[tuple[CpuSpan, CpuSpan]]:
    """Give each annotation, by start, the first call left that may have asked for it, else itself.

    That is one that began before, with a tensor of as many elements. O(n log n) for n tensors.
    """
    ordered = sorted(calls, key=attrgetter("start"))
    elements = [elements_called(span.event) for span in ordered]
    # calls that began, by start: all of them, and by the elements of their tensors
    begun: deque[int] = deque()
    of: dict[int | None, deque[int]] = {}
    taken: set[int] = set()
    result, at = [], 0
    for note in notes:
        while at < len(ordered) and ordered[at].start <= note.start + _SLACK:
            begun.append(at)
            for count in elements[at] or (None,):
                of.setdefault(count, deque()).append(at)
            at += 1
        counts = elements_called(note.event)
        rows = [of[count] for count in (*counts, None) if count in of] if counts else [begun]
        for row in rows:
            while row and row[0] in taken:
                row.popleft()
        i = min((row[0] for row in rows if row), default=None)
        taken.update(() if i is None else (i,))
        result.append((note, note if i is None else ordered[i]))
    return result
