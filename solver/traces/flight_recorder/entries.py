"""The entries of one dump: what was launched, by which group, and when; times in us.

References
----------
.. [1] PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp: the keys of an entry.
"""

import re
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import msgspec

from solver.calibration.measurements.logs.flight_recorder import check_size
from solver.calibration.measurements.logs.pickled import BEGINS, unpickled
from solver.codes import FaultCode
from solver.element_types import width_of
from solver.errors import Fault, InvalidMeasurements, InvalidTrace
from solver.limits import MAX_BYTES
from solver.traces.chrome import decode
from solver.traces.cut_files import CutFile
from solver.traces.dimensions import MAX_DIMENSIONS
from solver.traces.kineto.communication_kernels import kind_in
from solver.traces.kineto.groups import ProcessGroup, groups_of, plain

_TRANSFER = re.compile(r"(send|recv) (\d{1,7})(->|<-)(\d{1,7})")
_NS = 1e3


class _Entry(msgspec.Struct, gc=False):
    process_group: Any = None
    collective_seq_id: int | None = None
    record_id: int | None = None
    profiling_name: str | None = None
    time_created_ns: int | None = None
    time_discovered_started_ns: int | None = None
    time_discovered_completed_ns: int | None = None
    input_sizes: Any = None
    input_dtypes: Any = None
    output_sizes: Any = None
    output_dtypes: Any = None


class _Dump(msgspec.Struct):
    entries: list[_Entry]
    rank: int | str | None = None
    pg_config: Any = None


_DECODER: msgspec.json.Decoder[_Dump] = msgspec.json.Decoder(_Dump)


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
    """

    rank: int | None
    entries: tuple[FlightEntry, ...]
    is_whole: bool
    left_out: int
    cut: str | None = None


def dump_of(content: bytes, place: str, base_ns: int | None = None) -> tuple[FlightDump, int]:
    """Read one dump, and say what its times are counted from [ns].

    Parameters
    ----------
    content
        JSON, or a pickle of plain data, as PyTorch dumps it where a watchdog runs out of time.
    place
        The pointer to the file.
    base_ns
        What times are counted from: of several dumps the same, or clocks could not be compared.
        None for the first time of this one.

    Raises
    ------
    InvalidTrace
        When it is neither, no dump, or a value is of another type.

    Notes
    -----
    O(bytes).
    """
    raw, cut = _decoded(content, place)
    timed = [entry for entry in raw.entries if _is_timed(entry)]
    if base_ns is None:
        base_ns = min((entry.time_created_ns or 0 for entry in timed), default=0)
    config = raw.pg_config if isinstance(raw.pg_config, dict) else {}
    rows = [_row(name, group) for name, group in config.items() if isinstance(group, dict)]
    groups = {group.name: group for group in groups_of(rows)}
    entries = sorted(
        (_entry_of(entry, groups, base_ns) for entry in timed), key=lambda one: one.start
    )
    rank = str(raw.rank)
    first = min((entry.record_id or 0 for entry in raw.entries), default=0)
    dump = FlightDump(
        int(rank) if rank.isdecimal() and len(rank) < 8 else None,  # noqa: PLR2004 - a million
        tuple(entries),
        first == 0,
        len(raw.entries) - len(timed),
        cut.said if cut else None,
    )
    return dump, base_ns


def _decoded(content: bytes, place: str) -> tuple[_Dump, CutFile | None]:
    if not content.startswith(BEGINS):
        return decode(content, place, _DECODER)
    try:
        value = unpickled(content)
        if isinstance(value, dict) and isinstance(value.get("entries"), list):
            check_size(value["entries"])  # a pickle may name one entry many times
        return msgspec.convert(value, _Dump), None
    except InvalidMeasurements as error:
        raise InvalidTrace([Fault(place, f.code, f.detail) for f in error.faults]) from None
    except msgspec.ValidationError as error:
        raise InvalidTrace([Fault(place, FaultCode.WRONG_FORMAT, f"{error}.")]) from None


def _is_timed(entry: _Entry) -> bool:
    """Tell whether a launch has begun and ended, in this order."""
    begun = entry.time_discovered_started_ns or entry.time_created_ns
    over = entry.time_discovered_completed_ns
    return entry.profiling_name is not None and bool(begun) and bool(over) and over >= begun  # type: ignore[operator]


def _row(name: str, group: dict[str, Any]) -> dict[str, Any]:
    return {"pg_name": name, "pg_desc": group.get("desc"), "ranks": group.get("ranks")}


def _entry_of(entry: _Entry, groups: dict[str, ProcessGroup], base_ns: int) -> FlightEntry:
    own = entry.process_group
    name, description = (*own, "", "")[:2] if isinstance(own, list | tuple) else (own, "")
    known = groups.get(str(name)) or ProcessGroup(str(name), plain(str(description)), None)
    called = (entry.profiling_name or "").rpartition(":")[2]
    transfer = _TRANSFER.match(called)
    pair = None
    if transfer:
        one, other = int(transfer[2]), int(transfer[4])
        pair = (one, other) if transfer[3] == "->" else (other, one)
    begun = entry.time_discovered_started_ns or entry.time_created_ns or 0
    return FlightEntry(
        known,
        entry.collective_seq_id,
        transfer[1] if transfer else kind_in(called) or plain(called),
        max(_sizes(entry), default=None),
        (begun - base_ns) / _NS,
        ((entry.time_discovered_completed_ns or 0) - base_ns) / _NS,
        pair,
    )


def _sizes(entry: _Entry) -> Iterator[int]:
    """Yield the bytes of what went in, and of what came out, where all of it is known."""
    for shapes, types in (
        (entry.input_sizes, entry.input_dtypes),
        (entry.output_sizes, entry.output_dtypes),
    ):
        listed = shapes if isinstance(shapes, list | tuple) else []
        named = types if isinstance(types, list | tuple) and types else [None]
        total = 0
        for i, dims in enumerate(listed):
            width = width_of(named[min(i, len(named) - 1)])
            whole = isinstance(dims, list | tuple) and all(type(d) is int and d >= 0 for d in dims)
            if width is None or not whole or len(dims) > MAX_DIMENSIONS:
                break
            total = min(total + width * prod(dims), MAX_BYTES + 1)
        else:
            if listed:
                yield total


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
