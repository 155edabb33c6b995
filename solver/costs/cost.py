"""What every cost can be asked."""

from collections.abc import Callable
from typing import Protocol, Self

from solver.units import FloatArray, IntArray


class Cost(Protocol):
    """Time of one launch on a channel [us]; 0 bytes cost 0."""

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""

    def minorants(self, total: int) -> list[tuple[float, float]]:
        """Pairs (a, c), a and c >= 0, with a + c s <= time(s) for 1 <= s <= ``total`` bytes."""

    def least(self, total: int) -> Callable[[IntArray], FloatArray]:
        """Return a bound on the total time [us] of launches of so many bytes.

        ``total`` is the most bytes that one launch can carry. For sizes S the function gives at
        most the least sum of time(n_k) over launches with n_1 + n_2 + ... >= S.
        """

    def oddness(self, total: int) -> float:
        """Largest share of a launch's time that others in its place save, up to ``total`` bytes.

        0 when time is non-decreasing and subadditive: then one launch is best by itself.
        """

    def thrifty(self, least: int, most: int) -> list[int]:
        """Sizes in ``least``..``most`` [bytes] that take less time per byte than those about them.

        The one of least time per byte first; of equal neighbours, and of equals, the largest.
        """

    def stretch(self, fixed: float, rest: float) -> Self:
        """Return the cost with its least time of a launch, and what is beyond it, so many times."""


def scale(cost: Cost, bandwidth: float = 1.0, startup: float = 1.0) -> Cost:
    """Return a cost with so many times the bandwidth and the start-up.

    The start-up is the least time of a launch: that of the smallest size.
    """
    return cost.stretch(startup, 1 / bandwidth)
