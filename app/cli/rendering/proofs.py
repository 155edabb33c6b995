"""What is proven of a plan, beside its time."""

from app.schemas.plans import PlanAnswer
from solver.bounds.status import OPTIMAL, WITHIN
from solver.wording import ms


def proven(answer: PlanAnswer) -> str:
    """Say whether a plan equals the bound, or takes longer than the best for few launches."""
    if answer.status == OPTIMAL:
        return "optimal: equals the lower bound"
    if answer.best_time_us is None or answer.best_time_us >= answer.iteration_time_us:
        return ""
    best = ms(answer.best_time_us)
    if answer.status == WITHIN:
        return f"few launches; the best time, {best}, equals the lower bound"
    return f"few launches; the best time found is {best}"
