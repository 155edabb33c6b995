"""From exports to the events that PyTorch's profiler would have written of the same run."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces import kineto
from solver.traces.files import places_of
from solver.traces.kineto.events import Args, Distributed, KinetoEvent, file_of
from solver.traces.kineto.sized_collectives import RECORDING
from solver.traces.nsys.communication import KernelLoad, NcclCalls
from solver.traces.nsys.database import MAGIC, Database, opened
from solver.traces.nsys.steps import step_ranges
from solver.traces.nsys.tables import KERNELS, TABLES, Kernel, Range, calls, kernels, ranges, texts
from solver.traces.trace import Trace, TraceOptions

FORMAT = "nsys"

_ADVICE = (
    "Record with nsys profile --trace=cuda,nvtx (NCCL 2.20 or newer says there what its calls "
    "carry), and export with nsys export --type sqlite"
)
_NO_STEP = (
    "No ProfilerStep: the whole file was read as one step. Call the profiler's step() after each "
    "iteration."
)
_NO_RANGE = (
    "No range of NVTX's is a step: the whole file was read as one. Put a range named step 1, "
    "step 2 and so on around each iteration."
)
#: What the reader of PyTorch's traces says, and what it means here.
_SAID = (
    (f"{RECORDING}, with PyTorch 2.2 or newer", _ADVICE),
    (RECORDING, _ADVICE),
    (_NO_STEP, _NO_RANGE),
    ("ProfilerStep#", "Step "),
)
_CALL, _NOTE = "cudaLaunchKernel", "user_annotation"
_COMMUNICATES = re.compile("nccl|rccl", re.IGNORECASE)
#: An op of PyTorch's as emit_nvtx names it, with its sequence number.
_OP = re.compile(
    r"(?P<name>[^,]+)(?:, op_id = \d+)?(?:, seq = (?P<seq>\d{1,18}))?(?:,.*)?", re.DOTALL
)
_OPS = ("Optimizer.step#", "FSDP::")


def looks_like(content: bytes) -> bool:
    """Tell whether a file is a database with tables of kernels or of NVTX's ranges."""
    return content.startswith(MAGIC) and (KERNELS.encode() in content or b"NVTX_EVENTS" in content)


class _ExportedRank(NamedTuple):
    """What ran on a GPU for a process, of which file, its rank where it is told, and its steps."""

    events: list[KinetoEvent]
    place: str
    job: Distributed
    steps: str


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read one export, or several of the same run, as PyTorch's traces of its ranks.

    A rank is a GPU of a process that launched kernels of NCCL on it, or any kernel where none did.
    Steps are ranges of NVTX's named ``step 3``, ``iteration 3`` or the like. Kernels are launched
    by the calls with their correlation id; what they carry NCCL's ranges tell.

    Raises
    ------
    InvalidTrace
        When a file is no database, is broken or has no kernels, and as for PyTorch's traces.

    Notes
    -----
    O(rows log rows).
    """
    ranks = [
        rank
        for file, place in zip(files, places_of(files), strict=True)
        for rank in _ranks(file, place)
    ]
    if all(rank.job.rank is not None for rank in ranks):
        ranks.sort(key=lambda rank: rank.job.rank or 0)
    places = [f"/files/{i}" if len(ranks) > 1 else "" for i in range(len(ranks))]
    parsed = (
        file_of(rank.events, rank.job, f"{place}/traceEvents")
        for rank, place in zip(ranks, places, strict=True)
    )
    try:
        trace = kineto.read_parsed(parsed, places, options)
    except InvalidTrace as error:
        raise InvalidTrace([_here(fault, ranks) for fault in error.faults]) from None
    report = trace.report
    said = (
        [f"The ranges of NVTX's named {ranks[0].steps!r} are the steps."] if ranks[0].steps else []
    )
    return replace(
        trace,
        report=replace(
            report,
            format=FORMAT,
            assumed=(*map(_said, report.assumed), *said),
            warnings=tuple(map(_said, report.warnings)),
        ),
    )


def _said(sentence: str) -> str:
    for theirs, ours in _SAID:
        sentence = sentence.replace(theirs, ours)
    return sentence


def _here(fault: Fault, ranks: Sequence[_ExportedRank]) -> Fault:
    """Say of a file what was said of a trace that was made of it."""
    numbered = re.match(r"/files/(\d+)", fault.pointer)
    rank = ranks[int(numbered[1]) if numbered else 0]
    is_of_one = numbered or len(ranks) == 1
    return Fault(rank.place if is_of_one else "", fault.code, _said(fault.detail))


def _ranks(content: bytes, place: str) -> list[_ExportedRank]:
    """Return the ranks of an export."""
    with opened(content, place, TABLES) as database:
        found = _ExportRows(database)
    by_rank: dict[tuple[int, int], list[Kernel]] = {}
    for kernel in found.kernels:
        process = found.only if kernel.process is None else kernel.process
        by_rank.setdefault((process, kernel.device), []).append(kernel)
    if not by_rank:
        detail = f"The export has no kernels. {_ADVICE}."
        raise InvalidTrace([Fault(place, FaultCode.NO_COLLECTIVE, detail)])
    able = {k: some for k, some in by_rank.items() if any(map(_communicates, some))} or by_rank
    return [found.rank(process, able[process, device], place) for process, device in sorted(able)]


def _communicates(kernel: Kernel) -> bool:
    return _COMMUNICATES.search(kernel.name) is not None


class _ExportRows:
    """The rows of an export, by process."""

    def __init__(self, database: Database) -> None:
        names = texts(database)
        rows = list(kernels(database, names))
        self.kernels = sorted((row for row in rows if row), key=attrgetter("start"))
        #: Rows of what ran on GPUs that do not tell when or where.
        self.lost = rows.count(None)
        launched = {kernel.correlation for kernel in self.kernels}
        self._calls: dict[tuple[int, int], Range] = {}
        self._ranges: dict[int, list[Range]] = {}
        for call in calls(database, launched):
            self._calls.setdefault((call.process, call.correlation), call)
        for one in ranges(database, names):
            self._ranges.setdefault(one.process, []).append(one)
        #: The process of kernels that name none.
        self.only = min((process for process, _ in self._calls), default=0)

    def rank(self, process: int, mine: Sequence[Kernel], place: str) -> _ExportedRank:
        """Return the events of what a process ran on a GPU."""
        own = self._ranges.get(process, [])
        nccl = NcclCalls(own)
        named, steps = step_ranges(own)
        events = [
            _kernel(*one) for one in zip(mine, self._carried(process, mine, nccl), strict=True)
        ]
        used = dict.fromkeys(kernel.correlation for kernel in mine)
        events += [
            _event(_CALL, "cuda_runtime", call, Args(correlation=number))
            for number in used
            if (call := self._calls.get((process, number)))
        ]
        events += [_event(f"ProfilerStep#{number}", _NOTE, one) for number, one in steps]
        events += _ops(own)
        events += [KinetoEvent(ph="X", cat="kernel")] * self.lost  # for the reader to count
        number, workers = nccl.rank or (None, None)
        return _ExportedRank(events, place, Distributed(workers, number), named)

    def _carried(
        self, process: int, mine: Sequence[Kernel], nccl: NcclCalls
    ) -> list[KernelLoad | None]:
        """Return what each kernel carries, in their order."""
        result: list[KernelLoad | None] = [None] * len(mine)
        threads: dict[int, list[tuple[float, int]]] = {}
        for i, kernel in enumerate(mine):
            call = self._calls.get((process, kernel.correlation))
            if call is not None and _communicates(kernel):
                threads.setdefault(call.thread, []).append((call.start, i))
        for thread, launches in threads.items():
            launches.sort()
            carried = nccl.carried(thread, [at for at, _ in launches])
            for (_, i), one in zip(launches, carried, strict=True):
                result[i] = one
        return result


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
    for one in ranges:
        if "::" in one.name or one.name.startswith(_OPS):
            named = _OP.fullmatch(one.name)
            name = named["name"] if named else one.name
            category = "cpu_op" if "::" in name and not name.startswith(_OPS) else _NOTE
            args = Args(sequence=int(named["seq"])) if named and named["seq"] else None
            yield _event(name, category, one, args)
