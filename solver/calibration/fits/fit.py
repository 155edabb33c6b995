"""A fitted cost, and how far it is from what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from solver.calibration.fits.samples import SortedSamples
from solver.costs import TABLE, Affine, Cluster, Cost, Piecewise, PiecewiseCost, cost_of
from solver.errors import InvalidMeasurements
from solver.units import TOLERANCE, FloatArray, IntArray

#: Folds of the cross-validation.
FOLDS = 5


@dataclass(frozen=True, slots=True)
class StraightLine:
    """T = startup + us_per_byte n.

    Attributes
    ----------
    startup_us
        Fixed cost of a launch [us], >= 0.
    us_per_byte
        Time per byte [us], >= 0.
    """

    startup_us: float
    us_per_byte: float


@dataclass(frozen=True, slots=True)
class Points:
    """A table, linear between its points.

    Attributes
    ----------
    points
        Pairs of bytes, ascending, and time [us], never falling.
    """

    points: tuple[tuple[int, float], ...]


#: What can be fitted.
Model = StraightLine | PiecewiseCost | Points


@dataclass(frozen=True, slots=True)
class Decade:
    """Relative errors abs(T / t - 1) of the samples of one decade of sizes.

    Attributes
    ----------
    from_bytes
        A power of ten: the samples have this many bytes up to ten times as many.
    count
        Samples.
    median, worst
        Errors as shares of the measured time.
    """

    from_bytes: int
    count: int
    median: float
    worst: float


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors abs(T / t - 1) of samples.

    Attributes
    ----------
    count
        Samples.
    median, p90, worst
        Errors as shares of the measured time.
    decades
        The same by size, ascending.
    """

    count: int
    median: float
    p90: float
    worst: float
    decades: tuple[Decade, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """A model fitted to samples.

    Attributes
    ----------
    name
        Key of :data:`solver.calibration.fits.FITS`.
    parameters
        What was fitted.
    measured
        Least and most bytes of the samples; beyond them it is extrapolation.
    errors
        Errors of the samples it was fitted to.
    validated
        Errors of samples whose size it was not fitted to; None with too few sizes.
    """

    name: str
    parameters: Model
    measured: tuple[int, int]
    errors: Errors
    validated: Errors | None

    @property
    def cost(self) -> Cost:
        """What a launch costs by this fit."""
        return cost_of_model(self.parameters)


def fit_model(name: str, data: SortedSamples, fit: Callable[[SortedSamples], Model]) -> Fit:
    """Fit a model and say how well it fits."""
    parameters = fit(data)
    return Fit(
        name=name,
        parameters=parameters,
        measured=(int(data.sizes[0]), int(data.sizes[-1])),
        errors=_errors(data.sizes, _misses(parameters, data)),
        validated=_cross_validate(data, fit),
    )


def best_fit(fits: Sequence[Fit]) -> Fit:
    """Choose the fit of least median error in cross-validation.

    Of fits that are equal within the tolerance the first wins, so give the simplest first. A fit
    that could not be validated comes after all that were.
    """
    errors = [fit.validated.median if fit.validated else np.inf for fit in fits]
    limit = min(errors) + TOLERANCE
    return next(fit for fit, error in zip(fits, errors, strict=True) if error <= limit)


def cost_of_model(model: Model) -> Cost:
    """Cost of a launch as the model has it."""
    if isinstance(model, StraightLine):
        return Affine(model.startup_us, model.us_per_byte)
    if isinstance(model, PiecewiseCost):
        return Piecewise(model, 0.0)
    return cost_of(Cluster(2, algorithm=TABLE, table=model.points))


def _misses(model: Model, data: SortedSamples) -> FloatArray:
    """Relative error of each sample."""
    return np.abs(cost_of_model(model).times(data.sizes) / data.times - 1)


def _errors(sizes: IntArray, misses: FloatArray) -> Errors:
    digits = np.array([len(str(size)) for size in sizes.tolist()])
    decades = tuple(
        Decade(10 ** (count - 1), inside.size, float(np.median(inside)), float(inside.max()))
        for count in np.unique(digits).tolist()
        for inside in [misses[digits == count]]
    )
    median, p90 = np.quantile(misses, (0.5, 0.9)).tolist()
    return Errors(misses.size, median, p90, float(misses.max()), decades)


def _cross_validate(data: SortedSamples, fit: Callable[[SortedSamples], Model]) -> Errors | None:
    """Fit to four fifths of the sizes and take the errors of the others, five times.

    The i-th size in ascending order belongs to fold i mod 5. The smallest and the largest are in
    every fit, so that nothing is extrapolated.
    """
    if data.distinct.size < FOLDS:
        return None
    is_inner = (data.at > 0) & (data.at < data.distinct.size - 1)
    sizes, misses = [], []
    for fold in range(FOLDS):
        is_held_out = is_inner & (data.at % FOLDS == fold)
        if not is_held_out.any():
            continue
        try:
            model = fit(data.only(~is_held_out))
        except InvalidMeasurements:  # a threshold has too few sizes left on a side
            return None
        held_out = data.only(is_held_out)
        sizes.append(held_out.sizes)
        misses.append(_misses(model, held_out))
    return _errors(np.concatenate(sizes), np.concatenate(misses))
