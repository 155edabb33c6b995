"""From measurements of a collective to its cost."""

from solver.calibration.fits import Fit, Samples, best_fit, fit_all


def calibrate(samples: Samples) -> Fit:
    """Fit a line, OSF's curve and a table to measured times of a collective; return the best fit.

    Parameters
    ----------
    samples
        Bytes and time [us] of each launch; a size may be there many times.

    Raises
    ------
    InvalidMeasurements
        With every sample out of range, or when nothing can be fitted.

    Notes
    -----
    All fits minimise the relative error; the best has the least median error on sizes that it was
    not fitted to. ``fit.cost`` is what a launch costs by it.
    """
    fits, _ = fit_all(samples)
    return best_fit(fits)
