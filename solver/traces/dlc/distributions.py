"""How values spread: their histogram, and the normal or log-normal distribution nearest to them."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from solver.traces.dlc.records import Column
from solver.traces.dlc_report import DistributionFit, OverheadSpread

#: Most bins of a histogram.
MAX_BINS = 40


def spread_of(values: Column, key: int | None = None, node: str | None = None) -> OverheadSpread:
    """Describe values [us], at least one, of shape (n,); O(n log n).

    The bins are the square root of n, but :data:`MAX_BINS` at most; one where all are alike.
    """
    least, most = int(values.min()), int(values.max())
    bins = min(MAX_BINS, math.isqrt(values.size - 1) + 1) if least < most else 1
    counts, _ = np.histogram(values - least, bins, range=(0, max(most - least, 1)))
    mean = round(float(values.mean()), 3)
    fit = nearest(np.sort(values).astype(float)) if least < most else None
    return OverheadSpread(key, node, values.size, least, mean, most, tuple(counts.tolist()), fit)


def nearest(ordered: npt.NDArray[np.float64]) -> DistributionFit:
    """Fit a normal and, where all values are positive, a log-normal by maximum likelihood.

    The nearer one is returned, of equals the normal.

    Parameters
    ----------
    ordered
        Ascending values of shape (n,), at least two different ones.
    """
    mean, deviation = float(ordered.mean()), float(ordered.std())
    error = _distance((ordered - mean) / deviation)
    normal = DistributionFit("normal", round(mean, 3), round(deviation, 3), None, round(error, 6))
    if ordered[0] <= 0:
        return normal
    logs = np.log(ordered)
    center, width = float(logs.mean()), float(logs.std())
    if not width:  # values so close to each other that their logarithms are the same
        return normal
    error = _distance((logs - center) / width)
    median = round(math.exp(center), 3)
    log_normal = DistributionFit("log_normal", median, None, round(width, 6), round(error, 6))
    return min(normal, log_normal, key=lambda fit: fit.error)


def _distance(scaled: npt.NDArray[np.float64]) -> float:
    """Return Kolmogorov and Smirnov's distance of ascending values from the standard normal."""
    from scipy.special import ndtr  # noqa: PLC0415 - takes time

    share = ndtr(scaled)
    steps = np.arange(scaled.size + 1) / scaled.size
    return float(max(np.max(steps[1:] - share), np.max(share - steps[:-1])))


def by_value(values: Column, groups: Column) -> Sequence[tuple[int, Column]]:
    """Split values by the group of each; groups ascending, values of one in their order."""
    order = np.argsort(groups, kind="stable")
    known, starts = np.unique(groups[order], return_index=True)
    parts = np.split(values[order], starts[1:])
    return list(zip(known.tolist(), parts, strict=True)) if values.size else []
