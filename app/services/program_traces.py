"""Programs drawn: the answer of a plan, executed again beside the graph's own order."""

from typing import Any

from app.services.program_exports import program_of
from app.services.program_problems import Asked
from solver.exports.programs.chrome import trace_of


def program_timeline(problem: Asked, answer: Any) -> dict[str, Any]:
    """Draw a program as a Chrome trace, with its memory, beside the order of the graph.

    Raises
    ------
    InvalidPlan
        When the answer is no program of that graph.
    """
    trace, _ = trace_of(*program_of(problem, answer))
    if (bound := answer.get("lower_bound_us")) is not None:
        trace["otherData"]["lower_bound_us"] = bound
    return trace
