"""Costs fitted to measured samples: a line, OSF's curve, a table, each with its error.

All minimise the relative error: plain least squares sees only the largest sizes.
"""

from collections.abc import Callable
from functools import partial

from solver.calibration.fits.fit import (
    Decade,
    Errors,
    Fit,
    Model,
    Points,
    StraightLine,
    best_fit,
    cost_of_model,
)
from solver.calibration.fits.linear import fit_linear
from solver.calibration.fits.piecewise import fit_piecewise
from solver.calibration.fits.samples import Samples
from solver.calibration.fits.table import fit_table
from solver.costs import LINEAR, PIECEWISE, TABLE
from solver.errors import Fault, InvalidMeasurements

#: The fits by name, the simplest first; add one here.
FITS: dict[str, Callable[[Samples], Fit]] = {
    LINEAR: fit_linear,
    PIECEWISE: fit_piecewise,
    TABLE: fit_table,
}


__all__ = [
    "FITS",
    "Decade",
    "Errors",
    "Fit",
    "Model",
    "Points",
    "Samples",
    "StraightLine",
    "best_fit",
    "cost_of_model",
    "fit_all",
    "fit_linear",
    "fit_piecewise",
    "fit_table",
]


def fit_all(
    samples: Samples, threshold_bytes: int | None = None
) -> tuple[tuple[Fit, ...], tuple[Fault, ...]]:
    """Fit everything that can be fitted, the simplest first, and say why the rest cannot.

    Raises
    ------
    InvalidMeasurements
        With every sample out of range, or when nothing can be fitted.
    """
    fits: list[Fit] = []
    left_out: dict[Fault, None] = {}
    chosen = FITS | {PIECEWISE: partial(fit_piecewise, threshold_bytes=threshold_bytes)}
    for fit in chosen.values():
        try:
            fits.append(fit(samples))
        except InvalidMeasurements as error:
            left_out |= dict.fromkeys(error.faults)
    if not fits:
        raise InvalidMeasurements(tuple(left_out))
    return tuple(fits), tuple(left_out)
