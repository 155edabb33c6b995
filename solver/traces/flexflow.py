"""Task graphs of FlexFlow's simulator: DOT of what each device computes and sends.

``node2 [label="{device_id=0|Pool2D_101|Forward|COMP_NODE|simulated_run_time=0.044}"]`` computes,
``node234 [label="{device_id=1|Comm from Update to Barrier|Comm|COMM_SEND_RECV_NODE|src_device_id=0|
dst_device_id=1|comm_size=92928|run_time=8.7e-05}"]`` sends bytes from one device to another, and
``node2 -> node13;`` is an edge. Times are milliseconds, of compute and of transfers alike: the
simulator adds them, and has bandwidths in bytes a millisecond. Those of transfers follow from
latency and bandwidth of the machine model that it was given, and nobody measured them.

All devices are in the graph: a stream each, in the order in which FlexFlow's simulator runs them,
and a channel for each pair of which one sends to the other.

References
----------
.. [1] FlexFlow, ``simulator.cc``: a task starts when it is ready and its device is free, those that
       were ready first come first, and every pair of devices has a link.
.. [2] FlexFlow, ``machine_model.cc``: bandwidths of links are given in GB/s, of 2^20 bytes a ms.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from sys import intern
from typing import Any, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import BROADCAST, COMPUTE, NETWORK, Op, build, first_of
from solver.limits import MAX_BYTES
from solver.traces.exit_check import TraceStep, checked
from solver.traces.files import SEEN, single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.order import Edge, topological_order
from solver.traces.report import report_of
from solver.traces.samples import samples_of
from solver.traces.sentences import counted
from solver.traces.trace import Trace, TraceChannel, TraceOptions, as_trace_faults
from solver.units import bytes_per_us

FORMAT = "flexflow"

_MARK = re.compile(rb"\|\s?(?:COMP_NODE|COMM_SEND_RECV_NODE)\s?\|")
_BEGIN = re.compile(r"\s*digraph\s+\w*\s*\{")
_STATEMENT = re.compile(
    r"\s*(?:node(\d{1,9})\s*\[(?:[^\]\"]|\"([^\"]*)\")*\]|node(\d{1,9})\s*->\s*node(\d{1,9}))\s*;?"
)
_END = re.compile(r"\s*\}\s*")
_COMPUTE, _SEND = "COMP_NODE", "COMM_SEND_RECV_NODE"
_DEVICE = re.compile(r"\d{1,9}")
#: Name, pass and kind stand at these places of a label.
_NAME, _PASS, _KIND, _FIELDS = 1, 2, 3, 4
#: A service takes so many channels; where there are more pairs, a device has one for all it sends.
_MOST_CHANNELS = 16

ASSUMED = (
    "The times are milliseconds, as FlexFlow's simulator has them, of compute and of transfers.",
    "The graph has all devices: a stream each, in the order in which the simulator runs them.",
    "A transfer between two devices is a broadcast of as many bytes on a channel of the two.",
)


class _Task(NamedTuple):
    """What a device computes, or sends to another [ms]."""

    number: int
    name: str
    device: str
    time: float
    target: str | None = None
    bytes: int = 0

    @property
    def where(self) -> tuple[str, str | None]:
        """What runs one of its tasks at a time: a device, or the link from one to another."""
        return self.device, self.target


def looks_like(content: bytes) -> bool:
    """Tell whether a file is a graph in DOT with FlexFlow's kinds of nodes."""
    return b"digraph" in content[:SEEN] and _MARK.search(content, 0, SEEN) is not None


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one task graph.

    The measured time of the step is that of FlexFlow's simulator, and the times of transfers are
    those of the file.

    Raises
    ------
    InvalidTrace
        With every node that cannot be read (pointers are ``/node12``), at text that is neither a
        node nor an edge, when an edge names no node, the nodes form a cycle, or nothing is sent.

    Notes
    -----
    O(characters + tasks log tasks).
    """
    tasks, after = _linked(single_text(files))
    order, length = _ran(tasks, after)
    channels = _channels([tasks[number] for number in order])
    idle = {n for n in order if tasks[n].target is not None and not tasks[n].bytes}
    ops = tuple(_ops([tasks[number] for number in order], after, channels, idle))
    del after  # as large as the graph that follows
    with as_trace_faults():
        graph = build(options.name, ops)
    sent = [task for n in order if (task := tasks[n]).target is not None and n not in idle]
    used = dict.fromkeys(channels[task.where] for task in sent)
    is_single = len(used) == 1 and NETWORK in used
    report = report_of(
        FORMAT,
        graph,
        dropped=[f"{counted(len(idle), 'transfer')} of 0 bytes: an order alone."] if idle else (),
        assumed=(*ASSUMED, *_modelled_said(sent), *_channels_said(channels)),
        measured_us=length * 1000,
    )
    samples = tuple(
        sample
        for task in sent
        for sample in samples_of(channels[task.where], BROADCAST, task.bytes, [task.time * 1000])
    )
    trace = Trace(
        graph,
        report,
        tuple((_id(task), round(task.time * 1000, 6)) for task in sent),
        tuple(TraceChannel(name, None if is_single else 2, "both ends of a link") for name in used),
        samples,
    )
    return checked(trace, TraceStep())


def _linked(text: str) -> tuple[dict[int, _Task], dict[int, Sequence[int]]]:
    """Return the tasks by number, and what each comes after."""
    tasks, edges = _parsed(text)
    ends = edges.keys()
    topological_order(tasks, lambda: (Edge(*each, f"/node{each[0]}") for each in ends), "node")
    none: list[int] = []
    after: dict[int, Any] = dict.fromkeys(tasks, none)
    for tail, head in ends:
        if after[head] is none:
            after[head] = [tail]
        else:
            after[head].append(tail)
    return tasks, after


def _id(task: _Task) -> str:
    return f"node{task.number} {task.name}"


def _ops(
    order: Sequence[_Task],
    after: Mapping[int, Sequence[int]],
    channels: Mapping[tuple[str, str | None], str],
    idle: set[int],
) -> Iterator[Op]:
    """Yield the tasks as they run; one that sends nothing is passed through."""
    known = {task.number: _id(task) for task in order}
    waits: dict[int, tuple[str, ...]] = {}
    for task in order:
        before = [
            name
            for number in after[task.number]
            for name in (waits[number] if number in idle else (known[number],))
        ]
        waits[task.number] = mine = tuple(dict.fromkeys(before))
        if task.number in idle:
            continue
        if task.target is None:
            time, stream = task.time * 1000, f"device {task.device}"
            yield Op(known[task.number], COMPUTE, time, None, mine, stream=stream)
        else:
            channel = channels[task.where]
            yield Op(known[task.number], BROADCAST, None, task.bytes, mine, channel)


def _ran(tasks: Mapping[int, _Task], after: Mapping[int, Sequence[int]]) -> tuple[list[int], float]:
    """Run the tasks as FlexFlow's simulator does; return them by start, and how long all took.

    The one that was ready first is next; ties go to the smaller number.
    """
    left = {number: len(before) for number, before in after.items()}
    following: dict[int, list[int]] = {}
    for number, before in after.items():
        for other in before:
            following.setdefault(other, []).append(number)
    ready = [(0.0, number) for number, count in left.items() if not count]
    heapify(ready)
    came = dict.fromkeys(tasks, 0.0)
    free: dict[tuple[str, str | None], float] = {}
    starts: list[tuple[float, float, int]] = []
    last = 0.0
    while ready:
        at, number = heappop(ready)
        task = tasks[number]
        start = max(at, free.get(task.where, 0.0))
        free[task.where] = end = start + task.time
        last = max(last, end)
        starts.append((start, at, number))
        for other in following.pop(number, ()):
            left[other] -= 1
            came[other] = max(came[other], end)
            if not left[other]:
                heappush(ready, (came[other], other))
    return [number for _, _, number in starts], last


def _channels(tasks: Sequence[_Task]) -> dict[tuple[str, str | None], str]:
    """Name the channel of each link: its own, else that of its sender, else one for all."""
    links = dict.fromkeys(task.where for task in tasks if task.target is not None)
    if len(links) <= _MOST_CHANNELS:
        return {link: f"{link[0]} to {link[1]}" for link in links}
    if len({origin for origin, _ in links}) <= _MOST_CHANNELS:
        return {link: f"from {link[0]}" for link in links}
    return dict.fromkeys(links, NETWORK)


def _modelled_said(sent: Sequence[_Task]) -> Iterator[str]:
    """Say which bandwidth the machine model has: that of the largest transfer."""
    largest = max(sent, key=lambda task: task.bytes, default=None)
    if largest is not None and largest.time:
        rate = largest.bytes / largest.time
        yield (
            "Times of transfers are those of the machine model that FlexFlow was given, not of a "
            f"network: {rate:.4g} bytes a ms ({rate / 1000 / bytes_per_us(1.0):,.0f} Gbit/s)."
        )


def _channels_said(channels: Mapping[tuple[str, str | None], str]) -> Iterator[str]:
    names = set(channels.values())
    if len(names) < len(channels):
        which = "one channel" if NETWORK in names else "a channel for each device that sends"
        yield f"The {len(channels):,} links between devices are {which} in the graph."


def _parsed(text: str) -> tuple[dict[int, _Task], dict[tuple[int, int], None]]:
    """Split a file in nodes and the ends of edges; raises with every fault."""
    tasks: dict[int, _Task] = {}
    edges: dict[tuple[int, int], None] = {}
    faults: list[Fault] = []
    begin = _BEGIN.match(text)
    at = begin.end() if begin else 0
    while statement := _STATEMENT.match(text, at):
        at = statement.end()
        number, label, tail, head = statement.groups()
        if tail is not None:
            edges[int(tail), int(head)] = None
            continue
        place = f"/node{int(number)}"
        task = _task(int(number), label or "")
        if isinstance(task, str):
            faults.append(Fault(place, FaultCode.WRONG_FORMAT, f"node{number}: {task}"))
        elif task.number in tasks:
            detail = f"node{number} is there twice."
            faults.append(Fault(place, FaultCode.DUPLICATE_ID, detail))
        else:
            tasks[task.number] = task
    if begin is None or not _END.fullmatch(text, at):
        rest = text[at:].lstrip()
        line = text.count("\n", 0, len(text) - len(rest)) + 1
        is_short = begin is not None and not rest
        code = FaultCode.TRUNCATED if is_short else FaultCode.WRONG_FORMAT
        what = "the graph does not end: cut short?" if is_short else "neither a node nor an edge."
        faults.append(Fault(f"/{line}", code, f"Line {line}: {what}"))
    if faults:
        raise InvalidTrace(first_of(iter(faults)))
    return tasks, edges


def _task(number: int, label: str) -> _Task | str:
    """Read a node's label, or say what is wrong with it."""
    fields = [field.strip() for field in label.strip().strip("{}").split("|")]
    values = dict(field.split("=", 1) for field in fields if field.count("=") == 1)
    if len(fields) <= _FIELDS or fields[_KIND] not in {_COMPUTE, _SEND}:
        return f"a node is a {_COMPUTE} or a {_SEND}, with a device and a name."
    is_sent = fields[_KIND] == _SEND
    time = _amount(values.get("run_time" if is_sent else "simulated_run_time"))
    if time is None:
        return f"{'run_time' if is_sent else 'simulated_run_time'} must be a number, 0 or more."
    name = fields[_NAME] if is_sent else f"{fields[_NAME]} {fields[_PASS]}"
    ends = ("src_device_id", "dst_device_id") if is_sent else ("device_id",)
    devices = [values.get(end, "") for end in ends]
    for end, device in zip(ends, devices, strict=True):
        if not _DEVICE.fullmatch(device):
            return f"{end} must be the number of a device."
    if not is_sent:
        return _Task(number, intern(name), intern(devices[0]), time)
    size = _amount(values.get("comm_size"))
    if size is None or size > MAX_BYTES or size != int(size):
        return "comm_size must be a whole number of bytes, from 0 to 2^60."
    return _Task(number, intern(name), intern(devices[0]), time, intern(devices[1]), int(size))


def _amount(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="FlexFlow's task graphs: one file of DOT",
    versions="those with `COMP_NODE` and `COMM_SEND_RECV_NODE`, as Chakra's converter takes them",
    reads="tasks of all devices with their times, transfers with bytes and times, edges",
    assumes=(
        "milliseconds; a stream for each device, in the order of FlexFlow's simulator; a channel "
        "for each link; transfers are broadcasts between two"
    ),
    refuses="cycles, other kinds of nodes, graphs that send nothing",
    looks_like=looks_like,
    read=read,
    counted="lines",
    signs=names("digraph", "COMP_NODE"),
    is_graph=True,
)
