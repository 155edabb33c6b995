"""Rows of an export: kernels, the calls that launched them, and NVTX's ranges.

References
----------
.. [1] Nsight Systems, "SQLite Schema Reference".
"""

from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from solver.traces.nsys.database import Database
from solver.traces.nsys.payloads import Payload, Payloads

KERNELS, CALLS, RANGES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
_COPIES, _SETS = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
_TEXTS = "StringIds"
TABLES = (KERNELS, CALLS, RANGES, _COPIES, _SETS, _TEXTS, *Payloads.TABLES)
#: NVTX's ranges of a thread, and those that any thread may end.
_PUSHED, _STARTED = 59, 60
#: A global number of a thread has the thread's in its last bits, and the process's before them.
_THREAD_BITS = 24
#: CUDA's kinds of copies, as PyTorch's profiler calls them.
_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}

#: Types of values that are numbers.
_NUMBERS = {int}


class Kernel(NamedTuple):
    """A kernel, or a copy of memory [us].

    Attributes
    ----------
    name, category
        As PyTorch's profiler has them.
    start, end
        When it ran; None of an end that the file does not tell.
    process, device, stream
        Where; the process is None in exports that do not tell it.
    correlation
        Number of the call that launched it, in its process.
    """

    name: str
    category: str
    start: float
    end: float | None
    process: int | None
    device: int
    stream: int
    correlation: int


class Range(NamedTuple):
    """A call, or a range of NVTX's, on a thread [us].

    Attributes
    ----------
    name
        Empty of a call.
    start, end
        Its time.
    thread
        Its global number.
    correlation
        Of a call.
    payload
        Of a range that has one.
    """

    name: str
    start: float
    end: float
    thread: int
    correlation: int = 0
    payload: Payload | None = None

    @property
    def process(self) -> int:
        """The process of its thread."""
        return _process(self.thread)


@lru_cache(maxsize=4_096)
def _process(thread: int) -> int:
    """Return the process of a global number, the same object for each of few."""
    return thread >> _THREAD_BITS


def texts(database: Database) -> dict[int, str]:
    """Return the texts of an export by number."""
    rows = database.rows(_TEXTS, ("id", "value"))
    return {key: value for key, value in rows if isinstance(value, str)}


def kernels(database: Database, names: dict[int, str]) -> Iterator[Kernel | None]:
    """Yield what ran on GPUs; None for a row that does not tell when it began, or where."""
    columns = ("start", "end", "globalPid", "deviceId", "streamId", "correlationId")
    for table, category, named in (
        (KERNELS, "kernel", ("demangledName", "shortName")),
        (_COPIES, "gpu_memcpy", ("copyKind",)),
        (_SETS, "gpu_memset", ()),
    ):
        for row in database.rows(table, (*columns, *named)):
            start, end, process, *place = row[: len(columns)]
            if {type(start), *map(type, place)} != _NUMBERS:
                yield None
                continue
            name = _name(category, row[len(columns) :], names)
            own = _process(process) if isinstance(process, int) else None
            over = end / 1000 if isinstance(end, int) else None
            yield Kernel(name, category, start / 1000, over, own, *place)


def _name(category: str, written: tuple[Any, ...], names: dict[int, str]) -> str:
    if category == "gpu_memset":
        return "Memset"
    if category == "gpu_memcpy":
        return f"Memcpy {_KINDS.get(written[0], 'kind')}"
    for one in written:
        if name := names.get(one, "") if isinstance(one, int) else str(one or ""):
            return name
    return "kernel"


def calls(database: Database, launching: Container[int]) -> Iterator[Range]:
    """Yield the calls of CUDA's runtime with these correlation numbers."""
    threads: dict[int, int] = {}  # one copy each is kept
    for start, end, thread, number in database.rows(
        CALLS, ("start", "end", "globalTid", "correlationId")
    ):
        if {type(start), type(end), type(thread), type(number)} == _NUMBERS and number in launching:
            own = threads.setdefault(thread, thread)
            yield Range("", start / 1000, end / 1000, own, number)


def ranges(database: Database, names: dict[int, str]) -> Iterator[Range]:
    """Yield the ranges of NVTX that have a name and an end."""
    payloads = Payloads(database)
    known: dict[str, str] = {}  # one copy each is kept, of threads as well
    threads: dict[int, int] = {}
    columns = ("start", "end", "globalTid", "eventType", "text", "textId", "jsonText", "binaryData")
    for start, end, thread, kind, text, key, written, packed in database.rows(RANGES, columns):
        is_timed = {type(start), type(end), type(thread)} == _NUMBERS
        if kind not in {_PUSHED, _STARTED} or not is_timed:
            continue
        name = text if isinstance(text, str) and text else names.get(key) if key else None
        if name:
            title, own = known.setdefault(name, name), threads.setdefault(thread, thread)
            payload = payloads.read(written, packed)
            yield Range(title, start / 1000, end / 1000, own, payload=payload)
