r"""The values of parameters that measured times and what is plausible beforehand make likeliest.

Minimised over the logarithms x of the free parameters is

.. math:: \sum_i ρ((\log T_i(x) - \log t_i) / σ) + \sum_j ((x_j - m_j) / s_j)^2 / 2,
          \quad ρ(z) = \sqrt{1 + z^2} - 1

with T_i the simulated and t_i the measured times, σ how far both are apart, and m and s what is
plausible before anything is measured. ρ grows as abs(z), so that no odd time decides alone; the
other term as a square, so that no time, however odd, moves a parameter out of what is plausible.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from solver.estimation.parameters import EstimatedParameter
from solver.estimation.runs import MeasuredRun
from solver.estimation.simulated import Simulator, Values
from solver.units import FloatArray

#: Standard deviations at which an axis is searched, and most searches of all axes.
_DISTANCES = (-3.0, 3.0, -1.0, 1.0, -0.3, 0.3)
_SWEEPS = 3

#: A search that gains less than this share ends.
_GAIN = 0.02

#: Most points that a fit looks at.
_ROUNDS = 40

#: With so much noise a fit ends where a step changes sum or figures by less than this share.
_EXACT, _NEAR = 2e-3, 2e-5

#: Nothing takes less than this [us]: its logarithm is taken.
_LEAST_US = 1e-9


@dataclass(slots=True)
class EstimationProblem:
    """Measured runs, what they are simulated by, and how often they were.

    Attributes
    ----------
    simulator, runs
        How runs are simulated, and those with a measured time.
    logs
        Logarithms of their times [us], shape (n,).
    simulations
        How many runs were simulated so far.
    """

    simulator: Simulator
    runs: Sequence[MeasuredRun]
    logs: FloatArray
    simulations: int = 0
    _last: tuple[tuple[float, ...], FloatArray] | None = field(default=None)

    def misfits(self, values: Values) -> FloatArray:
        """Return log T - log t of each run, shape (n,)."""
        key = tuple(values.values())
        if self._last is None or self._last[0] != key:
            self._last = key, self._logs(values, range(len(self.runs))) - self.logs
        return self._last[1]

    def slopes(self, values: Values, free: Sequence[EstimatedParameter], step: float) -> FloatArray:
        """Return d log T / d log value of the free parameters, shape (n, p), by differences."""
        here = self.misfits(values)
        found = np.zeros((len(self.runs), len(free)))
        for k, parameter in enumerate(free):
            touched = [i for i, run in enumerate(self.runs) if parameter.touches(run)]
            if not touched:
                continue
            there = values[parameter] * float(np.exp(step))
            by = step if parameter.least <= there <= parameter.most else -step
            moved = {**values, parameter: values[parameter] * float(np.exp(by))}
            logs = self._logs(moved, touched) - self.logs[touched]
            found[touched, k] = (logs - here[touched]) / by
        return found

    def logs_at(self, values: Values, runs: Sequence[MeasuredRun]) -> FloatArray:
        """Return log T of runs, measured or not, shape (n,)."""
        self.simulations += len(runs)
        times = [self.simulator.time(run, values) for run in runs]
        return np.log(np.maximum(np.array(times, dtype=np.float64), _LEAST_US))

    def _logs(self, values: Values, places: Sequence[int]) -> FloatArray:
        return self.logs_at(values, [self.runs[i] for i in places])


def fit(
    problem: EstimationProblem,
    free: Sequence[EstimatedParameter],
    start: Values,
    noise: float,
    step: float,
) -> dict[EstimatedParameter, float]:
    """Improve the free values from where they are.

    Parameters
    ----------
    problem
        The measured runs.
    free
        What may change; the other values stay as they are at the start.
    start
        A value for each parameter.
    noise
        σ.
    step
        Of the logarithms, for the differences.

    Returns
    -------
    dict
        A value for each parameter.
    """
    if not free:
        return dict(start)
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes time

    limits = limits_of(free)

    def values_at(x: FloatArray) -> dict[EstimatedParameter, float]:
        return merged(start, dict(zip(free, np.exp(x).tolist(), strict=True)))

    def residuals(x: FloatArray) -> FloatArray:
        """Return what has half of its squares as the terms of the sum."""
        z = problem.misfits(values_at(x)) / noise
        return np.concatenate([z * np.sqrt(2 / (1 + np.hypot(1, z))), _surprise(free, x)])

    def jacobian(x: FloatArray) -> FloatArray:
        values = values_at(x)
        root = np.hypot(1, problem.misfits(values) / noise)
        by = np.sqrt((1 + root) / 2) / root / noise
        slopes = problem.slopes(values, free, step)
        return np.vstack([by[:, None] * slopes, np.diag(1 / _spreads_at(free, x))])

    enough = step * step if noise <= _EXACT else _NEAR
    found = least_squares(
        residuals,
        np.clip(logs_of(free, start), *limits),
        jacobian,
        bounds=(limits[0] - 1e-9, limits[1] + 1e-9),
        x_scale=np.array([p.spread for p in free]),
        max_nfev=_ROUNDS,
        ftol=enough,
        xtol=enough,
        gtol=step * step,
    )
    return values_at(found.x)


def searched(
    problem: EstimationProblem,
    free: Sequence[EstimatedParameter],
    start: Values,
    noise: float,
    step: float,
) -> dict[EstimatedParameter, float]:
    """Search along the axes of the uncertainty for a smaller sum.

    An axis is an eigenvector of the covariance; on it points at several distances on both sides
    are looked at, the best is gone to, and all axes are searched again while that gains.
    """
    best, least = dict(start), objective(problem, free, start, noise)
    limits = limits_of(free)
    for _ in range(_SWEEPS):
        before = least
        spreads = _spreads_at(free, logs_of(free, best))
        after = covariance(problem.slopes(best, free, step), noise, spreads)
        variances, axes = np.linalg.eigh(after)
        for variance, axis in zip(variances[::-1], axes.T[::-1], strict=True):
            x = logs_of(free, best)
            for distance in _DISTANCES:
                moved = np.clip(x + distance * variance**0.5 * axis, *limits)
                tried = merged(best, dict(zip(free, np.exp(moved).tolist(), strict=True)))
                if (found := objective(problem, free, tried, noise)) < least:
                    best, least = tried, found
        if least > before * (1 - _GAIN):
            break
    return best


def objective(
    problem: EstimationProblem, free: Sequence[EstimatedParameter], values: Values, noise: float
) -> float:
    """Return the sum that is minimised."""
    misfits = problem.misfits(values) / noise
    total = float(np.sum(np.sqrt(1 + misfits**2) - 1))
    if not free:
        return total
    return total + float(np.sum(_surprise(free, logs_of(free, values)) ** 2)) / 2


def _surprise(free: Sequence[EstimatedParameter], x: FloatArray) -> FloatArray:
    """Return how far logarithms are from what is plausible, in its spreads."""
    return (x - np.log([p.median for p in free])) / _spreads_at(free, x)


def _spreads_at(free: Sequence[EstimatedParameter], x: FloatArray) -> FloatArray:
    """Return the spreads of what is plausible on the sides where logarithms are."""
    below, above = (np.array([getattr(p, name) for p in free]) for name in ("spread", "above"))
    return np.where(x > np.log([p.median for p in free]), above, below)


def limits_of(free: Sequence[EstimatedParameter]) -> FloatArray:
    """Return limits of the logarithms, of shape (2, p)."""
    return np.log([[p.least for p in free], [p.most for p in free]])


def logs_of(free: Sequence[EstimatedParameter], values: Values) -> FloatArray:
    """Return the logarithms of free values, shape (p,)."""
    return np.log([max(values[p], p.least) for p in free])


def covariance(slopes: FloatArray, noise: float, spreads: FloatArray) -> FloatArray:
    """Return that of the logarithms after the runs were seen, shape (p, p)."""
    information = slopes.T @ slopes / noise**2 + np.diag(spreads**-2.0)
    return np.asarray(np.linalg.inv(information), dtype=np.float64)


def merged(
    values: Values, others: Mapping[EstimatedParameter, float]
) -> dict[EstimatedParameter, float]:
    """Return the values with some of them replaced, in the same order."""
    return {parameter: others.get(parameter, value) for parameter, value in values.items()}
