"""PACE's MaxMinSize fusion, and none: each candidate is scheduled as given."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

from solver.buckets import ChannelBuckets, Launches, contiguous, singles
from solver.chain import Chain
from solver.costs import Cost
from solver.errors import InvalidOptions
from solver.fusion.search import STEPS, Allowance, Order, Reporter, SearchOptions, unreported
from solver.units import IntArray, slack

#: Steps of an allowance that a cut costs for each tensor, for each minorant of the cost, and for
#: each bucket that is ordered.
_CUT, _LINE, _ORDERED = 25, 1_500, 300


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


def max_min(
    chain: Chain, cost: Cost, order: Order, search: SearchOptions | None = None
) -> Launches:
    """Fuse as PACE does: of the max-min cuts for R = 1..n, keep the fastest.

    Each cut's launches come from ``order``, with start-up paid by every part; the smallest R wins
    a tie.

    Raises
    ------
    InvalidOptions
        When ``order`` can schedule none of the cuts: what it says of the first.

    Notes
    -----
    R launches or more carry all bytes, so with an affine minorant a + c s of the cost no cut in R
    runs ends before min release + R a + c (all bytes) + min tail. Once that reaches the best time
    found, larger R are not tried; nor is a cut whose own buckets cannot end sooner.

    References
    ----------
    .. [1] PACE, Algorithm 1.
    """
    search = search or SearchOptions(allowance=Allowance(STEPS))
    best = max_min_below(chain, cost, order, np.inf, search.allowance, search.report)
    assert best is not None, "any time is less than infinite"
    return best


def max_min_below(
    chain: Chain,
    cost: Cost,
    order: Order,
    to_beat: float,
    allowance: Allowance,
    report: Reporter = unreported,
) -> Launches | None:
    """Return the fusion of :func:`max_min` when it takes less than ``to_beat`` [us], else None.

    No further R is begun once the allowance is spent.

    Raises
    ------
    InvalidOptions
        As :func:`max_min`.
    """
    total = int(chain.bytes.sum())
    minorants = cost.minorants(total)
    free = float(chain.release.min() + chain.tail.min())
    best: Launches | None = None
    refusal: InvalidOptions | None = None
    for count, cuts in enumerate(max_min_cuts(chain.bytes), start=1):
        if free + max(count * a + c * total for a, c in minorants) >= to_beat:
            break
        buckets = contiguous(chain, cuts)
        allowance.spend(_CUT * len(chain) + _LINE * len(minorants))
        if _soonest(buckets, minorants) < to_beat:
            allowance.spend(_ORDERED * count)
            try:
                launches, value = order(buckets)
            except InvalidOptions as error:  # of these buckets; others may do
                refusal = refusal or error
            else:
                value = max(value, chain.compute_time)
                if value < to_beat - slack(value):
                    best, to_beat = tuple(launches), value
                    report(best, value)
        if allowance.is_spent():
            break
    if best is None and refusal:
        raise refusal
    return best


def _soonest(buckets: ChannelBuckets, minorants: Sequence[tuple[float, float]]) -> float:
    """Bound from below when launches of these buckets can end, tails included [us].

    The buckets from each on are released no sooner than it, and the least of their tails follows.
    """
    tail = np.minimum.accumulate(buckets.tail[::-1])
    ends = (
        buckets.release[::-1] + np.cumsum(a + c * buckets.bytes[::-1]) + tail for a, c in minorants
    )
    return max(float(end.max()) for end in ends)


def unfused(
    chain: Chain, cost: Cost, order: Order, search: SearchOptions | None = None
) -> Launches:
    """Send each tensor as a bucket of its own."""
    launches, _ = order(singles(chain))
    return tuple(launches)
