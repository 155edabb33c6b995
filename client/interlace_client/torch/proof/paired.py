"""A ratio of pairs of measurements, with an interval that supposes little."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement
from math import exp, log
from statistics import median

#: The interval leaves out so much at each end.
_TAIL = 0.05


def ratio_interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Estimate a ratio from paired ones, with an interval that holds it in at least 90 %.

    The Hodges-Lehmann estimate: the median of the geometric means of all pairs of ratios, each
    with itself, too. The interval inverts Wilcoxon's signed-rank test, exactly; it supposes that
    logarithms of the ratios lie evenly about that of the true one, and nothing of how far.

    Parameters
    ----------
    ratios
        Five or more, above 0.

    References
    ----------
    M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric statistical methods, 3rd edition, 3.2, 3.3.
    """
    logs = [log(ratio) for ratio in ratios]
    means = sorted((x + y) / 2 for x, y in combinations_with_replacement(logs, 2))
    out = _left_out(len(logs))
    return exp(median(means)), exp(means[out]), exp(means[-1 - out])


@cache
def _left_out(count: int) -> int:
    """Return how many means are left out at each end: as many as the share at an end allows."""
    ways = [1]  # by the sum of the ranks that have a sign
    for rank in range(1, count + 1):
        ways = [
            (ways[k] if k < len(ways) else 0) + (ways[k - rank] if k >= rank else 0)
            for k in range(len(ways) + rank)
        ]
    out, below = 0, ways[0]
    while (below + ways[out + 1]) <= _TAIL * 2**count:
        out += 1
        below += ways[out]
    return out
