"""What a reader did to get to a graph: what was read, left out, put right and assumed."""

from collections.abc import Iterable
from dataclasses import dataclass

from solver.arrivals.report import ArrivalReport
from solver.graph import COMPUTE, Graph, Op
from solver.traces.communication import Communication
from solver.traces.dlc_report import DlcReport
from solver.traces.unsized import UnsizedLaunches, unsized_said


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
    unsized
        Launches of the step that are communication of unknown bytes: they keep their recorded
        time, and are not among the collectives.
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
    arrivals
        Which rank comes late to its collectives; None where the files do not tell of two ranks.
    """

    format: str
    steps: int
    step: int
    ops: int
    collectives: dict[str, Total]
    unsized: tuple[UnsizedLaunches, ...] = ()
    dropped: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    measured_us: float | None = None
    recorded_us: float | None = None
    communication: Communication | None = None
    dlc: DlcReport | None = None
    arrivals: ArrivalReport | None = None


def report_of(
    form: str,
    graph: Graph | None,
    *,
    steps: int = 1,
    step: int = 0,
    ops: int = 0,
    collectives: dict[str, Total] | None = None,
    unsized: Iterable[UnsizedLaunches] = (),
    dropped: Iterable[str] = (),
    repaired: Iterable[str] = (),
    assumed: Iterable[str] = (),
    warnings: Iterable[str] = (),
    measured_us: float | None = None,
    communication: Communication | None = None,
    dlc: DlcReport | None = None,
    arrivals: ArrivalReport | None = None,
) -> Report:
    """Report of a graph, whose ops and collectives are counted.

    Parameters
    ----------
    form
        Name of the format.
    graph
        None where the files have none: then the counts are ``ops`` and ``collectives``.
    steps, step, ops, collectives, dropped, repaired, assumed, warnings
        As in a :class:`Report`; the time of the step is rounded to nanoseconds.
    unsized
        Likewise; of each there is a warning.
    measured_us, communication, dlc, arrivals
        Likewise.
    """
    if graph is not None:
        ops, collectives = len(graph.ops), totals(graph.ops)
    unsized = tuple(unsized)
    return Report(
        format=form,
        steps=steps,
        step=step,
        ops=ops,
        collectives=collectives or {},
        unsized=unsized,
        dropped=tuple(dropped),
        repaired=tuple(repaired),
        assumed=tuple(assumed),
        warnings=(*warnings, *unsized_said(unsized)),
        measured_us=None if measured_us is None else round(measured_us, 3),
        communication=communication,
        dlc=dlc,
        arrivals=arrivals,
    )


def totals(ops: Iterable[Op]) -> dict[str, Total]:
    """Count the collectives among ops by kind, kinds in the order of their first."""
    by_kind: dict[str, Total] = {}
    for op in ops:
        if op.kind != COMPUTE:
            known = by_kind.get(op.kind, Total(0, 0))
            by_kind[op.kind] = Total(known.count + 1, known.bytes + (op.bytes or 0))
    return by_kind
