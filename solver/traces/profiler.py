"""Events as the profiler of TensorFlow and JAX, or a session's timeline, writes them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from solver.errors import InvalidTrace
from solver.graph import first_of
from solver.traces.chrome import ChromeEvent, ChromeFile, decode, json_of, last_start, late
from solver.traces.cut_files import CutFile

_NOTHING = msgspec.Raw(b"{}")


class ProfilerEvent(ChromeEvent):
    """One event."""

    cat: Any = None
    args: msgspec.Raw = _NOTHING

    @property
    def fields(self) -> dict[str, Any]:
        """What is written beside it."""
        found = json_of(self.args)
        return found if isinstance(found, dict) else {}

    def has(self, field: str) -> bool:
        """Tell whether a field may be written beside it; quicker than reading them all."""
        return field.encode() in bytes(self.args)


_DECODER = msgspec.json.Decoder(ChromeFile[ProfilerEvent])


class Events(NamedTuple):
    """The events of a file.

    Attributes
    ----------
    events
        Those with a name, in the order of the file.
    processes
        Names by process.
    threads
        Names by process and thread.
    cut
        How the file was cut off; None where it was not.
    until
        When the last event began that a file which was cut off has [us]; None of others.
    programs
        HLO text of the collectives of each program, where the file has them.
    """

    events: list[ProfilerEvent]
    processes: dict[int | str | None, str]
    threads: dict[tuple[int | str | None, int | str | None], str]
    cut: CutFile | None = None
    until: float | None = None
    programs: Mapping[str, list[str]] = MappingProxyType({})


def parse(content: bytes, place: str) -> Events:
    """Read the events of one file.

    Raises
    ------
    InvalidTrace
        When it is empty, cut off before its first event, no JSON or no object of ``traceEvents``,
        or with every event of which the time cannot be counted.

    Notes
    -----
    O(bytes).
    """
    file, cut = decode(content, place, _DECODER)
    events = file.trace_events
    faults = first_of(late(events, f"{place}/traceEvents"))
    if faults:
        raise InvalidTrace(faults)
    processes: dict[int | str | None, str] = {}
    threads: dict[tuple[int | str | None, int | str | None], str] = {}
    for event in events:
        if event.ph == "M" and event.name in {"process_name", "thread_name"}:
            name = event.fields.get("name")
            if isinstance(name, str) and event.name == "process_name":
                processes[event.pid] = name
            elif isinstance(name, str):
                threads[event.pid, event.tid] = name
    called = [event for event in events if event.name is not None]
    return Events(called, processes, threads, cut, last_start(called) if cut else None)
