"""Events as the profiler of TensorFlow and JAX, or a session's timeline, writes them."""

from typing import Any, NamedTuple

import msgspec

from solver.errors import InvalidTrace
from solver.graph import first_of
from solver.traces.chrome import ChromeEvent, ChromeFile, decode, json_of, late

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
    repaired
        One sentence for each thing that was wrong in the file.
    programs
        HLO text of the collectives of each program, where the file has them.
    """

    events: list[ProfilerEvent]
    processes: dict[int | str | None, str]
    threads: dict[tuple[int | str | None, int | str | None], str]
    repaired: list[str]
    programs: dict[str, list[str]]


def parse(content: bytes, place: str) -> Events:
    """Read the events of one file.

    Raises
    ------
    InvalidTrace
        When it is empty, cut off, no JSON or no object of ``traceEvents``, or with every event of
        which the time cannot be counted.

    Notes
    -----
    O(bytes).
    """
    events = decode(content, place, _DECODER)[0].trace_events
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
    return Events([event for event in events if event.name is not None], processes, threads, [], {})
