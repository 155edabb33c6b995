"""What a gap between a time and its lower bound says, on both sides."""

from solver.bounds.status import OPTIMAL, WITHIN


def gap_remark(status: str, gap: float | None) -> str:
    """Say that a gap is what can be gained at most; nothing of a time that is proven optimal.

    The optimum lies between the bound and the time. How much of a gap is a plan's loss, and how
    much the bound's, is known only once one of the two has met the other.
    """
    if status == OPTIMAL or not gap:
        return ""
    if status == WITHIN:
        return "the price of few launches: a plan that was found attains the bound"
    return "the most that any plan could gain, perhaps nothing: the bound may be too low"
