"""One line over all sizes."""

import numpy as np

from solver.calibration.fits.fit import Fit, StraightLine, fit_model
from solver.calibration.fits.samples import Samples, SortedSamples, check_samples
from solver.calibration.fits.straight import moments, straight
from solver.costs import LINEAR


def fit_linear(samples: Samples) -> Fit:
    """Fit T = startup + us_per_byte n, both 0 or more, for the least relative error.

    Raises
    ------
    InvalidMeasurements
        With every sample out of range, or when there are fewer than two sizes.

    Notes
    -----
    O(n log n) for n samples.
    """
    return fit_model(LINEAR, check_samples(samples, 2, "A line"), _fit)


def _fit(data: SortedSamples) -> StraightLine:
    line = straight(moments(data.sizes.astype(np.float64), data.times))
    return StraightLine(float(line.constant), float(line.slope))
