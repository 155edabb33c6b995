"""Programs drawn: the answer of a plan, executed again beside that of a rule of today."""

from typing import Any

from app.schemas.plans import PlanRequest
from app.schemas.problem import Problem
from app.services.program_exports import program_of
from solver.exports.programs.chrome import trace_of


def program_timeline(problem: Problem[PlanRequest], answer: Any, beside: str) -> dict[str, Any]:
    """Draw a program as a Chrome trace, with its memory, beside that of a rule of today.

    Raises
    ------
    InvalidPlan
        When the answer is no program of that graph.
    """
    trace, _ = trace_of(*program_of(problem, answer), beside)
    trace["otherData"]["lower_bound_us"] = answer["lower_bound_us"]
    return trace
