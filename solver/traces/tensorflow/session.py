"""``timeline.json``: what ``tf.compat.v1``'s timeline makes of the RunMetadata of one run.

A process is a device, ``/job:worker/replica:0/task:0/device:CPU:0 Compute``; an event has the
name, type and inputs of its op. The op that takes a tensor from another device names it with a
suffix, ``fc1/kernel/read/_3`` or in newer versions ``fc1/kernel/read_S3``. The transfer itself is
a nameless ``RecvTensor``. With ``show_memory=True`` there are the bytes of each result.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.limits import MAX_TASKS
from solver.traces.profiler import Events, ProfilerEvent
from solver.traces.tensorflow.events import COLLECTIVES, Ran, Sent, StepRecording, task_of

_COMPUTE, _TENSORS, _STREAM, _ALL = " Compute", " Tensors", "/stream:", "/stream:all"
_GPU = "/device:GPU:"
_SUFFIX = re.compile(r"(?:/_|_S)\d+$")
_OUTPUT = re.compile(r":\d+$")
_BYTES = re.compile(r"requested_bytes: ([0-9]{1,18})")
#: Ops that are a transfer, not its work.
_TRANSFERS = {"_Send", "_Recv", "_HostSend", "_HostRecv", "RecvTensor"}
_RECEIVED = "RecvTensor"


def is_session(trace: Events) -> bool:
    """Tell whether events are of a session's timeline."""
    return any(name.endswith(_COMPUTE) for name in trace.processes.values())


def session(trace: Events) -> StepRecording:
    """Read the one step of a timeline.

    An op on a GPU lasts as long as its kernels, where the timeline has them.

    Raises
    ------
    InvalidTrace
        When it is of more than :data:`solver.limits.MAX_TASKS` tasks.

    Notes
    -----
    O(events log events).
    """
    computed = [event for event in trace.events if event.ph == "X"]
    kernels = _kernels(trace, computed)
    ops: list[Ran] = []
    on_gpu: list[str] = []
    received = untold = 0
    for event in computed:
        process = trace.processes.get(event.pid, "")
        if not process.endswith(_COMPUTE) or _STREAM in process or "/memcpy" in process:
            continue
        fields = event.fields
        name, kind, task = fields.get("name"), fields.get("op"), task_of(process)
        if not isinstance(name, str) or not isinstance(kind, str) or task is None:
            untold += 1
        elif kind == _RECEIVED:
            received += 1
        elif name != "_SOURCE" and kind not in _TRANSFERS:
            took = kernels.get(name)
            end = event.end if took is None else event.start + took
            inputs = _inputs(fields)
            data = sum(not name.startswith("^") for name in inputs)
            named = tuple(_OUTPUT.sub("", name.removeprefix("^")) for name in inputs)
            ops.append(Ran(name, kind, task, event.start, end, named, data))
            if kind in COLLECTIVES and _GPU in process:
                on_gpu.append(name)
    ops.sort(key=lambda op: op.start)
    if len({op.task for op in ops}) > MAX_TASKS:
        detail = f"At most {MAX_TASKS} tasks of a timeline are read."
        raise InvalidTrace([Fault("", FaultCode.TOO_LARGE, detail)])
    sent = tuple(_sent(ops))
    dropped = [f"{untold:,} events without name, type or task."] if untold else []
    if received:
        dropped.append(
            f"{received:,} RecvTensor: the timeline does not say what they carried; tensors are "
            "sent as the inputs of ops tell."
        )
    assumed = ["An op on a GPU lasts as long as its kernels."] if kernels else []
    on_host = () if kernels else tuple(on_gpu)
    return StepRecording(tuple(ops), sent, _bytes(trace), tuple(dropped), tuple(assumed), on_host)


def _kernels(trace: Events, computed: Iterable[ProfilerEvent]) -> dict[str, float]:
    """Sum the time of the kernels of each op [us]: of the stream of all, or else of each."""
    streams = {pid: name for pid, name in trace.processes.items() if _STREAM in name}
    whole = {pid for pid, name in streams.items() if _ALL in name}
    times: dict[str, float] = {}
    for event in computed:
        if event.pid in (whole or streams):
            name = event.fields.get("name")
            if isinstance(name, str):
                times[name] = times.get(name, 0.0) + event.end - event.start
    return times


def _inputs(fields: Mapping[str, object]) -> list[str]:
    """Return the inputs of an op as they are written; control inputs come last."""
    names = (fields.get(f"input{i}") for i in range(len(fields)))
    return [name for name in names if isinstance(name, str)]


def _sent(ops: Sequence[Ran]) -> Iterator[Sent]:
    """Find the inputs that come from another task: named there as here less a suffix."""
    places: dict[str, tuple[str, ...]] = {}
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    for op in ops:
        known = places.get(op.name, ())
        if op.task not in known:
            tasks = (*known, op.task)
            places[op.name] = shared.setdefault(tasks, tasks)
    readers: dict[tuple[str, str, str], list[str]] = {}
    for op in ops:
        for name in op.inputs:
            tensor = _SUFFIX.sub("", name)
            there = places.get(tensor, ())
            if op.task in places.get(name, ()) or op.task in there:
                continue
            for origin in there:
                readers.setdefault((tensor, origin, op.task), []).append(op.name)
    for (tensor, origin, task), names in readers.items():
        yield Sent(tensor, origin, task, tuple(dict.fromkeys(names)), tensor)


def _bytes(trace: Events) -> dict[tuple[str, str], int]:
    """Return the bytes of the first result of each op, where the timeline shows memory."""
    sizes: dict[tuple[str, str], int] = {}
    for event in trace.events:
        process = trace.processes.get(event.pid, "")
        if event.ph != "O" or not process.endswith(_TENSORS):
            continue
        snapshot = event.fields.get("snapshot")
        told = snapshot.get("tensor_description") if isinstance(snapshot, dict) else None
        size = _BYTES.search(told) if isinstance(told, str) else None
        task = task_of(process)
        if size and task:
            sizes.setdefault((task, event.name or ""), int(size[1]))
    return sizes
