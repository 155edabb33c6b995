"""What a reader takes, and what it returns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.errors import Fault, InvalidGraph, InvalidTrace
from solver.graph import Graph
from solver.traces.profiled import ProfiledOp
from solver.traces.report import Report

if TYPE_CHECKING:
    from solver.traces.dlc.records import Records


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What to read of files.

    Attributes
    ----------
    name
        Of the graph.
    step
        Which step, counted from 0, of a trace of several; None for the one of median length.
    parameters
        Name and bytes of each gradient in the reversed order in which buckets are filled: that of
        readiness, or of reversed registration where DistributedDataParallel keeps it;
        None when nobody knows, and then a bucket of a trace stays one tensor.
    rank
        Which file of several ranks the graph is of, counted from 0; None for the slowest rank, the
        one that the others wait for.
    device
        What runs a program that was not recorded, for a roofline, as
        :func:`solver.traces.hlo.devices.device_of` reads it; None where nothing is said.
    """

    name: str = ""
    step: int | None = None
    parameters: tuple[tuple[str, int], ...] | None = None
    rank: int | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class TraceChannel:
    """A channel of the graph as the files describe it.

    Attributes
    ----------
    name
        As in the graph.
    workers
        That share it; None when nothing says how many.
    source
        What name and workers were taken from, in a few words.
    """

    name: str
    workers: int | None
    source: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One recorded launch of a collective, to fit a cost to.

    Attributes
    ----------
    channel, kind, bytes
        As in the graph.
    time_us
        How long it held its channel [us]: the least over the ranks, which has the least waiting
        for other ranks in it.
    """

    channel: str
    kind: str
    bytes: int
    time_us: float


@dataclass(frozen=True, slots=True)
class Trace:
    """A graph read from files, with the report.

    Attributes
    ----------
    graph
        One training iteration; None when the files hold no durations to plan with.
    report
        What was done to get there.
    measured
        Id and recorded time [us] of each collective of the graph, where the files have times.
    channels
        Those of the graph, in the order of their first collective, where the files tell of them.
    samples
        The launches of all steps, by step and start, where the files have times; without those
        that began while another held their channel.
    profiled
        Rows of each step of several tasks, of one where one is asked for; there is no graph then.
    messages
        What each node of a DLC trace recorded, in the order of the files; empty of other formats.
    """

    graph: Graph | None
    report: Report
    measured: tuple[tuple[str, float], ...] = ()
    channels: tuple[TraceChannel, ...] = ()
    samples: tuple[Sample, ...] = ()
    profiled: tuple[tuple[ProfiledOp, ...], ...] = ()
    messages: "tuple[Records, ...]" = ()


def without_graph(trace: Trace, faults: Iterable[Fault]) -> Trace:
    """Leave out a graph that breaks rules: a warning says each, and the rest of the report stays.

    For files that tell more than a graph.
    """
    why = (f"There is no graph: {fault.detail}" for fault in faults)
    report = replace(
        trace.report,
        step=0,
        ops=0,
        collectives={},
        assumed=(),
        warnings=(*trace.report.warnings, *why),
        measured_us=None,
    )
    return Trace(None, report, messages=trace.messages)


#: Files (already unpacked) and what to read of them; raises InvalidTrace.
Reader = Callable[[Sequence[bytes], TraceOptions], Trace]


@contextmanager
def as_trace_faults(place: str = "") -> Iterator[None]:
    """Turn faults of the graph that was made of a file into faults of the file, at its pointer.

    Places in the graph mean nothing to who sent the file.

    Raises
    ------
    InvalidTrace
        When it cannot be planned: nothing to send, a value out of range, an id twice.
    """
    try:
        yield
    except InvalidGraph as error:
        faults = [Fault(place, fault.code, fault.detail) for fault in error.faults]
        raise InvalidTrace(faults) from None
