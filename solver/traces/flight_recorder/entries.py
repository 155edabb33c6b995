"""The entries of one dump: what was launched, by which group, and when; times in us."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError, InvalidTrace
from solver.flight_recorder.dump import FORM, Dump, DumpEntry, dump_in, is_pickled
from solver.flight_recorder.pickled import unpickled
from solver.traces.chrome import decode
from solver.traces.cut_files import CutFile
from solver.traces.kineto.communication_kernels import kind_in
from solver.traces.kineto.groups import ProcessGroup, groups_of, plain
from solver.wording import larger_than_the_job

_TRANSFER = re.compile(r"(send|recv) (\d{1,7})(->|<-)(\d{1,7})")
_NS = 1e3


_Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _TimedEntry(DumpEntry, gc=False):
    collective_seq_id: int | None = None
    record_id: int | None = None
    profiling_name: str | None = None
    time_created_ns: _Nanoseconds | None = None
    time_discovered_started_ns: _Nanoseconds | None = None
    time_discovered_completed_ns: _Nanoseconds | None = None


class _TimedDump(Dump):
    entries: list[_TimedEntry]
    rank: int | str | None = None


_DECODER: msgspec.json.Decoder[_TimedDump] = msgspec.json.Decoder(_TimedDump)


class FlightEntry(NamedTuple):
    """A launch that completed.

    Attributes
    ----------
    group
        Its process group.
    number
        Which of the group's it is; None where the file does not say.
    kind
        As in a graph, else the library's word.
    bytes
        The larger of what went in and came out; None where nobody knows.
    start, end
        When it was discovered to have started, else when it was made, and when to be over [us].
    pair
        Sender and receiver of a transfer; None of a collective.
    """

    group: ProcessGroup
    number: int | None
    kind: str
    bytes: int | None
    start: float
    end: float
    pair: tuple[int, int] | None


class FlightDump(NamedTuple):
    """One rank's file.

    Attributes
    ----------
    rank
        Its number; None where the file does not tell.
    entries
        By start.
    is_whole
        Whether the buffer still has the first launch.
    left_out
        Launches that did not complete, or have no times.
    cut
        Where the file ends, a sentence; None of a whole one.
    larger
        Process groups that have more ranks than their job, a sentence each.
    """

    rank: int | None
    entries: tuple[FlightEntry, ...]
    is_whole: bool
    left_out: int
    cut: str | None = None
    larger: tuple[str, ...] = ()


def _count(value: Any) -> int | None:
    """Return a number below ten million, which a dump may write as text; None of anything else."""
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 8 else None  # noqa: PLR2004


def dump_of(content: bytes, place: str, base_ns: int | None = None) -> tuple[FlightDump, int]:
    """Read one dump, and say what its times are counted from [ns].

    Parameters
    ----------
    content
        JSON, or a pickle of plain data.
    place
        The pointer to the file.
    base_ns
        What times are counted from: of several dumps the same, or clocks could not be compared.
        None for the first time of this one.

    Raises
    ------
    InvalidTrace
        When it is no JSON and no such pickle, no dump, or a value is of another type.

    Notes
    -----
    O(bytes).
    """
    raw, cut = _decoded(content, place)
    timed = [entry for entry in raw.entries if _is_timed(entry)]
    if base_ns is None:
        base_ns = min((entry.time_created_ns or 0 for entry in timed), default=0)
    rows = [_row(name, group) for name, group in raw.groups.items()]
    groups = {group.name: group for group in groups_of(rows)}
    entries = sorted(
        (_entry_of(entry, groups, base_ns) for entry in timed), key=lambda one: one.start
    )
    sizes = [(group.name, group.workers) for group in groups.values() if group.workers]
    first = min((entry.record_id or 0 for entry in raw.entries), default=0)
    dump = FlightDump(
        _count(raw.rank),
        tuple(entries),
        first == 0,
        len(raw.entries) - len(timed),
        cut.said if cut else None,
        tuple(larger_than_the_job(sizes, _count(raw.world_size))),
    )
    return dump, base_ns


def _decoded(content: bytes, place: str) -> tuple[_TimedDump, CutFile | None]:
    if not is_pickled(content):
        return decode(content, place, _DECODER, FORM)
    try:
        return dump_in(unpickled(content), _TimedDump), None
    except InterlaceError as error:
        faults = [replace(fault, pointer=place + fault.pointer) for fault in error.faults]
        raise InvalidTrace(faults) from None


def _is_timed(entry: _TimedEntry) -> bool:
    """Tell whether a launch has begun and ended, in this order."""
    begun = entry.time_discovered_started_ns or entry.time_created_ns
    over = entry.time_discovered_completed_ns
    return entry.profiling_name is not None and bool(begun) and bool(over) and over >= begun  # type: ignore[operator]


def _row(name: str, group: dict[str, Any]) -> dict[str, Any]:
    return {"pg_name": name, "pg_desc": group.get("desc"), "ranks": group.get("ranks")}


def _entry_of(entry: _TimedEntry, groups: dict[str, ProcessGroup], base_ns: int) -> FlightEntry:
    name, description = entry.group
    known = groups.get(name) or ProcessGroup(name, plain(description), None)
    transfer = _TRANSFER.match(entry.called)
    pair = None
    if transfer:
        one, other = int(transfer[2]), int(transfer[4])
        pair = (one, other) if transfer[3] == "->" else (other, one)
    begun = entry.time_discovered_started_ns or entry.time_created_ns or 0
    return FlightEntry(
        known,
        entry.collective_seq_id,
        transfer[1] if transfer else kind_in(entry.called) or plain(entry.called),
        entry.bytes,
        (begun - base_ns) / _NS,
        ((entry.time_discovered_completed_ns or 0) - base_ns) / _NS,
        pair,
    )


def twice(dumps: list[FlightDump], places: list[str]) -> Iterator[Fault]:
    """Find dumps of one rank."""
    numbers = [dump.rank for dump in dumps]
    for i, number in enumerate(numbers):
        if number is not None and number in numbers[:i]:
            first = numbers.index(number) + 1
            detail = f"This is rank {number}, as file {first} is: give each rank of one run once."
            yield Fault(places[i], FaultCode.RANKS_DIFFER, detail)


def read_dumps(files: list[tuple[bytes, str]]) -> list[FlightDump]:
    """Read the dumps of several ranks, with their pointers, on clocks from one time on.

    Raises
    ------
    InvalidTrace
        When one is broken, or two are of one rank.
    """
    base: int | None = None
    dumps = []
    for content, place in files:
        dump, base = dump_of(content, place, base)
        dumps.append(dump)
    if faults := list(twice(dumps, [place for _, place in files])):
        raise InvalidTrace(faults)
    return dumps
