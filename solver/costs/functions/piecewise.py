"""A cost that rises with the logarithm of the bytes, then with the bytes."""

from bisect import bisect_right
from dataclasses import dataclass
from math import log2

import numpy as np

from solver.costs.functions.knotted import Knotted
from solver.units import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class PiecewiseCost:
    """What was fitted to samples (OSF 18); nothing is assumed at the threshold.

    Attributes
    ----------
    threshold_bytes
        Size from which time is linear, at least 1.
    log_us
        a1: time of each doubling below the threshold [us], >= 0.
    log_constant_us
        b1: time of one byte if it follows the logarithm [us]; may be negative.
    us_per_byte
        a2: time per byte from the threshold on [us], >= 0.
    constant_us
        b2: fixed time from the threshold on [us].
    least_us
        Nothing takes less: time of the smallest sample [us], > 0.
    """

    threshold_bytes: int
    log_us: float
    log_constant_us: float
    us_per_byte: float
    constant_us: float
    least_us: float


@dataclass(frozen=True, slots=True)
class Piecewise(Knotted):
    """T(n) = startup + max(least, a1 log2 n + b1), from the threshold on max(least, a2 n + b2).

    T rises on both sides of the threshold, and may jump up or down there. On each side it is flat
    at first, then concave or linear. So with the ends of these stretches for knots a line below T
    there is below T everywhere, for a concave function is above its chords.

    Two launches save most where two of x, y, x+y are knots, also where T(x+y) is logarithmic:
    T(x) + T(y) - c T(x+y), with a c <= 1, then falls with an x in the flat stretch and rises with
    an x in the logarithmic one, T' being less at x+y than at x, and the same with y.

    Attributes
    ----------
    curve
        What was fitted.
    startup
        Fixed cost of a launch [us] that the measurement did not contain.
    """

    curve: PiecewiseCost
    startup: float

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""
        if size <= 0:
            return 0.0
        curve = self.curve
        if size < curve.threshold_bytes:
            time = curve.log_us * log2(size) + curve.log_constant_us
        else:
            time = curve.us_per_byte * size + curve.constant_us
        return self.startup + max(curve.least_us, time)

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""
        curve = self.curve
        time = np.where(
            sizes < curve.threshold_bytes,
            curve.log_us * np.log2(np.maximum(sizes, 1)) + curve.log_constant_us,
            curve.us_per_byte * sizes + curve.constant_us,
        )
        return np.where(sizes > 0, self.startup + np.maximum(curve.least_us, time), 0.0)

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""
        for sizes in reversed(self._sides(most)):
            if count := bisect_right(sizes, budget, key=self.time):
                return sizes[count - 1]
        return 0

    def stretch(self, fixed: float, rest: float) -> "Piecewise":
        """Return the cost with its least time of a launch, and what is beyond it, so many times."""
        curve = self.curve
        least = min(self.time(1), self.time(curve.threshold_bytes)) - self.startup
        shift = least * (fixed - rest)
        return Piecewise(
            PiecewiseCost(
                curve.threshold_bytes,
                curve.log_us * rest,
                curve.log_constant_us * rest + shift,
                curve.us_per_byte * rest,
                curve.constant_us * rest + shift,
                least * fixed,
            ),
            self.startup * fixed,
        )

    def _sides(self, most: int) -> tuple[range, range]:
        """Sizes in 1..most below the threshold, and from it on."""
        threshold = self.curve.threshold_bytes
        return range(1, min(threshold, most + 1)), range(threshold, most + 1)

    def _knots(self, most: int) -> list[int]:
        """Sizes in 1..most between which time is flat, concave or linear, ends included."""
        knots = set()
        for sizes in filter(None, self._sides(most)):
            flat = bisect_right(sizes, self.time(sizes[0]), key=self.time)
            knots |= {sizes[0], sizes[flat - 1], *sizes[flat : flat + 1], sizes[-1]}
        return sorted(knots)
