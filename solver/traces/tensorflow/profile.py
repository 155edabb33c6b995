"""The profiler's ``*.trace.json.gz``: ops on the threads of a host, kernels on a GPU's streams.

An op is an event whose ``long_name`` is ``NAME:TYPE``; what a task sends is a ``_Send`` whose
``key`` names both tasks and the tensor. Inputs are not written: what a thread runs is in order.
"""

import re
from collections.abc import Iterable, Iterator
from heapq import heappush
from typing import NamedTuple

from solver.traces.profiler import Events, ProfilerEvent
from solver.traces.spans import pop_ended
from solver.traces.tensorflow.events import (
    COLLECTIVES,
    Ran,
    Sent,
    StepRecording,
    task_of,
)

_LONG = re.compile(r"(.+):(\w+)")
_EDGE = re.compile(r"edge_\d+_(.+)")
_SENDS, _TRANSFERS = {"_Send", "_HostSend"}, {"_Send", "_Recv", "_HostSend", "_HostRecv"}
_KEY_PARTS = 5
_ORDER = (
    "The profile names no inputs: ops of a task follow each other as they ran, and an op that "
    "takes a tensor of another task waits for it."
)
_GPU = "/device:GPU"
_ENQUEUED = (
    "The profile is of GPUs, and ops have the times of the host's threads: an op ends there when "
    "its kernels are enqueued. A timeline of a session has the kernels."
)


class _ProfiledOp(NamedTuple):
    name: str
    type: str
    event: ProfilerEvent
    fields: dict[str, object]
    group: int


def profiled_steps(trace: Events) -> list[StepRecording]:
    """Read the steps of a profile, as its groups of events tell them.

    A thread is of the task that its ``_Send`` name; where one task is all that is named, or none
    is, it has all threads.

    Notes
    -----
    O(events log events).
    """
    ops = sorted(_ops(trace), key=lambda op: op.event.start)
    owners: dict[object, str] = {}
    for op in ops:
        parts = _key(op)
        if parts is not None:
            owners.setdefault((op.event.pid, op.event.tid), parts[0])
    tasks = sorted(set(owners.values()))
    groups: dict[int, list[_ProfiledOp]] = {}
    for op in ops:
        groups.setdefault(op.group, []).append(op)
    on_gpu = any(name.startswith(_GPU) for name in trace.processes.values())
    unsound = (_ENQUEUED,) if on_gpu else ()
    return [
        _step(groups[group], owners, tasks)._replace(unsound=unsound) for group in sorted(groups)
    ]


def _ops(trace: Events) -> Iterator[_ProfiledOp]:
    for event in trace.events:
        if event.ph != "X" or not event.has("long_name"):
            continue
        fields = event.fields
        long = fields.get("long_name")
        parts = _LONG.fullmatch(long) if isinstance(long, str) else None
        group = str(fields.get("group_id", ""))
        if parts and parts[2] == event.name:
            number = int(group) if re.fullmatch(r"[0-9]{1,18}", group) else -1
            yield _ProfiledOp(parts[1], parts[2], event, fields, number)


def _key(op: _ProfiledOp) -> tuple[str, str, str] | None:
    """Return from where to where a ``_Send`` sent which tensor; None of anything else."""
    key = op.fields.get("key")
    if op.type not in _SENDS or not isinstance(key, str):
        return None
    parts = key.split(";")
    if len(parts) != _KEY_PARTS:
        return None
    origin, task, tensor = task_of(parts[0]), task_of(parts[2]), _EDGE.fullmatch(parts[3])
    return (origin, task, tensor[1]) if origin and task and tensor else None


def _step(ops: Iterable[_ProfiledOp], owners: dict[object, str], tasks: list[str]) -> StepRecording:
    ran: list[Ran] = []
    last: dict[str, str] = {}
    sums: dict[str, list[tuple[float, str]]] = {}
    sent: dict[tuple[str, str, str], list[str]] = {}
    makers: dict[tuple[str, str, str], str | None] = {}
    seen: set[tuple[str, str]] = set()
    lost = 0
    for op in ops:
        parts = _key(op)
        if parts is not None and parts[0] != parts[1]:
            to = op.fields.get("to")
            place = (parts[2], parts[0], parts[1])
            sent.setdefault(place, []).append(str(to or ""))
            has_run = (parts[0], parts[2]) in seen
            makers.setdefault(place, parts[2] if has_run else last.get(parts[0]))
        if op.type in _TRANSFERS:
            continue
        task = owners.get((op.event.pid, op.event.tid)) if len(tasks) > 1 else None
        task = task or (tasks[0] if len(tasks) == 1 else None if tasks else "worker0")
        if task is None:
            lost += 1
            continue
        inputs: tuple[str, ...] = (last[task],) if task in last else ()
        if op.type in COLLECTIVES:
            ran.append(Ran(op.name, op.type, task, op.event.start, op.event.end, inputs))
            heappush(sums.setdefault(task, []), (op.event.end, op.name))
            continue
        ended = pop_ended(sums.get(task, []), op.event.start)
        inputs += tuple(name for _, name in ended)
        ran.append(Ran(op.name, op.type, task, op.event.start, op.event.end, inputs))
        last[task] = op.name
        seen.add((task, op.name))
    dropped = (f"{lost:,} ops on threads that sent nothing: their task is not known.",)
    return StepRecording(
        tuple(ran),
        tuple(Sent(*place, tuple(dict.fromkeys(to)), makers[place]) for place, to in sent.items()),
        {},
        dropped if lost else (),
        (_ORDER,),
    )
