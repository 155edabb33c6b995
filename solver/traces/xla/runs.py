"""The runs of a program on each device: its ops and collectives, from the events of a profile.

A GPU has its kernels on streams, each with the ``hlo_op`` that it is of; a TPU a line ``XLA Ops``;
both a line ``XLA Modules`` with the runs of programs. On a CPU an op has the device and the run
written beside it.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from solver.traces.profiler import Events, ProfilerEvent
from solver.traces.spans import last_begun, length_of
from solver.traces.xla.hlo import DONE, KINDS, START, Instruction, bytes_of_shape, instruction

_DEVICE = re.compile(r"/device:[A-Z]+:[0-9]{1,9}")
_ORDINAL = re.compile(r"[0-9]{1,9}")
_OPS, _MODULES, _STREAM = "XLA Ops", "XLA Modules", "Stream"
_NAMED = re.compile(r"(" + "|".join(KINDS) + r")(-start|-done)?(?:\..*)?")
_NCCL = re.compile(r"nccl\w*?(AllReduce|AllGather|ReduceScatter|AllToAll|Broadcast)", re.IGNORECASE)
_KERNELS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "collective-broadcast",
}
#: Ops whose time is that of the ops inside.
_OUTER = re.compile(r"(?:while|conditional|call)(?:\.\d+)?")


class DeviceOp(NamedTuple):
    """An op, or a collective with its end where that is an op of its own [us].

    Attributes
    ----------
    name
        Of the instruction.
    start, end
        When it ran: a collective in two parts from the start of one to the end of the other.
    opcode
        Of a collective, as HLO calls it; None of what computes.
    bytes, workers
        Of a collective, where its event has them.
    """

    name: str
    start: float
    end: float
    opcode: str | None = None
    bytes: int | None = None
    workers: int | None = None


class DeviceRun(NamedTuple):
    """A program run once on a device.

    Attributes
    ----------
    device, program
        Their names.
    parts
        By start.
    """

    device: str
    program: str
    parts: tuple[DeviceOp, ...]

    @property
    def length(self) -> float:
        """From the start of the first op to the end of the last [us]."""
        return length_of(self.parts)

    @property
    def communicates(self) -> float:
        """How long its collectives ran in all [us]."""
        return sum(part.end - part.start for part in self.parts if part.opcode)


def runs(
    trace: Events, programs: Mapping[str, dict[str, Instruction]]
) -> dict[str, list[DeviceRun]]:
    """Return the runs on each device by start, devices by name.

    Parameters
    ----------
    trace
        The events.
    programs
        Collectives of each program by name, and of any program those of the program ``""``: names
        that tell nothing are theirs.

    Notes
    -----
    O(events log events).
    """
    places: dict[tuple[str, str, str | float], list[DeviceOp]] = {}
    known: dict[str, dict[str, Instruction]] = {}
    for device, name, run, event, name_of_op, fields in _ops(trace):
        if name not in known:
            known[name] = programs.get(name, {}) | programs.get("", {})
        part = _part(event, name_of_op, fields, known[name])
        places.setdefault((device, name, run), []).append(part)
    result: dict[str, list[DeviceRun]] = {}
    for (device, name, _), ops in places.items():
        ops.sort(key=attrgetter("start"))
        if parts := tuple(_paired(ops)):
            result.setdefault(device, []).append(DeviceRun(device, name, parts))
    for some in result.values():
        some.sort(key=lambda run: run.parts[0].start)
    return dict(sorted(result.items(), key=lambda item: _number(item[0])))


def _number(device: str) -> tuple[str, int]:
    kind, _, number = device.rpartition(":")
    return kind, int(number)


def _ops(
    trace: Events,
) -> Iterator[tuple[str, str, str | float, ProfilerEvent, str, dict[str, object]]]:
    """Yield device, program, run, event, op and fields of each event that is an op."""
    modules = _modules(trace)
    devices = {pid for pid, name in trace.processes.items() if _DEVICE.fullmatch(name)}
    streams = {
        event.pid
        for event in trace.events
        if event.pid in devices
        and trace.threads.get((event.pid, event.tid), "").startswith(_STREAM)
        and isinstance(event.fields.get("hlo_op"), str)
    }
    for event in trace.events:
        if event.ph != "X":
            continue
        if event.pid in devices:
            device = trace.processes[event.pid]
            thread = trace.threads.get((event.pid, event.tid), "")
            wanted = _STREAM if event.pid in streams else _OPS
            fields = event.fields
            name = fields.get("hlo_op")
            if not isinstance(name, str):
                name = event.name if wanted == _OPS else None
            if thread.startswith(wanted) and name and not _OUTER.fullmatch(name):
                module = last_begun(modules.get(event.pid, ()), event.start)
                program, run = (module.name, module.start) if module else ("", 0.0)
                yield device, program, run, event, name, fields
        elif event.has("device_ordinal"):
            fields = event.fields
            name, number = fields.get("hlo_op"), str(fields.get("device_ordinal"))
            known = isinstance(name, str) and _ORDINAL.fullmatch(number)
            if known and not _OUTER.fullmatch(str(name)):
                program, own = str(fields.get("hlo_module", "")), str(fields.get("run_id", ""))
                yield f"/device:CPU:{number}", program, own, event, str(name), fields


class _Module(NamedTuple):
    """A program run once on a device [us]."""

    start: float
    end: float
    name: str


def _modules(trace: Events) -> dict[object, list[_Module]]:
    """Return the runs of programs, by process and start."""
    modules: dict[object, list[_Module]] = {}
    for event in trace.events:
        if event.ph == "X" and trace.threads.get((event.pid, event.tid)) == _MODULES:
            name = (event.name or "").partition("(")[0]
            modules.setdefault(event.pid, []).append(_Module(event.start, event.end, name))
    return {pid: sorted(some) for pid, some in modules.items()}


def _part(
    event: ProfilerEvent, name: str, fields: dict[str, object], program: Mapping[str, Instruction]
) -> DeviceOp:
    """Tell what an event is: by its HLO text, the program's, its name or its kernel's."""
    long, shape = fields.get("long_name"), fields.get("shape_with_layout")
    own = instruction(long) if isinstance(long, str) else None
    own = own or program.get(name)
    if own is not None:
        return DeviceOp(name, event.start, event.end, own.opcode, own.bytes, own.workers)
    named = _named(name)
    kernel = None if named else _NCCL.match(event.name or "")
    if named is None and kernel is None:
        return DeviceOp(name, event.start, event.end)
    opcode = named[1] if named else _KERNELS[kernel[1].lower()] if kernel else None
    size = None
    if opcode is not None and isinstance(shape, str) and not (named and named[2]):
        size = bytes_of_shape(opcode, shape)
    return DeviceOp(name, event.start, event.end, opcode, size)


@lru_cache(maxsize=4096)  # a program has few ops, and runs many times
def _named(name: str) -> re.Match[str] | None:
    return _NAMED.fullmatch(name.replace("_", "-"))


def _paired(parts: Iterable[DeviceOp]) -> Iterator[DeviceOp]:
    """Join the two parts of collectives: by number, else the first that is open."""
    result: list[DeviceOp] = []
    opened: dict[str, OrderedDict[str, int]] = {}
    for part in parts:
        named = _named(part.name)
        name = part.name.replace("_", "-") if named else ""
        if named and named[2] == START:
            opened.setdefault(named[1], OrderedDict()).setdefault(name, len(result))
        elif named and named[2] == DONE and opened.get(named[1]):
            some = opened[named[1]]
            same = some.pop(name.replace(DONE, START, 1), None)
            at = some.popitem(last=False)[1] if same is None else same
            result[at] = result[at]._replace(end=max(part.end, result[at].end))
            continue
        elif named and named[2] == DONE:
            continue
        result.append(part)
    yield from result
