"""Events as the profiler of TensorFlow and JAX, or a session's timeline, writes them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.traces.chrome import decode, fits, json_of

_NOTHING = msgspec.Raw(b"{}")


class ProfilerEvent(msgspec.Struct, gc=False):
    """One event; times are microseconds."""

    ph: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: msgspec.Raw = _NOTHING

    @property
    def fields(self) -> dict[str, Any]:
        """What is written beside it."""
        found = json_of(self.args)
        return found if isinstance(found, dict) else {}

    @property
    def start(self) -> float:
        """When it began [us]."""
        return self.ts or 0.0

    @property
    def end(self) -> float:
        """When it ended [us]."""
        return self.start + max(self.dur or 0.0, 0.0)


class _ProfilerFile(msgspec.Struct, rename="camel"):
    trace_events: list[ProfilerEvent]


_DECODER: msgspec.json.Decoder[_ProfilerFile] = msgspec.json.Decoder(_ProfilerFile)


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
    """

    events: list[ProfilerEvent]
    processes: dict[int | str | None, str]
    threads: dict[tuple[int | str | None, int | str | None], str]


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
    faults = first_of(_faults(events, f"{place}/traceEvents"))
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
    return Events([event for event in events if event.name is not None], processes, threads)


def _faults(events: list[ProfilerEvent], place: str) -> Iterator[Fault]:
    for i, event in enumerate(events):
        if event.ph == "X" and not (fits(event.ts) and fits(event.dur)):
            detail = f"Event {i}: ts and dur must be at most 2^53 us."
            yield Fault(f"{place}/{i}", FaultCode.OUT_OF_RANGE, detail)
