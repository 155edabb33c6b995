"""The events of a trace of TensorFlow's or XLA's, and what is common to both of its forms."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE_SCATTER,
    first_of,
)
from solver.traces.chrome import decode, fits, json_of

#: Ops that are collectives, and the kind of each.
COLLECTIVES = {
    "CollectiveReduce": ALL_REDUCE,
    "CollectiveReduceV2": ALL_REDUCE,
    "CollectiveReduceV3": ALL_REDUCE,
    "NcclAllReduce": ALL_REDUCE,
    "HorovodAllreduce": ALL_REDUCE,
    "CollectiveGather": ALL_GATHER,
    "CollectiveGatherV2": ALL_GATHER,
    "HorovodAllgather": ALL_GATHER,
    "CollectiveReduceScatterV2": REDUCE_SCATTER,
    "HorovodReducescatter": REDUCE_SCATTER,
    "CollectiveBcastSend": BROADCAST,
    "CollectiveBcastSendV2": BROADCAST,
    "CollectiveBcastRecv": BROADCAST,
    "CollectiveBcastRecvV2": BROADCAST,
    "HorovodBroadcast": BROADCAST,
    "CollectiveAllToAllV2": ALL_TO_ALL,
    "CollectiveAllToAllV3": ALL_TO_ALL,
    "HorovodAlltoall": ALL_TO_ALL,
}

_NOTHING = msgspec.Raw(b"{}")
_TASK = re.compile(r"/job:([^/]+)/replica:\d+/task:(\d+)")


class Event(msgspec.Struct, gc=False):
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


class _File(msgspec.Struct, rename="camel"):
    trace_events: list[Event]


_DECODER: msgspec.json.Decoder[_File] = msgspec.json.Decoder(_File)


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

    events: list[Event]
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


def _faults(events: list[Event], place: str) -> Iterator[Fault]:
    for i, event in enumerate(events):
        if event.ph == "X" and not (fits(event.ts) and fits(event.dur)):
            detail = f"Event {i}: ts and dur must be at most 2^53 us."
            yield Fault(f"{place}/{i}", FaultCode.OUT_OF_RANGE, detail)


def task_of(device: str) -> str | None:
    """Return a task in short: ``worker0`` of ``/job:worker/replica:0/task:0/...``; None of none."""
    found = _TASK.match(device)
    return f"{found[1]}{found[2]}" if found else None


class Ran(NamedTuple):
    """An op that a task ran [us].

    Attributes
    ----------
    name, type
        Of the op: ``fc1/MatMul``, ``MatMul``.
    task
        Where it ran.
    start, end
        When.
    inputs
        Names of ops that it waits for; those of other tasks as they are called here.
    data
        How many of the inputs, from the first, are tensors that it takes.
    """

    name: str
    type: str
    task: str
    start: float
    end: float
    inputs: tuple[str, ...]
    data: int = 0


class Sent(NamedTuple):
    """A tensor that a task sent to another.

    Attributes
    ----------
    tensor
        Name of the op that made it.
    origin, task
        From where to where.
    readers
        Names of the ops there that take it.
    maker
        Name of the op after which it can be sent: the tensor's own, where the trace has it.
    """

    tensor: str
    origin: str
    task: str
    readers: tuple[str, ...]
    maker: str | None


class Recording(NamedTuple):
    """A step.

    Attributes
    ----------
    ops
        By start, those at once in the order of the file.
    sent
        In the order of the ops that take them.
    bytes
        Of the results of ops, by task and name, where the file has them.
    dropped, assumed
        One sentence for each thing left out, and for each that the file does not say.
    """

    ops: tuple[Ran, ...]
    sent: tuple[Sent, ...]
    bytes: dict[tuple[str, str], int]
    dropped: tuple[str, ...]
    assumed: tuple[str, ...]
