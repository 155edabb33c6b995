"""Programs drawn: the answer of a plan, executed again beside that of a rule of today."""

from typing import Any

from app.services.program_exports import program_of
from app.services.program_problems import CheckedProgram
from solver.exports.programs.chrome import trace_of


def program_timeline(
    problem: CheckedProgram, answer: Any, beside: str | None = None
) -> dict[str, Any]:
    """Draw a program as a Chrome trace, with its memory, beside that of a rule of today.

    None stands for the compiler's.

    Raises
    ------
    InvalidPlan
        When the answer is no program of that graph.
    """
    told = program_of(problem, answer)
    trace, _ = trace_of(told.problem, told.program, beside=beside, as_given=told.as_given)
    if (bound := answer.get("lower_bound_us")) is not None:
        trace["otherData"]["lower_bound_us"] = bound
    return trace
