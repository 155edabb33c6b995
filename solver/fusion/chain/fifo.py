"""The best launches in release order: exact when all tails are equal and the cost is affine."""

import numpy as np

from solver.costs import Cost
from solver.fusion.chain.loops.release_order import ends
from solver.units import FloatArray, IntArray

#: Most tensors of which every run of neighbours is looked at.
_TENSORS = 500


def chain_end(release: FloatArray, sizes: IntArray, a: float, c: float) -> float:
    """Least end of contiguous launches of a + c s [us] that carry tensors in release order.

    f(k) = min over j < k of max(f(j), r_k) + a + c S(j+1..k), with f(0) = 0. Since f does not
    decrease, the launches that wait for r_k start best after the last j with f(j) <= r_k; among
    the others a queue keeps the least f(j) - c P_j. O(n).
    """
    end: float = ends(release, _work(sizes, c), a)[0][-1]
    return end


def chain_cuts(release: FloatArray, sizes: IntArray, a: float, c: float) -> list[int]:
    """Return the ends of the launches that attain :func:`chain_end`, the last one n."""
    _, before = ends(release, _work(sizes, c), a)
    cuts = [len(release)]
    while before[cuts[-1]]:
        cuts.append(before[cuts[-1]])
    return cuts[::-1]


def _work(sizes: IntArray, c: float) -> FloatArray:
    """Time of each tensor without the start-up [us]."""
    work: FloatArray = np.multiply(sizes, c, dtype=np.float64)
    return work


def fewest_cuts(
    release: FloatArray, sizes: IntArray, cost: Cost, end: float | None = None
) -> list[int] | None:
    """Return the ends of the fewest launches of neighbours that end in time; None if none do.

    Launches go in release order, at any cost of a launch, and are to end by ``end`` [us], without
    it as early as any do. With m launches the least end is

        f_m(k) = min over j < k of max(f_(m-1)(j), r_k) + T(S(j+1..k)), with f_0(0) = 0,

    and of equal ends the shortest last launch is taken. O(n^2) for each number of launches; without
    a bound on these, f(k) = min over m of f_m(k) says whether there is one. Beyond
    :data:`_TENSORS` tensors nothing is found.
    """
    count = len(release)
    if count > _TENSORS:
        return None
    prefix = np.concatenate([[0], np.cumsum(sizes)])
    low, high = np.triu_indices(count + 1, 1)
    times = np.full((count + 1, count + 1), np.inf)  # of a launch of low..high-1
    times[low, high] = cost.times(prefix[high] - prefix[low])
    ready = np.concatenate([[0.0], release])
    least = _least_end(times, ready)
    if end is None:
        end = least
    if least > end:
        return None
    ends = np.full(count + 1, np.inf)
    ends[0] = 0.0
    before: list[IntArray] = []
    while ends[-1] > end:
        each = np.maximum(ends[:, None], ready) + times
        before.append(count - each[::-1].argmin(axis=0))
        ends = each[before[-1], np.arange(count + 1)]
    cuts = [count]
    for origin in before[:0:-1]:
        cuts.append(int(origin[cuts[-1]]))
    return cuts[::-1]


def _least_end(times: FloatArray, ready: FloatArray) -> float:
    """Least end of any number of launches in release order [us]."""
    ends = np.zeros(len(ready))
    for k in range(1, len(ready)):
        ends[k] = (np.maximum(ends[:k], ready[k]) + times[:k, k]).min()
    return float(ends[-1])
