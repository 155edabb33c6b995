"""What one rank did, taken from its events: work, launches, collectives, passes, waits."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from solver.traces.kineto.communication_kernels import Family
from solver.traces.kineto.events import KinetoEvent
from solver.traces.kineto.groups import ProcessGroup

#: What PyTorch calls the event, and an execution trace the node, with all that a call was given.
RECORD = "record_param_comms"
_ACCUMULATE = "AccumulateGrad"


class CpuSpan(NamedTuple):
    """Something that ran on a CPU thread [us]."""

    start: float
    end: float
    thread: str
    event: KinetoEvent


class DeviceWork(NamedTuple):
    """A kernel or copy on a GPU, or an op where there is no GPU [us].

    Attributes
    ----------
    start, end
        When it ran.
    launched
        When the CPU asked for it.
    thread
        What asked.
    stream
        Where it ran.
    """

    start: float
    end: float
    launched: float
    thread: str
    stream: str


class RecordedCollective(NamedTuple):
    """A collective as it was recorded: its kernel, with all that may name its size.

    Attributes
    ----------
    work
        When and where it ran.
    kernel
        What ran: a kernel, or an annotation where there is no GPU.
    record
        PyTorch's ``record_param_comms`` around the launch.
    note
        The library's annotation around the launch: ``nccl:all_reduce``.
    call
        The op that was called: ``c10d::allreduce_``.
    family
        Of a kernel that is not NCCL's.
    """

    work: DeviceWork
    kernel: KinetoEvent
    record: KinetoEvent | None
    note: KinetoEvent | None
    call: KinetoEvent | None = None
    family: Family | None = None


class Unread(NamedTuple):
    """Kernels that look like communication, and are compute in the graph all the same.

    Attributes
    ----------
    name
        Of the kernel.
    launches, time
        How many, and how long they ran in all [us].
    """

    name: str
    launches: int
    time: float


class Wait(NamedTuple):
    """A thread asks that a collective be done."""

    at: float
    thread: str


@dataclass(slots=True)
class RankRecording:
    """One rank's file.

    Attributes
    ----------
    steps
        Number, start and end of each ``ProfilerStep``, by start.
    works
        All that computes, by launch.
    launches
        Collectives, by start on their channel.
    backward
        Autograd's calls, by start; those of ``AccumulateGrad`` among them.
    forward
        The ops with a sequence number, by that number and by start; not autograd's.
    optimizer
        The optimizer's steps, by start.
    waits
        By time.
    sharding
        FSDP2's annotations, by start.
    is_gpu
        Whether the work ran on a GPU.
    lost
        Kernels of which no launch was recorded.
    barriers
        Collectives that carry nothing, and are left out.
    workers
        Ranks of the job; None when nothing says it.
    groups
        Its process groups, where the file lists them.
    unread
        What may be a collective and is none in the graph, by name.
    """

    steps: list[tuple[int, float, float]] = field(default_factory=list)
    works: list[DeviceWork] = field(default_factory=list)
    collectives: list[RecordedCollective] = field(default_factory=list)
    backward: list[CpuSpan] = field(default_factory=list)
    forward: dict[int, list[CpuSpan]] = field(default_factory=dict)
    optimizer: list[CpuSpan] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    sharding: list[CpuSpan] = field(default_factory=list)
    is_gpu: bool = True
    lost: int = 0
    barriers: int = 0
    workers: int | None = None
    groups: tuple[ProcessGroup, ...] = ()
    unread: list[Unread] = field(default_factory=list)


def sequence(span: CpuSpan) -> int | None:
    """Return the sequence number that a forward op shares with its backward op."""
    return span.event.args.sequence if span.event.args else None


def accumulates(span: CpuSpan) -> bool:
    """Tell whether a call of autograd's stores a parameter's gradient."""
    return _ACCUMULATE in (span.event.name or "")


def span_of(event: KinetoEvent) -> CpuSpan:
    """Return an event of a CPU thread as a span."""
    start = event.ts or 0.0
    end = start + max(event.dur or 0.0, 0.0)
    return CpuSpan(start, end, thread_name(event.pid, event.tid), event)


@lru_cache(maxsize=4_096)
def thread_name(process: int | str | None, thread: int | str | None) -> str:
    """Return what a thread is called here."""
    return f"{process} {thread}"


def by_thread(spans: Iterable[CpuSpan]) -> dict[str, list[CpuSpan]]:
    """Sort spans by thread and start."""
    threads: dict[str, list[CpuSpan]] = {}
    for span in sorted(spans, key=attrgetter("start")):
        threads.setdefault(span.thread, []).append(span)
    return threads
