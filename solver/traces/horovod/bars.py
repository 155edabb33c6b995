"""The bars of a timeline: what each tensor negotiated, waited for and was part of.

Horovod writes a process for each tensor. In it ``NEGOTIATE_ALLREDUCE`` lasts from the first rank
that is ready until all are, with a tick of no length for each rank (none when the response was
cached), and then ``ALLREDUCE`` with the activities of the operation one after another inside.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from solver.codes import FaultCode
from solver.element_types import width_of
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.limits import MAX_BYTES
from solver.traces.chrome import LATEST_US, ChromeEvent, decode_each
from solver.traces.dimensions import elements
from solver.traces.horovod.launches import Activity, HorovodTimeline, TensorLaunch
from solver.traces.sentences import counted

if TYPE_CHECKING:
    from solver.traces.cut_files import CutFile

CYCLE = "CYCLE_START"
NEGOTIATE = "NEGOTIATE_"

#: An activity that is the operation itself, by any library: ``NCCL_ALLREDUCE``, ``MPI_BCAST``.
_OPERATION = re.compile(
    r"(?:NCCL|MPI|GLOO|CCL|MLSL|DDL)_.*(?:REDUCE|GATHER|BCAST|BROADCAST|SCATTER|ALLTOALL)"
)
_DIMENSIONS = re.compile(r"\[\s*(?:[0-9]+\s*(?:,\s*[0-9]+\s*)*)?\]")
_RANK = re.compile(r"[0-9]{1,9}")


#: Events that have a time, and those of them that begin or end a bar.
_TIMED, _ENDS = {"B", "E", "X", "i"}, {"B", "E"}


class _BarArgs(msgspec.Struct, gc=False):
    name: str | None = None
    dtype: str | None = None
    shape: str | None = None


class _BarEvent(ChromeEvent):
    cat: Any = None
    tid: Any = None
    dur: Any = None
    args: _BarArgs | None = None


_DECODER: msgspec.json.Decoder[list[_BarEvent]] = msgspec.json.Decoder(list[_BarEvent])


class _Bar:
    """A bar that has begun."""

    __slots__ = ("activities", "name", "ranks", "run", "start")

    def __init__(self, name: str, start: float) -> None:
        self.name, self.start = name, start
        self.activities: list[Activity] = []
        self.ranks: dict[int, float] = {}
        self.run: int | None = None


class _Tensor:
    """A process of the file: its open bars, and the negotiation that is over."""

    __slots__ = ("name", "negotiated", "open")

    def __init__(self) -> None:
        self.name: str | None = None
        self.open: list[_Bar] = []
        self.negotiated: tuple[float, dict[int, float], float] | None = None


class _BarReader:
    """Events turned into launches, one after another."""

    def __init__(self) -> None:
        self.tensors: dict[int | str, _Tensor] = {}
        self.launches: list[TensorLaunch] = []
        self.cycles: list[float] = []
        self.highest_rank: int | None = None
        self.strays = 0
        self._names: dict[str, str] = {}  # a file has few names and shapes, each often
        self._operations: dict[str, bool] = {}
        self._ranks: dict[str, int | None] = {}
        self._sizes: dict[tuple[str | None, str | None], int | None] = {}
        self.cut: CutFile | None = None
        self._run = 0
        self._ended = True

    def take(self, event: _BarEvent) -> None:
        """Take an event that has its time."""
        at, what, name = event.ts or 0.0, event.ph, event.name or ""
        if what == "i":
            self.cycles += [at] if name == CYCLE else []
            return
        tensor = self.tensors.get(event.pid or 0)
        if tensor is None:
            tensor = self.tensors[event.pid or 0] = _Tensor()
        if what == "X":
            rank = self._rank_in(name) if tensor.open else None
            if rank is not None:
                tensor.open[0].ranks.setdefault(rank, at)
        elif what == "B":
            self._begin(tensor, _Bar(self._names.setdefault(name, name), at))
        elif what == "E":
            self._end(tensor, at, event.args)
        elif what == "M" and name == "process_name" and event.args and event.args.name:
            tensor.name = event.args.name

    def _rank_in(self, name: str) -> int | None:
        if name not in self._ranks:
            rank = self._ranks[name] = int(name) if _RANK.fullmatch(name) else None
            if rank is not None:
                self.highest_rank = max(self.highest_rank or 0, rank)
        return self._ranks[name]

    def _begin(self, tensor: _Tensor, bar: _Bar) -> None:
        if len(tensor.open) == 1 and tensor.open[0].run is None and self._operates(bar.name):
            self._run += self._ended
            self._ended = False
            tensor.open[0].run = self._run
        tensor.open.append(bar)

    def _operates(self, name: str) -> bool:
        if name not in self._operations:
            self._operations[name] = _OPERATION.match(name) is not None
        return self._operations[name]

    def _size_of(self, args: _BarArgs) -> int | None:
        key = args.dtype, args.shape
        if key not in self._sizes:
            self._sizes[key] = _size(*key)
        return self._sizes[key]

    def _end(self, tensor: _Tensor, at: float, args: _BarArgs | None) -> None:
        if not tensor.open:
            self.strays += 1
            return
        bar = tensor.open.pop()
        if tensor.open:
            part = Activity(bar.name, bar.start, at, self._operates(bar.name))
            self._ended |= part.is_operation
            if len(tensor.open) == 1:
                tensor.open[0].activities.append(part)
        elif bar.name.startswith(NEGOTIATE):
            tensor.negotiated = bar.start, bar.ranks, at
        elif tensor.name is not None:
            ready, ranks, decided = tensor.negotiated or (bar.start, {}, bar.start)
            tensor.negotiated = None
            said = tuple(ranks.items())
            size = None if args is None else self._size_of(args)
            self.launches.append(
                TensorLaunch(
                    *(tensor.name, bar.name, ready, said, decided, bar.start, at),
                    *(tuple(bar.activities), size, bar.run),
                )
            )


def timeline(content: bytes, place: str) -> HorovodTimeline:
    """Read the bars of one file.

    Parameters
    ----------
    content
        A timeline; it may end anywhere, as that of a run that was killed does.
    place
        The pointer to the file.

    Raises
    ------
    InvalidTrace
        When the file is empty, no JSON, or no list of events, or with every event that has no
        time, or one before that of the event it ends.

    Notes
    -----
    O(bytes).
    """
    reading = _BarReader()
    events = _events(content, place, reading)
    if faults := first_of(_faults(events, reading, place)):
        raise InvalidTrace(faults)
    cut = reading.cut
    is_open = cut is not None and cut.is_list_alone
    repaired = ["The list of events has no end."] if is_open else []
    left = sum(len(tensor.open) for tensor in reading.tensors.values())
    if left:
        repaired.append(f"{counted(left, 'bar')} had not ended when the file ends: left out.")
    if reading.strays:
        ends = counted(reading.strays, "end")
        repaired.append(f"{ends} of bars that had not begun: left out.")
    launches = sorted(reading.launches, key=lambda launch: launch.ready)
    cycles = tuple(sorted(reading.cycles))
    return HorovodTimeline(
        tuple(launches), cycles, reading.highest_rank, tuple(repaired), None if is_open else cut
    )


def _events(content: bytes, place: str, reading: _BarReader) -> Iterator[_BarEvent]:
    """Yield the events, and keep how the file was cut off."""
    reading.cut = yield from decode_each(content, place, _DECODER)


def _faults(events: Iterable[_BarEvent], reading: _BarReader, place: str) -> Iterator[Fault]:
    """Take events, and find those without a time, and those before the last one of their tensor."""
    last: dict[int | str, float] = {}
    for i, event in enumerate(events):
        reading.take(event)
        what, at = event.ph, event.ts
        if what not in _TIMED:
            continue
        if at is None:
            detail = f"Event {i} ({what}) needs ts, its time [us]."
            yield Fault(f"{place}/{i}/ts", FaultCode.MISSING_FIELD, detail)
        elif not -LATEST_US <= at <= LATEST_US:
            detail = f"Event {i}: ts must be at most 2^53 us."
            yield Fault(f"{place}/{i}/ts", FaultCode.OUT_OF_RANGE, detail)
        elif what in _ENDS:
            tensor = event.pid or 0
            if at < last.get(tensor, at):
                detail = f"Event {i}: ts is before that of the tensor's event before it."
                yield Fault(f"{place}/{i}/ts", FaultCode.OUT_OF_RANGE, detail)
            else:
                last[tensor] = at


def _size(dtype: str | None, shape: str | None) -> int | None:
    """Return the bytes of a tensor; None for a type or a shape that is none."""
    width = width_of(dtype)
    if width is None or shape is None or not _DIMENSIONS.fullmatch(shape):
        return None
    count = elements(re.findall("[0-9]+", shape))
    return None if count is None else min(width * count, MAX_BYTES + 1)
