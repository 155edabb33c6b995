"""A cost that was measured at some sizes."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from solver.costs.functions.knotted import Knotted
from solver.units import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class MeasuredCost(Knotted):
    """A table of measured times, linear between its points.

    Constant below the first point; beyond the last, the slope between it and the point nearest
    half its size (MODEL.md section 2). Every launch pays ``startup`` on top.

    Attributes
    ----------
    sizes
        Bytes, strictly ascending.
    measured
        Times [us], positive.
    slope
        Time per byte [us] beyond the last point.
    startup
        Fixed cost of a launch [us] that the measurement did not contain.
    """

    sizes: tuple[int, ...]
    measured: tuple[float, ...]
    slope: float
    startup: float

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""
        if size <= 0:
            return 0.0
        last = len(self.sizes) - 1
        at = bisect_right(self.sizes, size) - 1
        if at < 0:
            return self.startup + self.measured[0]
        if at == last:
            return self.startup + self.measured[last] + (size - self.sizes[last]) * self.slope
        slope = (self.measured[at + 1] - self.measured[at]) / (self.sizes[at + 1] - self.sizes[at])
        return self.startup + self.measured[at] + (size - self.sizes[at]) * slope

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""
        inside = np.interp(sizes, self.sizes, self.measured)
        beyond = np.maximum(sizes - self.sizes[-1], 0) * self.slope
        return np.where(sizes > 0, self.startup + inside + beyond, 0.0)

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""
        if self.time(most) <= budget:
            return most
        for low, high in reversed(list(pairwise(self._knots(most)))):
            if self.time(low) <= budget:  # and time(high) is not; it is linear in between
                sizes = range(low, high)
                return sizes[bisect_right(sizes, budget, key=self.time) - 1]
        return 0

    def stretch(self, fixed: float, rest: float) -> "MeasuredCost":
        """Return the cost with its least time of a launch, and what is beyond it, so many times."""
        shift = min(self.measured) * (fixed - rest)
        return MeasuredCost(
            self.sizes,
            tuple(time * rest + shift for time in self.measured),
            self.slope * rest,
            self.startup * fixed,
        )

    def _knots(self, most: int) -> list[int]:
        """Sizes in 1..most between which time is linear, ends included."""
        return sorted({1, most, *(size for size in self.sizes if 1 <= size <= most)})
