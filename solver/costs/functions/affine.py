"""A cost that is a line."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solver.units import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Affine:
    """T(n) = startup + per_byte n for n > 0.

    Attributes
    ----------
    startup
        Fixed cost of a launch [us].
    per_byte
        Time per byte [us].
    """

    startup: float
    per_byte: float

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""
        return self.startup + self.per_byte * size if size > 0 else 0.0

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""
        return np.where(sizes > 0, self.startup + self.per_byte * sizes, 0.0)

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""
        if self.time(most) <= budget:
            return most
        room = budget - self.startup
        if room < self.per_byte:
            return 0
        guess = min(most, int(room / self.per_byte) + 1)
        while self.time(guess) > budget:  # at most a few steps of rounding
            guess -= 1
        return guess

    def minorants(self, total: int) -> list[tuple[float, float]]:
        """Return the cost itself."""
        return [(self.startup, self.per_byte)]

    def least(self, total: int) -> Callable[[IntArray], FloatArray]:
        """T itself: it is non-decreasing and subadditive."""
        return self.times

    def oddness(self, total: int) -> float:
        """Return 0: no launches save time in the place of one."""
        return 0.0

    def thrifty(self, least: int, most: int) -> list[int]:
        """Return the largest size: the start-up is paid once."""
        return [most]

    def stretch(self, fixed: float, rest: float) -> "Affine":
        """Return the cost with so many times the start-up and the time per byte."""
        return Affine(self.startup * fixed, self.per_byte * rest)
