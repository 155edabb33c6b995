"""Tables of costs: monotone, and read as the planner reads them."""

from __future__ import annotations

from bisect import bisect_right
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Points (bytes, us), sizes ascending.
Table = tuple[tuple[int, float], ...]
#: The least time that a table may have: the planner takes no zero [us].
_LEAST_US = 0.001


def monotone(samples: Mapping[int, Sequence[float]]) -> Table:
    r"""Return the non-decreasing table that is nearest to samples of each size [us].

    Minimises :math:`\sum_i \sum_k |y_i - t_{ik}|` over :math:`y_1 \le y_2 \le \ldots`: each time
    is the median of its samples, and neighbours in the wrong order have the median of the samples
    of all of them. A larger launch that seems cheaper is noise, and single outliers do not count.

    Notes
    -----
    The pool adjacent violators algorithm: T. Robertson and F. T. Wright, Algorithms in order
    restricted statistical inference and the Cauchy mean value property, 1980.
    """
    pools: list[tuple[list[float], list[int]]] = []
    for size in sorted(samples):
        times, sizes = list(samples[size]), [size]
        while pools and median(pools[-1][0]) >= median(times):
            lower, smaller = pools.pop()
            times, sizes = lower + times, smaller + sizes
        pools.append((times, sizes))
    return tuple(
        (size, max(round(median(times), 3), _LEAST_US)) for times, sizes in pools for size in sizes
    )


def time_of(table: Sequence[tuple[int, float]], size: int) -> float:
    """Time of a launch [us] by a table, as the planner reads it.

    Linear between points, of which there are two or more; constant below the first; beyond the
    last, the slope between it and the point nearest half its size.
    """
    sizes = [known for known, _ in table]
    at = bisect_right(sizes, size) - 1
    if at < 0:
        return table[0][1]
    if at < len(table) - 1:
        (low, least), (high, most) = table[at : at + 2]
    else:
        high, most = table[-1]
        low, least = min(table[:-1], key=lambda point: abs(point[0] - high / 2))
    return table[at][1] + (size - sizes[at]) * (most - least) / (high - low)


def quantile(values: Sequence[float], share: float) -> float:
    """Return what ``share`` of the values (0 to 1) are below, linear between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    at = min(int(place), len(ordered) - 2)
    if at < 0:
        return ordered[0]
    return ordered[at] + (place - at) * (ordered[at + 1] - ordered[at])
