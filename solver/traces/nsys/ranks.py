"""What ran on a GPU for a process: events of what communicates, and columns of what computes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter

import numpy as np

from solver.traces.kineto.communication_kernels import family_of, is_suspect, may_launch_any
from solver.traces.kineto.events import Args, Distributed, KinetoEvent, KinetoFile, file_of
from solver.traces.kineto.known_works import Floats, KnownWorks
from solver.traces.kineto.launches import is_of_library, stream_name
from solver.traces.kineto.recording import CpuSpan, DeviceWork, thread_name
from solver.traces.nsys.communication import KernelLoad, NcclCalls, is_call
from solver.traces.nsys.database import Bools, Database
from solver.traces.nsys.steps import is_step, step_ranges
from solver.traces.nsys.tables import (
    CallColumns,
    Kernel,
    KernelColumns,
    Range,
    calls,
    is_among,
    kernels,
    process_of,
    ranges,
    texts,
)

_NOTE = "user_annotation"
#: Any call: what is read of one is when it was, and where.
_CALL = KinetoEvent("X", "cuda_runtime", "cudaLaunchKernel")
_COMMUNICATES = re.compile("nccl|rccl", re.IGNORECASE)
#: An op of PyTorch's as emit_nvtx names it, with its sequence number.
_OP = re.compile(
    r"(?P<name>[^,]+)(?:, op_id = \d+)?(?:, seq = (?P<seq>\d{1,18}))?(?:,.*)?", re.DOTALL
)
_OPS = ("Optimizer.step#", "FSDP::")


def communicates(kernel: Kernel) -> bool:
    """Tell whether a kernel is NCCL's or RCCL's, by its name."""
    return _COMMUNICATES.search(kernel.name) is not None


def _is_op(name: str) -> bool:
    return "::" in name or name.startswith(_OPS)


def _is_read(name: str) -> bool:
    return is_call(name) or is_step(name) or _is_op(name)


def _computes(name: str) -> bool:
    return not is_of_library(name) and family_of(name, "") is None


class ExportRows:
    """The rows of an export.

    Attributes
    ----------
    lost
        Rows of what ran on GPUs that do not tell when or where.
    only
        The process of kernels that name none.
    """

    def __init__(self, database: Database) -> None:
        names = texts(database)
        self._ranges: dict[int, list[Range]] = {}
        for one in ranges(database, names, _is_read):
            self._ranges.setdefault(one.process, []).append(one)
        told = {one.name for some in self._ranges.values() for one in some}
        is_any = any(map(may_launch_any, told))
        found = kernels(database, names, lambda name: not is_any and _computes(name))
        self._kernels = sorted(found.kernels, key=attrgetter("start"))
        self._plain, self.lost = found.plain, found.lost
        numbers = [kernel.correlation for kernel in found.kernels]
        launching = np.unique(
            np.concatenate([np.array(numbers, np.int64), self._plain.correlation])
        )
        self._calls = calls(database, launching)
        processes = process_of(self._calls.thread)
        self.only = int(processes.min()) if processes.size else 0
        self._of_process = processes

    def ranks(self) -> dict[tuple[int, int], list[Kernel]]:
        """Return what communicates or lacks something by process and GPU, by start."""
        by_rank: dict[tuple[int, int], list[Kernel]] = {}
        for kernel in self._kernels:
            process = self.only if kernel.process is None else kernel.process
            by_rank.setdefault((process, kernel.device), []).append(kernel)
        places = np.unique(np.vstack([self._plain.process, self._plain.device]), axis=1)
        for process, device in places.T.tolist():
            by_rank.setdefault((process, device), [])
        return by_rank

    def ranges_of(self, process: int) -> list[Range]:
        """Return the ranges of a process that are read."""
        return self._ranges.get(process, [])

    def calls_of(self, process: int) -> CallColumns:
        """Return the calls of a process by their numbers, of one number the first."""
        mine = [column[self._of_process == process] for column in self._calls]
        _, first = np.unique(mine[-1], return_index=True)
        return CallColumns(*(column[first] for column in mine))

    def plain_of(self, process: int, device: int) -> KernelColumns:
        """Return what a process only computed on a GPU, by start."""
        plain = self._plain
        mine = (plain.process == process) & (plain.device == device)
        order = np.flatnonzero(mine)[np.argsort(plain.start[mine], kind="stable")]
        return KernelColumns(plain.names, *(column[order] for column in plain[1:]))


class RankRows:
    """What a process ran on a GPU.

    Attributes
    ----------
    place
        The pointer to the export.
    job
        Rank and ranks, where they are told.
    named
        The name of the steps.
    """

    def __init__(
        self, rows: ExportRows, process: int, device: int, mine: Sequence[Kernel], place: str
    ) -> None:
        self.place, self._process, self._lost = place, process, rows.lost
        self._kernels, self._ranges = mine, rows.ranges_of(process)
        self._plain, self._calls = rows.plain_of(process, device), rows.calls_of(process)
        self._nccl = NcclCalls(self._ranges)
        number, workers = self._nccl.rank or (None, None)
        self.job = Distributed(workers, number)
        self.named, self._steps = step_ranges(self._ranges)

    def file(self, place: str) -> KinetoFile:
        """Return what PyTorch's profiler would have written, to the events of which is a pointer.

        It is asked for once: rows are let go when they are events.

        Raises
        ------
        InvalidTrace
            When a time is out of range.
        """
        calls = self._launches()
        carried = self._carried(calls)
        del self._nccl
        events = [_kernel(*one) for one in zip(self._kernels, carried, strict=True)]
        del carried, self._kernels
        events += [_event(f"ProfilerStep#{number}", _NOTE, one) for number, one in self._steps]
        events += _ops(self._ranges)
        del self._ranges, self._steps
        lost = KinetoEvent(ph="X", cat="kernel")  # for the reader to count
        events += [lost] * self._lost
        known = _known(self._process, self._plain, self._calls, calls)
        del self._plain, self._calls
        return file_of(events, self.job, place, known=known)

    def _launches(self) -> dict[int, CpuSpan]:
        """Return the calls that launched the kernels that are no columns, by number."""
        used = dict.fromkeys(kernel.correlation for kernel in self._kernels)
        numbers = np.array(list(used), np.int64)
        start, end, thread, correlation = self._calls
        rows = np.flatnonzero(is_among(correlation, np.sort(numbers)))
        begun = start[rows] / 1000
        over = begun + np.maximum(end[rows] / 1000 - begun, 0.0)
        names = (thread_name(self._process, one) for one in thread[rows].tolist())
        spans = map(CpuSpan, begun.tolist(), over.tolist(), names, repeat(_CALL))
        return dict(zip(correlation[rows].tolist(), spans, strict=True))

    def _carried(self, calls: Mapping[int, CpuSpan]) -> list[KernelLoad | None]:
        """Return what each kernel carries, in their order."""
        result: list[KernelLoad | None] = [None] * len(self._kernels)
        threads: dict[str, list[tuple[float, int]]] = {}
        for i, kernel in enumerate(self._kernels):
            call = calls.get(kernel.correlation)
            if call is not None and communicates(kernel):
                threads.setdefault(call.thread, []).append((call.start, i))
        numbers = {thread_name(self._process, one): one for one in self._nccl.threads}
        for name, some in threads.items():
            if name not in numbers:
                continue
            some.sort()
            carried = self._nccl.carried(numbers[name], [at for at, _ in some])
            for (_, i), one in zip(some, carried, strict=True):
                result[i] = one
        return result


def _known(
    process: int, plain: KernelColumns, columns: CallColumns, calls: Mapping[int, CpuSpan]
) -> KnownWorks:
    """Return what was computed, with the calls that launched it, beside those of the events."""
    start = plain.start / 1000
    end = start + (plain.end / 1000 - start)
    has_call = is_among(plain.correlation, columns.correlation)
    place = np.searchsorted(columns.correlation, plain.correlation[has_call])
    at = columns.start / 1000
    launched, thread = start.copy(), np.full(len(start), -1)
    launched[has_call] = at[place]
    thread[has_call] = place
    has_calls = bool(calls) or bool(has_call.any())
    ran = has_call if has_calls else np.ones_like(has_call)
    rows = np.flatnonzero(ran)
    rows = rows[np.lexsort((end[rows], start[rows], launched[rows]))]
    threads = [thread_name(process, one) for one in columns.thread.tolist()]
    streams = {one: stream_name(plain.device[0].item(), one) for one in set(plain.stream.tolist())}
    works = list(
        map(
            DeviceWork,
            start[rows].tolist(),
            end[rows].tolist(),
            launched[rows].tolist(),
            ((threads[i] if i >= 0 else "") for i in thread[rows].tolist()),
            (streams[i] for i in plain.stream[rows].tolist()),
        )
    )
    return KnownWorks(
        works,
        calls,
        has_calls,
        len(start) - len(rows),
        _unread(plain, ran, end - start),
        {
            (str(plain.device[0].item()), str(stream)): (start[mine], end[mine])
            for stream in streams
            for mine in [plain.stream == stream]
        },
        launched[has_call] - start[has_call],
    )


def _unread(plain: KernelColumns, ran: Bools, times: Floats) -> dict[str, tuple[int, float]]:
    """Count what looks like communication by its name, and is none."""
    unread = {}
    for i in np.unique(plain.name[ran]).tolist():
        if is_suspect(plain.names[i]):
            mine = times[ran & (plain.name == i)].tolist()
            unread[plain.names[i]] = len(mine), sum(mine)
    return unread


def _event(name: str, category: str, one: Range, args: Args | None = None) -> KinetoEvent:
    took = max(one.end - one.start, 0.0)
    return KinetoEvent("X", category, name, one.process, one.thread, one.start, took, args)


def _kernel(kernel: Kernel, carried: KernelLoad | None) -> KinetoEvent:
    args = Args(correlation=kernel.correlation)
    if carried is not None:
        args.collective, args.workers = carried.collective, carried.workers
        if carried.communicator is not None:
            args.group_name = _group(carried.communicator)
        if carried.bytes is not None:
            args.elements_in = args.elements_out = carried.bytes
            args.dtype = "Byte"
    took = None if kernel.end is None else kernel.end - kernel.start
    where = kernel.device, kernel.stream
    return KinetoEvent("X", kernel.category, kernel.name, *where, kernel.start, took, args)


@lru_cache(maxsize=4_096)
def _group(communicator: int) -> str:
    return f"{communicator % 2**64:x}"


def _ops(ranges: Iterable[Range]) -> Iterator[KinetoEvent]:
    """Yield PyTorch's ops, as emit_nvtx or nsys' --pytorch names them."""
    for one in filter(lambda one: _is_op(one.name), ranges):
        named = _OP.fullmatch(one.name)
        name = named["name"] if named else one.name
        category = "cpu_op" if "::" in name and not name.startswith(_OPS) else _NOTE
        args = Args(sequence=int(named["seq"])) if named and named["seq"] else None
        yield _event(name, category, one, args)
