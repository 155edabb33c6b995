"""What is proven of the plan that is returned, and of the best time that was found."""

from solver.units import same

#: The plan's time equals the lower bound.
OPTIMAL = "optimal"

#: The best time found equals it; the plan takes at most a tolerance longer, for fewer launches.
WITHIN = "within"

#: Neither is proven.
FEASIBLE = "feasible"


def status_of(time: float, best_time: float, bound: float) -> str:
    """Name what is proven of a plan's time, the best time found, and a lower bound [us]."""
    if same(time, bound):
        return OPTIMAL
    return WITHIN if same(best_time, bound) else FEASIBLE
