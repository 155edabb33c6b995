"""Profiled steps of a trace of training through parameter servers, as they are posted."""

from typing import Any, NamedTuple

from app.errors import InvalidRequest
from app.limits import MAX_PROFILED_STEPS, MAX_TRACE_STEP_EDGES
from app.reading.requests import checked_plain
from app.reading.step_faults import step_faults
from app.schemas.base import RequestModel
from app.schemas.profiled_steps import ProfiledStepBody, steps_json
from solver.parameter_server.of_trace import trace_steps
from solver.traces import Trace, TraceOptions
from solver.traces.tensorflow.reader import NO_GRAPH


class _Steps(RequestModel):
    steps: list[ProfiledStepBody]


class StepsOut(NamedTuple):
    """Steps as JSON, None where there are none, and what was assumed for them."""

    steps: list[dict[str, Any]] | None
    assumed: tuple[str, ...]


def steps_out(trace: Trace, options: TraceOptions) -> StepsOut | None:
    """Make steps of a trace that was read with these options; None of one of anything else.

    Raises
    ------
    InvalidTrace
        When there are none, or they break a rule of steps.
    InvalidRequest
        When they could not be posted: too many ops, or a name that is too long.
    """
    made = trace_steps(trace, options, MAX_PROFILED_STEPS, MAX_TRACE_STEP_EDGES)
    if made is None:
        return None
    steps = steps_json(made.steps)
    if faults := step_faults(checked_plain({"steps": steps}, _Steps).steps):
        raise InvalidRequest(faults)
    return StepsOut(steps, made.assumed)


def notes_on(trace: Trace, made: StepsOut) -> tuple[str, ...]:
    """Say what was assumed for steps, by the reader too where it read nothing but steps."""
    report = trace.report
    said = () if trace.graph else (*report.assumed, *report.warnings)
    return (*(line for line in said if line != NO_GRAPH), *made.assumed)
