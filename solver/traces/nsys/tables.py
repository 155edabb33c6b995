"""Rows of an export: kernels, the calls that launched them, and NVTX's ranges.

References
----------
.. [1] Nsight Systems, "SQLite Schema Reference".
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from solver.traces.nsys.database import Bools, Database, Integers
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

#: Whole numbers up to so much are floats, too.
_EXACT = 2**53
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


def process_of(threads: Integers) -> Integers:
    """Return the processes of global numbers."""
    return threads >> _THREAD_BITS


@lru_cache(maxsize=4_096)
def _process(thread: int) -> int:
    """Return the process of a global number, the same object for each of few."""
    return thread >> _THREAD_BITS


def texts(database: Database) -> dict[int, str]:
    """Return the texts of an export by number."""
    rows = database.rows(_TEXTS, ("id", "value"))
    return {key: value for key, value in rows if isinstance(value, str)}


class KernelColumns(NamedTuple):
    """Kernels and copies that only compute, as columns.

    Attributes
    ----------
    names
        All names.
    name
        Places of the names among them.
    start, end
        When each ran [ns]: whole numbers that a float holds.
    process, device, stream, correlation
        As of :class:`Kernel`.
    """

    names: Sequence[str]
    name: Integers
    start: Integers
    end: Integers
    process: Integers
    device: Integers
    stream: Integers
    correlation: Integers


class KernelRows(NamedTuple):
    """What ran on GPUs.

    Attributes
    ----------
    kernels
        What communicates, or lacks something, in the order of the file.
    plain
        All others.
    lost
        Rows that do not tell when they began, or where.
    """

    kernels: list[Kernel]
    plain: KernelColumns
    lost: int


def kernels(
    database: Database, names: dict[int, str], computes: Callable[[str], bool]
) -> KernelRows:
    """Return what ran on GPUs, given which names are of compute alone."""
    columns = ("start", "end", "globalPid", "deviceId", "streamId", "correlationId")
    found: list[Kernel] = []
    lost = 0
    known: dict[str, int] = {}
    plain = array("q")  # one piece of memory, which grows
    for table, category, named in (
        (KERNELS, "kernel", ("demangledName", "shortName")),
        (_COPIES, "gpu_memcpy", ("copyKind",)),
        (_SETS, "gpu_memset", ()),
    ):
        for numbers, some in database.numbers(table, (*columns, *named)):
            rows = some
            if numbers is not None:
                titles = _titles(category, numbers[len(columns) :], names, known, computes)
                start, end = numbers[:2]
                is_plain = (titles >= 0) & (end >= start) & (np.abs(numbers[:2]) <= _EXACT).all(0)
                titled = np.vstack([titles, numbers[: len(columns)]])[:, is_plain]
                titled[3] >>= _THREAD_BITS
                plain.frombytes(titled.T.tobytes())
                rows = numbers.T[~is_plain].tolist()
            for row in rows:
                start, end, process, *place = row[: len(columns)]
                if {type(start), *map(type, place)} != _NUMBERS:
                    lost += 1
                    continue
                name = _name(category, row[len(columns) :], names)
                own = _process(process) if isinstance(process, int) else None
                over = end / 1000 if isinstance(end, int) else None
                found.append(Kernel(name, category, start / 1000, over, own, *place))
    return KernelRows(found, KernelColumns(list(known), *_columns(plain, 1 + len(columns))), lost)


def _titles(
    category: str,
    written: Integers,
    names: dict[int, str],
    known: dict[str, int],
    computes: Callable[[str], bool],
) -> Integers:
    """Return the place of each row's name among those known, to which it is added; -1 of others.

    Others are names of what does not only compute.
    """
    unlike, of = np.unique(written, axis=1, return_inverse=True)
    titles = (_name(category, tuple(each), names) for each in unlike.T.tolist())
    places = [known.setdefault(name, len(known)) if computes(name) else -1 for name in titles]
    found: Integers = np.array(places, np.int64)[of.reshape(-1)]
    return found


def _name(category: str, written: tuple[Any, ...], names: dict[int, str]) -> str:
    if category == "gpu_memset":
        return "Memset"
    if category == "gpu_memcpy":
        return f"Memcpy {_KINDS.get(written[0], 'kind')}"
    for one in written:
        if name := names.get(one, "") if isinstance(one, int) else str(one or ""):
            return name
    return "kernel"


class CallColumns(NamedTuple):
    """Calls of CUDA's runtime, as columns: times [ns], global numbers of threads, and their own."""

    start: Integers
    end: Integers
    thread: Integers
    correlation: Integers


def calls(database: Database, launching: Integers) -> CallColumns:
    """Return the calls of CUDA's runtime with these correlation numbers, which are sorted."""
    columns = ("start", "end", "globalTid", "correlationId")
    found = array("q")  # one piece of memory, which grows
    for numbers, rows in database.numbers(CALLS, columns):
        whole = [row for row in rows if set(map(type, row)) == _NUMBERS]
        some = np.array(whole, np.int64).reshape(-1, len(columns)).T if numbers is None else numbers
        found.frombytes(some[:, is_among(some[3], launching)].T.tobytes())
    return CallColumns(*_columns(found, len(columns)))


def _columns(rows: "array[int]", count: int) -> Integers:
    """Return rows that were written one after another as so many columns."""
    return np.frombuffer(rows, np.int64).reshape(-1, count).T


def is_among(numbers: Integers, known: Integers) -> Bools:
    """Tell which numbers are among some that are sorted."""
    if not known.size:
        return np.zeros(numbers.shape, bool)
    places = np.minimum(np.searchsorted(known, numbers), known.size - 1)
    found: Bools = known[places] == numbers
    return found


def ranges(
    database: Database, names: dict[int, str], is_read: Callable[[str], bool]
) -> Iterator[Range]:
    """Yield the ranges of NVTX that have an end, and a name that is read."""
    payloads = Payloads(database)
    same: dict[Payload | None, Payload | None] = {}
    known: dict[str, str] = {}  # one copy each is kept, of threads as well
    threads: dict[int, int] = {}
    columns = ("start", "end", "globalTid", "eventType", "text", "textId", "jsonText", "binaryData")
    for start, end, thread, kind, text, key, written, packed in database.rows(RANGES, columns):
        is_timed = {type(start), type(end), type(thread)} == _NUMBERS
        if kind not in {_PUSHED, _STARTED} or not is_timed:
            continue
        name = text if isinstance(text, str) and text else names.get(key) if key else None
        if not name:
            continue
        if name not in known:
            known[name] = name if is_read(name) else ""
        if title := known[name]:
            own = threads.setdefault(thread, thread)
            payload = payloads.read(written, packed)
            payload = same.setdefault(payload, payload)
            yield Range(title, start / 1000, end / 1000, own, payload=payload)
