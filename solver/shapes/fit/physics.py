r"""Efficiencies that explain measured steps best, beside what is assumed of them.

With theta the logarithms of the :class:`Efficiencies`, f(theta) the logarithms of the simulated
times and y those measured, the most probable theta minimises

.. math:: \sum_i ((f_i(\theta) - y_i) / \sigma)^2 + \sum_k ((\theta_k - \mu_k) / s_k)^2

with mu and s what is assumed and its spread. So ten rows are enough to begin with: what they do not
determine stays as assumed, with its whole spread.
"""

from collections.abc import Sequence
from math import log

import numpy as np
from scipy.optimize import least_squares

from solver.shapes.efficiency import ASSUMED, FIGURES, SPREAD, Efficiencies
from solver.shapes.fit.rows import MeasuredShape
from solver.shapes.step import simulate_step
from solver.units import FloatArray

#: What is assumed of the logarithms of the figures, and its standard deviation.
MEAN: FloatArray = np.log([getattr(ASSUMED, name) for name in FIGURES])
DEVIATION: FloatArray = np.array([SPREAD[name] for name in FIGURES])

#: Step of the differences by which derivatives are found.
_STEP = 1e-4

#: How far simulated steps are believed to be off, relative, while the figures are looked for.
MODEL_ERROR = 0.05


def figures_of(theta: FloatArray) -> Efficiencies:
    """Return the figures of their logarithms."""
    return Efficiencies(*map(float, np.exp(theta)))


def log_times(rows: Sequence[MeasuredShape], theta: FloatArray) -> FloatArray:
    """Return the logarithm of each row's simulated time."""
    known = figures_of(theta)
    times = [simulate_step(row.model, row.cluster, row.shape, known).time_us for row in rows]
    return np.array([log(time) for time in times])


def slopes(rows: Sequence[MeasuredShape], theta: FloatArray, at: FloatArray) -> FloatArray:
    """Return how each row's :func:`log_times` ``at`` theta change with each figure."""
    columns = []
    for k in range(len(theta)):
        moved = theta.copy()
        moved[k] += _STEP
        columns.append((log_times(rows, moved) - at) / _STEP)
    return np.column_stack(columns)


def most_probable(rows: Sequence[MeasuredShape], begin: FloatArray | None = None) -> FloatArray:
    """Return the logarithms of the figures that minimise the sum above."""
    measured = np.array([log(row.time_us) for row in rows])

    def errors(theta: FloatArray) -> FloatArray:
        off = (log_times(rows, theta) - measured) / MODEL_ERROR
        return np.concatenate([off, (theta - MEAN) / DEVIATION])

    def jacobian(theta: FloatArray) -> FloatArray:
        slope = slopes(rows, theta, log_times(rows, theta)) / MODEL_ERROR
        return np.vstack([slope, np.diag(1 / DEVIATION)])

    start = MEAN if begin is None else begin
    found = least_squares(errors, start, jacobian, xtol=1e-3, ftol=1e-3, max_nfev=20)
    return np.asarray(found.x)
