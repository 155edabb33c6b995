r"""A lower bound from both ends: the recursion of :mod:`solver.fusion.chain.nested`, relaxed.

Lower the tails so that they ascend along the chain (the least of all later ones). Call the last
tensor of a launch's bucket its top, and the launch that carries the last tensor the core. Launches
before the core with a top of k or later all start at r_k or later, those after it all end q_k or
more before the end of the iteration, and those with a top of k or later carry at least the bytes of
tensors k and later. So, taking tops in ascending order, with X the time by which the launches
before the core can be done and Y its mirror image, a group of neighbouring tensors with top k and s
bytes turns (X, Y) into (max(X, r_k) + u, max(Y, q_k) + v) for some u + v = a + c s at best: one
start-up, its bytes on either side. The last group closes with max(X, r_n) + a + c s + max(Y, q_n).

The least close over all cuts and all u is computed on a grid over X, every rounding in favour of
the schedule, so it bounds every fusion, partition and order.
"""

import numpy as np

from solver.chain import Chain
from solver.units import FloatArray, IntArray

#: Most groups of neighbouring tensors; more tensors are taken together, at their least r and q.
_BLOCKS = 160


#: Cells of the grid, about.
_CELLS = 48


def nested_bound(chain: Chain, a: float, c: float) -> float:
    """Bound the iteration time [us] when n bytes take a + c n or more, a and c not negative.

    O(blocks^2 cells) in numpy.
    """
    release, tail, prefix = _blocks(chain)
    cells = _cells(release, a + c * float(prefix[-1]))
    below = np.concatenate([[0.0], cells[:-1]])  # X of a label in a cell is above this
    count = len(release)
    least_y = np.full((count, len(cells)), np.inf)  # over labels with X up to the cell's end
    least_sum = np.full((count, len(cells)), np.inf)  # X + Y, over the same labels
    least_y[0] = least_sum[0] = 0.0
    for k in range(1, count + 1):
        r, q = release[k - 1], tail[k - 1]
        work = (a + c * (prefix[k] - prefix[:k]))[:, None]
        rest = np.maximum(least_y[:k], q)
        total = np.maximum(least_sum[:k], np.maximum(below, r) + rest) + work
        closed = float(total.min())
        if k < count:
            total = np.minimum.accumulate(total, axis=1)
            y = np.maximum(rest, total - cells).min(axis=0)
            y[cells < r] = np.inf
            least_y[k] = np.maximum.accumulate(y[::-1])[::-1]
            least_sum[k] = np.where(np.isfinite(y), total.min(axis=0), np.inf)
    return closed


def _blocks(chain: Chain) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return releases, ascending tails and prefix sums of at most :data:`_BLOCKS` blocks."""
    tail = np.minimum.accumulate(chain.tail[::-1])[::-1]
    prefix = np.concatenate([[0], np.cumsum(chain.bytes)])
    count = len(chain)
    if count <= _BLOCKS:
        return chain.release, tail, prefix
    weight = np.arange(count) / count + prefix[:-1] / prefix[-1]
    first = np.unique(np.searchsorted(weight, np.linspace(0, weight[-1], _BLOCKS)))
    return chain.release[first], tail[first], prefix[np.append(first, count)]


def _cells(release: FloatArray, work: float) -> FloatArray:
    """Return the ends of the cells: some releases, even times, and some beyond the last."""
    last = float(release[-1])
    some = release[:: max(1, len(release) // _CELLS)]
    even = np.linspace(float(release[0]), last, _CELLS // 2)
    beyond = last + work * np.array([0.01, 0.03, 0.1, 0.3, 1.0])
    return np.unique(np.concatenate([[0.0, last], some, even, beyond]))
