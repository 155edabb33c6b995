"""The check that every reader's trace passes before it is returned.

A step of which the times were recorded is simulated as it was recorded: where that takes another
time than the step did, something of it is not in the graph. Nothing is refused.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from solver.graph import Graph, RecordedStep
from solver.traces.recorded import recorded_time
from solver.traces.report import Report
from solver.traces.trace import Trace

#: From what share of the measured time on a difference is no measurement's error.
_APART = 0.03

#: Given a trace with both times of its step, sentences of what is assumed, and warnings.
Explain = Callable[[Trace], tuple[Iterable[str], Iterable[str]]]


class TraceStep(NamedTuple):
    """How the step of a trace ran.

    Attributes
    ----------
    explain
        What the format says of the comparison; None where it says nothing.
    graph
        The step as it ran, of the same collectives; None where that is the trace's graph.
    """

    explain: Explain | None = None
    graph: Graph | None = None


def checked(trace: Trace, step: TraceStep | None = None) -> Trace:
    """Return a trace with how long its step takes as it was recorded, and what there is to say.

    Its graph keeps both times (:class:`solver.graph.RecordedStep`).

    Parameters
    ----------
    trace
        As its reader made it.
    step
        Of a format that records times; None of any other, whose trace stays as it is.

    Notes
    -----
    O(ops + edges).
    """
    return trace if step is None else _keeping(_simulated(trace, step))


def _keeping(trace: Trace) -> Trace:
    """Return a trace whose graph keeps what was recorded of its step."""
    measured, replayed = trace.report.measured_us, trace.report.recorded_us
    if trace.graph is None or (measured is None and replayed is None):
        return trace
    unsized = trace.report.unsized
    recorded = RecordedStep(
        measured,
        replayed,
        sum(each.launches for each in unsized),
        round(sum(each.time_us for each in unsized), 3),
    )
    return replace(trace, graph=replace(trace.graph, recorded=recorded))


def _simulated(trace: Trace, step: TraceStep) -> Trace:
    """Return a trace with the time of its step, simulated as it was recorded."""
    report = trace.report
    ran = trace if step.graph is None else replace(trace, graph=step.graph)
    try:
        recorded = round(recorded_time(ran), 3)
    except ValueError as error:
        said = f"The step cannot be simulated as recorded: {error}"
        return replace(trace, report=replace(report, warnings=(*report.warnings, said)))
    trace = replace(trace, report=replace(report, recorded_us=recorded))
    if step.explain is None:
        return trace
    assumed, warnings = step.explain(trace)
    report = replace(
        trace.report,
        assumed=(*report.assumed, *assumed),
        warnings=(*report.warnings, *warnings),
    )
    return replace(trace, report=report)


def is_far(report: Report) -> bool:
    """Tell whether the simulation of the recorded step is far from what was measured."""
    measured, recorded = report.measured_us, report.recorded_us
    if not measured or recorded is None:
        return False
    return abs(recorded - measured) > _APART * measured
