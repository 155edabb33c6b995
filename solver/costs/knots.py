"""What can be said of a cost from its knots, the sizes between which it is simple.

Between two neighbouring knots, on whole bytes, a cost is linear or concave. So a line that is
below it at the knots is below it everywhere.
"""

from collections.abc import Callable, Sequence
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
    found = [(float(costs.min()), 0.0), (0.0, float((costs / sizes).min()))]
    for (x0, y0), (x1, y1) in pairwise(hull):
        c = (y1 - y0) / (x1 - x0)
        a = y0 - c * x0
        if a > 0 and c > 0:
            found.append((a, c))
    return [(float(np.min(costs - c * sizes)), c) if a > 0 else (a, c) for a, c in found]


def least(knots: Sequence[int], times: _Times) -> _Times:
    """Return the cost where it is non-decreasing and subadditive, else its minorants' maximum."""
    if is_plain(knots, times):
        return times
    lines = minorants(knots, times)
    return lambda sizes: np.where(sizes > 0, np.max([a + c * sizes for a, c in lines], axis=0), 0.0)


def is_plain(knots: Sequence[int], times: _Times) -> bool:
    """Tell whether T is non-decreasing and subadditive from the first knot to the last.

    T(x) + T(y) - T(x+y) is least where two of x, y, x+y are knots, in each cell that the knots cut
    out, when T is linear between them. It is so too when T is concave between some: where T(x+y)
    is linear the difference is concave; :class:`solver.costs.Piecewise` shows the rest.
    """
    sizes = np.array(knots, dtype=np.int64)
    costs = times(sizes)
    if np.any(np.diff(costs) < 0):
        return False
    x = sizes[:, None]
    pairs = [np.broadcast_to(sizes[None, :], (sizes.size, sizes.size)), sizes[None, :] - x]
    for y in pairs:
        inside = (y >= 1) & (x + y <= sizes[-1])
        excess = times(np.where(inside, x + y, 0)) - times(np.where(inside, y, 0))
        if np.any(inside & (excess > costs[:, None])):
            return False
    return True


def _turns_down(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) >= (c[1] - b[1]) * (b[0] - a[0])
