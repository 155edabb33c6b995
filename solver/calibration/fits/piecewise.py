"""OSF's curve: logarithmic below a threshold, linear from it on.

T = a1 log2 D + b1 below and a2 D + b2 from the threshold on (OSF 18), a1, a2 and b2 0 or more,
each side for the least relative error. Nothing is assumed where they meet.
"""

import numpy as np

from solver.calibration.fits.fit import Fit, fit_model
from solver.calibration.fits.samples import Samples, SortedSamples, check_samples
from solver.calibration.fits.straight import moments, running_moments, straight
from solver.codes import FaultCode
from solver.costs import PIECEWISE, PiecewiseCost
from solver.errors import Fault, InvalidMeasurements

#: Sizes that each side needs: two make a line.
_SIDE = 2


def fit_piecewise(samples: Samples, threshold_bytes: int | None = None) -> Fit:
    """Fit OSF's curve; nothing takes less than the mean time of the smallest size.

    Parameters
    ----------
    samples
        Pairs of bytes and time [us].
    threshold_bytes
        Where the linear side begins, such as the bandwidth-delay product; None for the size among
        the samples that gives the least error.

    Raises
    ------
    InvalidMeasurements
        With every sample out of range, or when a side would have fewer than two sizes.

    Notes
    -----
    O(n log n) for n samples: running sums from both ends give the error at every threshold; of
    equal ones the smallest wins. The line at the threshold found is then computed without them.
    """
    data = check_samples(samples, 2 * _SIDE, "A piecewise fit")
    return fit_model(PIECEWISE, data, lambda part: _fit(part, threshold_bytes))


def _fit(data: SortedSamples, threshold_bytes: int | None) -> PiecewiseCost:
    """Fit both sides of the threshold that was given, or of the best one."""
    threshold = _best_threshold(data) if threshold_bytes is None else threshold_bytes
    below = int(np.searchsorted(data.distinct, threshold))
    sides = below, data.distinct.size - below
    if min(sides) < _SIDE:
        detail = (
            f"A piecewise fit needs {_SIDE} sizes below threshold_bytes {threshold} and "
            f"{_SIDE} from it on, got {sides[0]} and {sides[1]}."
        )
        raise InvalidMeasurements([Fault("/threshold_bytes", FaultCode.OUT_OF_RANGE, detail)])
    cut = int(np.searchsorted(data.sizes, threshold))
    low = straight(moments(np.log2(data.sizes[:cut]), data.times[:cut]), is_constant_free=True)
    high = straight(moments(data.sizes[cut:].astype(np.float64), data.times[cut:]))
    return PiecewiseCost(
        threshold_bytes=threshold,
        log_us=float(low.slope),
        log_constant_us=float(low.constant),
        us_per_byte=float(high.slope),
        constant_us=float(high.constant),
        least_us=float(data.times[data.at == 0].mean()),
    )


def _best_threshold(data: SortedSamples) -> int:
    """Find the size from which the two sides have the least squared relative error."""
    candidates = data.distinct[_SIDE : data.distinct.size - _SIDE + 1]
    cuts = np.searchsorted(data.sizes, candidates)
    logs, shares = np.log2(data.sizes), data.sizes / data.sizes[-1]
    low = straight(running_moments(logs - logs.mean(), data.times), is_constant_free=True)
    high = straight(running_moments(shares[::-1], data.times[::-1]))
    errors = low.error[cuts - 1] + high.error[data.sizes.size - cuts - 1]
    return int(candidates[np.argmin(errors)])
