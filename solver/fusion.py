"""MaxMinSize fusion: cut the chain in runs whose smallest is as large as can be."""

from bisect import bisect_left
from collections.abc import Callable, Iterator

import numpy as np

from solver.chain import Buckets, Chain, runs, singles
from solver.costs import Cost
from solver.schedule.execute import Launch
from solver.units import IntArray


def max_min_cuts(sizes: IntArray) -> Iterator[tuple[int, ...]]:
    r"""Yield, for R = 1..n, the cut of a chain in R runs that maximises the smallest run.

    With prefix sums P, :math:`V_R(j) = \max_k \min(P_k - P_j, V_{R-1}(k))` is the best smallest
    run of the suffix from j. :math:`P_k - V_{R-1}(k)` increases with k, so the two terms cross at
    one k, found by bisection for all j at once. Among equal cuts the first run is the shortest,
    and the suffix is again a max-min cut.

    Parameters
    ----------
    sizes
        Bytes of the n tensors in chain order, positive, shape (n,).

    Yields
    ------
    tuple of int
        Ends of the R runs, the last one n.

    Notes
    -----
    O(n log n) for each R; the rows kept take 4 n^2 bytes.

    References
    ----------
    .. [1] PACE, Algorithm 1, function MaxMinSize.
    """
    n = len(sizes)
    prefix = np.concatenate([[0], np.cumsum(sizes)])
    sums = prefix.tolist()
    rows = [prefix[-1] - prefix]  # rows[R-1][j] = V_R(j), for j in 0..n-R
    yield (n,)
    for count in range(2, n + 1):
        inner = rows[-1]  # V_{R-1}(k) for k in 0..n-R+1
        starts = np.arange(n - count + 1)
        keys = prefix[: len(inner)] - inner
        cross = np.searchsorted(keys, prefix[starts])  # least k with P_k - P_j >= V_{R-1}(k)
        cross = np.clip(cross, starts + 1, len(inner) - 1)
        after = np.minimum(prefix[cross] - prefix[starts], inner[cross])
        before = np.where(cross > starts + 1, prefix[cross - 1] - prefix[starts], 0)
        rows.append(np.maximum(after, before))
        yield _trace(sums, rows)


def _trace(sums: list[int], rows: list[IntArray]) -> tuple[int, ...]:
    """Follow the shortest first runs that attain each suffix's value."""
    cuts: list[int] = []
    here = 0
    for row in reversed(rows[1:]):
        here = bisect_left(sums, sums[here] + int(row[here]))
        cuts.append(here)
    return (*cuts, len(sums) - 1)


#: How buckets become launches in order, and their simulated value [us].
Order = Callable[[Buckets], tuple[list[Launch], float]]


def max_min(chain: Chain, cost: Cost, order: Order) -> tuple[Buckets, list[Launch]]:
    """Fuse as PACE does: of the max-min cuts for R = 1..n, keep the fastest.

    Each cut's launches come from ``order``, with start-up paid by every part; the smallest R wins
    a tie.

    Notes
    -----
    R launches or more carry all bytes, so with an affine minorant a + c s of the cost no cut in R
    runs ends before min release + R a + c (all bytes) + min tail. Once that reaches the best time
    found, larger R are not tried.

    References
    ----------
    .. [1] PACE, Algorithm 1.
    """
    total = int(chain.bytes.sum())
    minorants = cost.minorants(total)
    free = float(chain.release.min() + chain.tail.min())
    best: tuple[float, Buckets, list[Launch]] | None = None
    for count, cuts in enumerate(max_min_cuts(chain.bytes), start=1):
        if best and free + max(count * a + c * total for a, c in minorants) >= best[0]:
            break
        buckets = runs(chain, cuts)
        launches, value = order(buckets)
        value = max(value, chain.compute_time)
        if best is None or value < best[0]:
            best = value, buckets, launches
    assert best is not None, "R = 1 is always tried"
    return best[1], best[2]


def unfused(chain: Chain, _cost: Cost, order: Order) -> tuple[Buckets, list[Launch]]:
    """Send each tensor as a bucket of its own."""
    buckets = singles(chain)
    return buckets, order(buckets)[0]


#: The fusions by name, called alike; add one here.
FUSIONS: dict[str, Callable[[Chain, Cost, Order], tuple[Buckets, list[Launch]]]] = {
    "none": unfused,
    "maxmin": max_min,
}
