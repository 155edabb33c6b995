"""A table of times that never fall with the size."""

import numpy as np

from solver.calibration.fits.fit import Fit, Points, fit_model
from solver.calibration.fits.samples import Samples, SortedSamples, check_samples
from solver.codes import FaultCode
from solver.costs import TABLE
from solver.errors import Fault, InvalidMeasurements
from solver.limits import MAX_TABLE_SIZES


def fit_table(samples: Samples) -> Fit:
    r"""Fit a table: the mean time of each size, made monotone by isotonic regression.

    Minimises :math:`\sum_i n_i (T_i / t_i - 1)^2` over :math:`T_1 \le T_2 \le ...`, with the mean
    time :math:`t_i` of the :math:`n_i` samples of size i. Between sizes it is linear.

    Raises
    ------
    InvalidMeasurements
        With every sample out of range, or when there are fewer than two sizes or more than
        :data:`MAX_TABLE_SIZES`.

    Notes
    -----
    O(n log n) for n samples, by pooling adjacent violators.
    """
    data = check_samples(samples, 2, "A table")
    if data.distinct.size > MAX_TABLE_SIZES:
        detail = f"A table has at most {MAX_TABLE_SIZES:,} sizes, got {data.distinct.size:,}."
        raise InvalidMeasurements([Fault("/samples", FaultCode.TOO_MANY_SIZES, detail)])
    return fit_model(TABLE, data, _fit)


def _fit(data: SortedSamples) -> Points:
    counts = np.bincount(data.at)
    means = np.bincount(data.at, weights=data.times) / counts
    times = _monotone(means.tolist(), (counts / means**2).tolist())
    return Points(tuple(zip(data.distinct.tolist(), times, strict=True)))


def _monotone(values: list[float], weights: list[float]) -> list[float]:
    """Make values never fall, at the least weighted sum of squared changes."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many values
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, more, count = pools.pop()
            both = more + pool[1]
            pool = ((mean * more + pool[0] * pool[1]) / both, both, count + pool[2])
        pools.append(pool)
    return [mean for mean, _, count in pools for _ in range(count)]
