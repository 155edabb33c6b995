"""What a reader takes and what it returns: the graph, and what it did to get there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.errors import Fault, InvalidGraph, InvalidTrace
from solver.graph import COMPUTE, Graph, Op
from solver.traces.communication import Communication
from solver.traces.dlc_report import DlcReport
from solver.traces.profiled import ProfiledOp

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
    """

    name: str = ""
    step: int | None = None
    parameters: tuple[tuple[str, int], ...] | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """Collectives of one kind: how many, and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """What was read, left out and assumed.

    Attributes
    ----------
    format
        Name of the format.
    steps
        Steps (iterations) that the files hold.
    step
        The one that was read, counted from 0.
    ops
        Ops of the graph.
    collectives
        Collectives of the graph, by kind.
    dropped
        One sentence for each thing left out.
    repaired
        One sentence for each thing that was wrong in the file and was put right.
    assumed
        One sentence for each thing that the file does not say.
    warnings
        One sentence for each thing that a plan of this graph cannot rely on.
    measured_us
        How long the step took when it was recorded [us]; None where the files do not tell.
    recorded_us
        How long the graph takes with the recorded times of its collectives [us]; None where the
        files do not tell.
    communication
        Where the time of communication went; None where the format does not tell.
    dlc
        What a DLC trace tells of phases, overheads and messages; None of other formats.
    """

    format: str
    steps: int
    step: int
    ops: int
    collectives: dict[str, Total]
    dropped: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    measured_us: float | None = None
    recorded_us: float | None = None
    communication: Communication | None = None
    dlc: DlcReport | None = None


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


def totals(ops: Iterable[Op]) -> dict[str, Total]:
    """Count the collectives among ops by kind, kinds in the order of their first."""
    by_kind: dict[str, Total] = {}
    for op in ops:
        if op.kind != COMPUTE:
            known = by_kind.get(op.kind, Total(0, 0))
            by_kind[op.kind] = Total(known.count + 1, known.bytes + (op.bytes or 0))
    return by_kind


@contextmanager
def as_trace_faults() -> Iterator[None]:
    """Turn faults of the graph that was made of a file into faults of the file.

    Raises
    ------
    InvalidTrace
        When it cannot be planned: nothing to send, a value out of range, an id twice.
    """
    try:
        yield
    except InvalidGraph as error:
        faults = [Fault("", fault.code, fault.detail) for fault in error.faults]
        raise InvalidTrace(faults) from None
