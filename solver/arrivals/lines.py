"""Lines of least absolute deviations: points far from the others do not move them."""

import numpy as np

from solver.arrivals.arrival import Floats

_ROUNDS = 30
#: Of so few points all pairs are tried.
_FEW = 12
#: A line has come to rest when a round moves it by less than this share of what is near.
_RESTS = 1e-3


def least_absolute(x: Floats, y: Floats, weight: Floats, near: float) -> tuple[float, float]:
    r"""Return where a line is at 0, and its slope.

    Minimises :math:`\sum w |a + b x - y|`: of few points by the best line through two of them, as a
    best one is; of more as least squares that are weighted anew in each round, from the median
    slope from the lower half of the points by x to the upper.

    Parameters
    ----------
    x, y
        Points, two at least.
    weight
        Of each.
    near
        Points nearer than this, after weighting, weigh no more.

    Notes
    -----
    O(n log n) for n points.
    """
    if len(x) <= _FEW:
        return _through_two(x, y, weight)
    order = np.argsort(x, kind="stable")
    low, high = order[: len(x) // 2], order[-(len(x) // 2) :]
    apart = x[high] - x[low]
    rises = apart > 0
    slope = float(np.median((y[high] - y[low])[rises] / apart[rises])) if rises.any() else 0.0
    start = float(np.median(y - slope * x))
    for _ in range(_ROUNDS):
        own = weight / np.maximum(weight * np.abs(y - start - slope * x), near)
        whole = float(own.sum())
        middle, mean = float(own @ x) / whole, float(own @ y) / whole
        over = own * (x - middle)
        square = float(over @ (x - middle))
        steeper = float(over @ (y - mean)) / square if square > 0 else slope
        at = mean - steeper * middle
        moved = abs(at - start) + abs(steeper - slope) * float(np.abs(x).max())
        start, slope = at, steeper
        if moved * float(weight.max()) < _RESTS * near:
            break
    return start, slope


def _through_two(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    one, other = np.triu_indices(len(x), 1)
    apart = x[other] - x[one]
    level = apart == 0
    slopes = np.where(level, 0.0, (y[other] - y[one]) / np.where(level, 1.0, apart))
    starts = y[one] - slopes * x[one]
    off = np.abs(starts[:, None] + slopes[:, None] * x - y) @ weight
    best = int(np.argmin(off))
    return float(starts[best]), float(slopes[best])
