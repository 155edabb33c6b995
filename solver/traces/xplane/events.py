"""Planes as the events that the profiler writes of them to ``*.trace.json.gz``.

A plane is a process, a line a thread, and an event has its display name, its other name as
``long_name``, and its fields as text.

References
----------
.. [1] TensorFlow, ``xplane_to_trace_events.cc`` and ``trace_events_to_json.cc``.
"""

from sys import intern
from typing import Any, NamedTuple

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.traces.chrome import last_start, late
from solver.traces.cut_files import CutFile
from solver.traces.profiler import Events, ProfilerEvent
from solver.traces.xplane.grouping import grouped
from solver.traces.xplane.planes import Plane, planes
from solver.traces.xplane.programs import PLANE, programs_in

#: How the names begin of the planes that are written.
_HOST, _DEVICE = "/host:CPU", "/device:"
#: Where a step has its name.
_STEP = "step_name"
_LONG_NAME = "long_name"
#: Fields that readers ask for, and those that join a step's events.
_READ = frozenset(
    {
        *("hlo_op", "hlo_module", "run_id", "device_ordinal", _LONG_NAME, "shape_with_layout"),
        *("group_id", "key", "to", _STEP),
        *("_r", "step_num", "_pt", "_p", "_ct", "_c"),
    }
)
_PS, _PS_PER_NS = 1e6, 1000


class PlaneEvent(ProfilerEvent, gc=False):
    """One event, with its fields."""

    written: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """What is written beside it."""
        return self.written

    def has(self, field: str) -> bool:
        """Tell whether a field is written beside it."""
        return field in self.written


class _Names(NamedTuple):
    """Tables of a plane.

    Attributes
    ----------
    events
        Name of each kind of event, and the fields that all of a kind have.
    fields
        Names of fields, and of what fields refer to.
    read
        Those of the fields that readers take.
    """

    events: dict[int, tuple[str, dict[str, str]]]
    fields: dict[int, str]
    read: dict[int, str]


def events_of(content: bytes, place: str) -> Events:
    """Read the events of the host's threads and of the devices.

    Of the host those are left out that have no field which a reader takes.

    Parameters
    ----------
    content
        The file.
    place
        The pointer to it.

    Raises
    ------
    InvalidTrace
        When a plane is none, the file is cut before the first, or with every event of which the
        time cannot be counted.

    Notes
    -----
    O(bytes), and a sort of the host's events.
    """
    found = Events([], {}, {})
    programs: dict[str, list[str]] = {}
    cut = None
    for number, plane in enumerate(planes(content, place), 1):
        if isinstance(plane, CutFile):
            cut = plane
        elif plane.tables.name.startswith((_HOST, _DEVICE)):
            found.processes[number] = plane.tables.name
            _read(plane, number, found)
        elif plane.tables.name == PLANE:
            for name, lines in programs_in(plane.tables):
                programs.setdefault(name, []).extend(lines)
    if not found.processes:
        detail = "The profile has no plane of a host or of a device."
        detail += f" {cut.said}" if cut else ""
        code = FaultCode.TRUNCATED if cut else FaultCode.WRONG_FORMAT
        raise InvalidTrace([Fault(place, code, detail)])
    if faults := first_of(late(found.events, f"{place}/events")):
        raise InvalidTrace(faults)
    until = last_start(found.events) if cut else None
    return found._replace(cut=cut, until=until, programs=programs)


def _read(plane: Plane, number: int, into: Events) -> None:
    """Read the events of a plane."""
    names = _names(plane.tables)
    is_host = plane.tables.name.startswith(_HOST)
    events: list[PlaneEvent] = []
    for line in plane.lines:
        thread = (line.display_id or line.id) % 2**32
        into.threads[number, thread] = line.display_name or line.name
        begin = line.timestamp_ns * _PS_PER_NS
        for event in line.events:
            named = names.events.get(event.metadata_id)
            if named is None:
                continue
            name, written = named
            if stats := event.stats:
                written = {**written, **_written(stats, names)}
            if is_host and not written:
                continue
            events.append(
                PlaneEvent(
                    ph="X",
                    name=written.get(_STEP) or name,
                    pid=number,
                    tid=thread,
                    ts=(begin + event.offset_ps) / _PS,
                    dur=max(event.duration_ps, 1) / _PS,
                    written=written,
                )
            )
    into.events.extend(grouped(events) if is_host else events)


def _names(tables: Any) -> _Names:
    """Read the tables of a plane."""
    fields = {entry.key: entry.value.name for entry in tables.stat_metadata}
    read = {key: name for key, name in fields.items() if name in _READ}
    names = _Names({}, fields, read)
    for entry in tables.event_metadata:
        known = entry.value
        written = _written(known.stats, names)
        if known.display_name:
            written[_LONG_NAME] = known.name
        names.events[entry.key] = known.display_name or known.name, written
    return names


def _written(stats: Any, names: _Names) -> dict[str, str]:
    """Return the fields that readers take, as text."""
    result = {}
    for stat in stats:
        name = names.read.get(stat.metadata_id)
        if name is None:
            continue
        which = stat.WhichOneof("value")
        if which == "ref_value":
            result[name] = names.fields.get(stat.ref_value, "")
        elif which is not None and which != "bytes_value":
            result[name] = intern(str(getattr(stat, which)))  # most are written many times
    return result
