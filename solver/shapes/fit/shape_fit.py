"""From measured steps to figures with their spread, and predictions with their interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np

from solver.shapes.efficiency import FIGURES, Efficiencies
from solver.shapes.fit.as_run import TableRun, as_run, runs_of
from solver.shapes.fit.figures import FittedFigure
from solver.shapes.fit.physics import (
    DEVIATION,
    MEAN,
    figures_of,
    log_times,
    most_probable,
    slopes,
)
from solver.shapes.fit.residual import Residual, learned
from solver.shapes.fit.rows import FEATURES, MeasuredShape, check_rows, crosses_nodes, features
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.transformer import Transformer
from solver.units import FloatArray

#: Standard deviations within which nine of ten normal values are.
NINE_OF_TEN = 1.645

#: Up to so many rows the error of rows left out widens intervals in full, beyond by its share:
#: what few rows tell of the process's own lengths is not in its variance.
FEW_ROWS = 20

#: An outlier is so many standard deviations off; of a standard normal value the median size; and
#: with fewer rows nobody knows which are usual.
_FAR, _MEDIAN_OF_ONE, _MANY = 4.0, 0.6745, 8

#: A figure is determined where the rows leave at most this share of its assumed spread.
_DETERMINED = 0.5


@dataclass(frozen=True, slots=True)
class PredictedStep:
    """The time of a step, as the fit predicts it.

    Attributes
    ----------
    time_us, low_us, high_us
        The median, and what 90 % of steps are between [us]; no interval (None) where rows are fewer
        than the figures that they determine.
    simulated_us
        What the simulation alone gives with the fitted figures [us].
    outside
        Features of the shape that lie outside the rows' range: there the residual is not known,
        and the interval is what is assumed.
    """

    time_us: float
    low_us: float | None
    high_us: float | None
    simulated_us: float
    outside: tuple[str, ...]


class Outlier(NamedTuple):
    """A row that its neighbours do not explain.

    Attributes
    ----------
    row
        Its place, from 0.
    excess
        By what share it took longer than the others tell; below 0 it took less.
    """

    row: int
    excess: float


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """What measured steps tell of a machine.

    Attributes
    ----------
    known
        The most probable figures.
    figures
        The same with their spread.
    rows
        How many rows there were.
    simulated_error, error
        Median error on the rows, relative: of the simulation alone, and of each row as the others
        predict it with the residual; of one row, which none predicts, the latter is None.
    widened, widened_between
        By what the standard deviation of a prediction is greater than the process says: within a
        node, and of steps that cross nodes.
    ranges
        Of each feature (name, least, most) in the rows, as plain counts.
    residual
        What the simulation leaves unexplained.
    runs
        How tables were run of which rows do not fit in memory as stated.
    outliers
        Rows that are far off what the others tell of them, the farthest first.
    """

    known: Efficiencies
    figures: tuple[FittedFigure, ...]
    rows: int
    simulated_error: float
    error: float | None
    widened: float
    widened_between: float
    ranges: tuple[tuple[str, float, float], ...]
    residual: Residual
    runs: tuple[TableRun, ...]
    outliers: tuple[Outlier, ...]

    def predict(
        self, model: Transformer, cluster: TrainingCluster, shape: JobShape
    ) -> PredictedStep:
        """Predict the time of a step that is run as its shape says."""
        return self._predicted([MeasuredShape(model, cluster, shape, 1.0)])[0]

    def predict_all(self, steps: Sequence[MeasuredShape]) -> list[PredictedStep]:
        """Predict many steps of the rows' tables; their measured times are not looked at.

        Like the rows they are run as those that do not fit in memory must have been.
        """
        return self._predicted(as_run(steps, self.runs))

    def _predicted(self, steps: Sequence[MeasuredShape]) -> list[PredictedStep]:
        theta = _theta(self.known)
        at = log_times(steps, theta)
        slope = slopes(steps, theta, at)
        x = np.array([features(step.model, step.shape) for step in steps])
        crosses = _crossing(steps)
        added, deviation = self.residual.mean_and_deviation(x, slope, crosses)
        middle = at - slope @ (theta - MEAN) + added
        widened = np.where(crosses > 0, self.widened_between, self.widened)
        far = NINE_OF_TEN * widened * deviation
        has_interval = self.rows >= sum(figure.is_determined for figure in self.figures)
        return [
            PredictedStep(
                exp(middle[i]),
                exp(middle[i] - far[i]) if has_interval else None,
                exp(middle[i] + far[i]) if has_interval else None,
                exp(at[i]),
                tuple(
                    name
                    for (name, least, most), value in zip(self.ranges, 2 ** x[i], strict=True)
                    if not least * (1 - 1e-9) <= value <= most * (1 + 1e-9)
                ),
            )
            for i in range(len(steps))
        ]


def fit_steps(rows: Sequence[MeasuredShape], begin: Efficiencies | None = None) -> ShapeFit:
    """Fit efficiencies and costs to measured steps, and learn what they leave unexplained.

    Parameters
    ----------
    rows
        What was measured, at least one step; ten are useful, a hundred good.
    begin
        Figures that the search begins with; those assumed by default.

    Raises
    ------
    InvalidMeasurements
        No rows, times that are not positive, shapes that do not fit their model.
    """
    check_rows(rows)
    runs = runs_of(rows)
    rows = as_run(rows, runs)
    theta = most_probable(rows, None if begin is None else _theta(begin))
    at = log_times(rows, theta)
    slope = slopes(rows, theta, at)
    x = np.array([features(row.model, row.shape) for row in rows])
    measured = np.array([log(row.time_us) for row in rows])
    values = measured - at + slope @ (theta - MEAN)
    crosses = _crossing(rows)
    residual = learned(x, slope, values, crosses)
    errors, deviations = residual.left_out(values)
    spread = residual.posterior()
    known = figures_of(theta)
    counts = 2**x
    return ShapeFit(
        known,
        tuple(
            FittedFigure(
                name,
                getattr(known, name),
                float(spread[k]),
                bool(spread[k] <= _DETERMINED * DEVIATION[k]),
            )
            for k, name in enumerate(FIGURES)
        ),
        len(rows),
        float(np.median(np.abs(np.expm1(at - measured)))),
        float(np.median(np.abs(np.expm1(errors)))) if len(rows) > 1 else None,
        widening(errors[crosses == 0], deviations[crosses == 0]),
        widening(errors[crosses > 0], deviations[crosses > 0]),
        tuple(
            (name, float(counts[:, k].min()), float(counts[:, k].max()))
            for k, name in enumerate(FEATURES)
        ),
        residual,
        runs,
        _outliers(errors, deviations),
    )


def widening(errors: FloatArray, deviations: FloatArray) -> float:
    r"""Return by what deviations are widened for the errors of rows left out.

    .. math:: \sqrt{1 + \min(1, 20 / n) \, \frac{1}{n} \sum_i (e_i / s_i)^2}

    The lengths of the process are chosen on all rows, the one left out too. So its variance alone
    is too small: from twenty published rows its intervals held 76 %, so widened 92 %.
    """
    if not len(errors):
        return 1.0
    share = min(1.0, FEW_ROWS / len(errors))
    return float(np.sqrt(1 + share * np.mean((errors / deviations) ** 2)))


def _outliers(errors: FloatArray, deviations: FloatArray) -> tuple[Outlier, ...]:
    """Return the rows whose errors are beyond what others say, and what is usual of all rows.

    Both are judged by medians, which outliers do not move: :data:`_FAR` standard deviations of the
    process, and as many of the errors.
    """
    if len(errors) < _MANY:
        return ()
    usual = float(np.median(np.abs(errors))) / _MEDIAN_OF_ONE
    far = np.flatnonzero(np.abs(errors) > _FAR * np.maximum(deviations, usual))
    return tuple(
        Outlier(int(i), float(np.expm1(errors[i])))
        for i in sorted(far, key=lambda i: (-abs(errors[i]), i))
    )


def _theta(known: Efficiencies) -> FloatArray:
    return np.log([getattr(known, name) for name in FIGURES])


def _crossing(rows: Sequence[MeasuredShape]) -> FloatArray:
    return np.array([float(crosses_nodes(row)) for row in rows])
