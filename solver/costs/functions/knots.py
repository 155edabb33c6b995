"""What can be said of a cost from its knots, the sizes between which it is simple.

Between two neighbouring knots, on whole bytes, a cost is linear or concave. So a line that is
below it at the knots is below it everywhere.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from solver.units import FloatArray, IntArray

_Times = Callable[[IntArray], FloatArray]


def minorants(knots: Sequence[int], times: _Times) -> list[tuple[float, float]]:
    """Edges of the lower hull over the knots, and the ray of least time per byte.

    Each is lowered until no knot is below it, so that rounding makes none of them invalid.
    """
    sizes = np.array(knots, dtype=np.int64)
    costs = times(sizes)
    hull: list[tuple[float, float]] = []
    for x, y in zip(sizes.tolist(), costs.tolist(), strict=True):
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    lines = [(float(costs.min()), 0.0), (0.0, float((costs / sizes).min()))]
    for (x0, y0), (x1, y1) in pairwise(hull):
        c = (y1 - y0) / (x1 - x0)
        a = y0 - c * x0
        if a > 0 and c > 0:
            lines.append((a, c))
    return [(float(np.min(costs - c * sizes)), c) if a > 0 else (a, c) for a, c in lines]


def least(knots: Sequence[int], times: _Times) -> _Times:
    """Return the cost where it is non-decreasing and subadditive, else its minorants' maximum."""
    if not oddness(tuple(knots), times):
        return times
    lines = minorants(knots, times)
    return lambda sizes: np.where(sizes > 0, np.max([a + c * sizes for a, c in lines], axis=0), 0.0)


@lru_cache(maxsize=64)
def oddness(knots: tuple[int, ...], times: _Times) -> float:
    """Return the largest share of a launch's time that other launches save, up to the last knot.

    The others carry the same bytes as two launches, or as equal ones of a knot's size or one such
    larger launch. It is 0 if and only if T is non-decreasing and subadditive.

    Two launches save most where two of x, y, x+y are knots, in each cell that the knots cut out:
    (T(x) + T(y)) / T(x+y) is least at a vertex when T is linear between them. It is so too when T
    is concave between some: where T(x+y) is linear T(x) + T(y) - c T(x+y) is concave for each c;
    :class:`solver.costs.Piecewise` shows the rest.

    Notes
    -----
    O(k^2) for k knots, O(k) memory; what was asked last is kept, for it is asked more than once.
    """
    sizes = np.array(knots, dtype=np.int64)
    costs = times(sizes)
    most = 0.0
    for i, (x, time) in enumerate(zip(knots, costs.tolist(), strict=True)):
        fit = int(np.searchsorted(sizes, sizes[-1] - x, side="right"))  # x + y is in reach
        most = max(
            most,
            _saved(costs, -(-sizes // x) * time),
            _saved(times(x + sizes[i:fit]), time + costs[i:fit]),
            _saved(costs[i + 1 :], time + times(sizes[i + 1 :] - x)),
        )
    return most


def thrifty(knots: Sequence[int], times: _Times) -> list[int]:
    """Return the sizes that take less time per byte than those about them, the least first.

    Of equal ones that are neighbours the largest counts, and the larger one comes first. They are
    knots, for a concave function that is above a ray at both ends is above it in between.
    """
    sizes = np.array(knots, dtype=np.int64)
    rates = times(sizes) / sizes
    about = np.concatenate([[np.inf], rates, [np.inf]])
    found = np.flatnonzero((rates <= about[:-2]) & (rates < about[2:]))[::-1]
    return [int(size) for size in sizes[found][np.argsort(rates[found], kind="stable")]]


def _saved(one: FloatArray, others: FloatArray) -> float:
    """Largest share of some launches' time that others in their place save; 0 when none do."""
    saved = np.maximum(one - others, 0.0) / np.maximum(one, np.finfo(np.float64).tiny)
    return float(np.max(saved, initial=0.0))


def _turns_down(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) >= (c[1] - b[1]) * (b[0] - a[0])
