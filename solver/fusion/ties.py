"""Ties: of plans that take the same time, the one with the fewest launches is kept."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from solver.buckets import Launch
from solver.units import same

Plan = TypeVar("Plan")


def ceiling(least: float, bound: float) -> float:
    """Time that plans are compared with [us]: the bound where it is reached, else the least."""
    return bound if same(least, bound) else least


def ties(value: float, limit: float) -> bool:
    """Tell whether a time [us] is not above another one by more than the tolerance."""
    return value <= limit or same(value, limit)


def fewest(
    values: Mapping[Plan, float], bound: float, launches: Callable[[Plan], Iterable[Launch]]
) -> Plan:
    """Choose among plans: least time, then fewest launches, then most tensors as they are.

    Parameters
    ----------
    values
        Iteration time of each plan [us]. What takes the same time is told by the one tolerance;
        of plans that are alike in all the first one is kept.
    bound
        Lower bound on the iteration time [us]; plans that reach it take the same time.
    launches
        The launches of a plan.

    Notes
    -----
    A tensor is as it is when one launch carries it alone and whole.
    """
    limit = ceiling(min(values.values()), bound)

    def rank(plan: Plan) -> tuple[int, int]:
        sent = list(launches(plan))
        buckets = {launch.bucket for launch in sent}
        return len(sent), sum(len(bucket) for bucket in buckets) - len(buckets)

    return min((plan for plan, value in values.items() if ties(value, limit)), key=rank)
