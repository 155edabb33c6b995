"""Programs drawn: the answer of a plan, executed again beside the graph's own order."""

from typing import Any

from app.schemas.plans import PlanRequest
from app.schemas.problem import Problem
from app.services.program_exports import program_of
from solver.exports.programs.chrome import trace_of


def program_timeline(problem: Problem[PlanRequest], answer: Any) -> dict[str, Any]:
    """Draw a program as a Chrome trace, with its memory, beside the order of the graph.

    Raises
    ------
    InvalidPlan
        When the answer is no program of that graph.
    """
    trace, _ = trace_of(*program_of(problem, answer))
    trace["otherData"]["lower_bound_us"] = answer["lower_bound_us"]
    return trace
