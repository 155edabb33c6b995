r"""Draws of what parameters may be after the runs were seen, and what times follow from them.

A parameter that the runs do not determine is still drawn, as far off as was plausible before them:
so its spread goes through to every time that depends on it. Draws come of a normal distribution of
the logarithms about the likeliest values, with the inverse of :math:`J'J / σ^2 + diag(s^{-2})` as
covariance; each weighs by how likely it is over how often it is drawn, and weights are evened out
until an effective :data:`_EFFECTIVE` of the draws is left. What times depend on beside the figures
of the answer (:mod:`solver.estimation.shapes`) is drawn with them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from solver.estimation.least_squares import (
    EstimationProblem,
    limits_of,
    logs_of,
    merged,
    objective,
)
from solver.estimation.parameters import EstimatedParameter
from solver.estimation.runs import MeasuredRun
from solver.estimation.simulated import Values
from solver.units import FloatArray

#: So many draws are weighed by the runs with a time, and of these so many simulate all runs.
_WEIGHED, _KEPT = 160, 24

#: A speed that is taken from other models is off by this share of what it is where nobody says.
_OF_OTHERS = 0.3

#: Share of the draws that must count.
_EFFECTIVE = 0.25

#: An interval holds what is measured in nine of ten cases: so many standard deviations.
_WITHIN = 1.645


@dataclass(frozen=True, slots=True)
class PredictedTimes:
    """What times follow from draws of the parameters.

    Attributes
    ----------
    middles
        The exponential of the mean of the logarithm of each run's time [us].
    intervals
        Between which nine of ten measured times are [us]: the spread of the draws and the noise of
        a measurement.
    """

    middles: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]


def predicted_times(
    problem: EstimationProblem,
    runs: Sequence[MeasuredRun],
    free: Sequence[EstimatedParameter],
    values: Values,
    noise: float,
    covariance: FloatArray,
    likened: Collection[EstimatedParameter] = (),
) -> PredictedTimes:
    """Simulate runs with draws of the parameters.

    Parameters
    ----------
    problem
        The measured runs.
    runs
        Those whose times are wanted.
    free
        On what the measured runs depend, shapes included; the others are drawn as far off as was
        plausible.
    values
        The likeliest ones, of shapes too.
    noise
        How far apart simulated and measured times are, as a share.
    covariance
        Of the logarithms of the former.
    likened
        Speeds of models that are taken from other models: they are this much surer.

    Notes
    -----
    The same draws on every machine. :data:`_WEIGHED` simulations of each run with a time, and
    :data:`_KEPT` of each run.
    """
    others = [p for p in values if p not in free]
    random = np.random.Generator(np.random.PCG64(0))
    half = random.standard_normal((_WEIGHED // 2, len(values)))
    normal, beside = np.split(np.vstack([half, -half]), [len(free)], axis=1)
    variances, axes = np.linalg.eigh(covariance)
    told = normal @ (axes * np.sqrt(np.maximum(variances, 0.0))).T
    share = np.array([_OF_OTHERS if p in likened else 1.0 for p in others])
    untold = share * beside * np.where(beside > 0, *_sides(others))
    drawn = [
        merged(values, dict(zip([*free, *others], np.exp(x).tolist(), strict=True)))
        for x in np.clip(
            logs_of([*free, *others], values) + np.hstack([told, untold]),
            *limits_of([*free, *others]),
        )
    ]
    sums = np.array([objective(problem, free, each, noise) for each in drawn])
    kept = _resampled(_evened((normal**2).sum(axis=1) / 2 - sums))
    times = {k: problem.logs_at(drawn[k], runs) for k in dict.fromkeys(kept)}
    logs = np.array([times[k] for k in kept])
    middle, wide = logs.mean(axis=0), _WITHIN * np.hypot(logs.std(axis=0), noise)
    low, high = np.exp(middle - wide).tolist(), np.exp(middle + wide).tolist()
    return PredictedTimes(tuple(np.exp(middle).tolist()), tuple(zip(low, high, strict=True)))


def _sides(of: Sequence[EstimatedParameter]) -> tuple[FloatArray, FloatArray]:
    """Return the spreads above the medians, and below them."""
    return np.array([p.above for p in of]), np.array([p.spread for p in of])


def _evened(logs: FloatArray) -> FloatArray:
    """Return weights whose effective number is a share of theirs; their logarithms are given."""
    logs, power = logs - logs.max(), 1.0
    while True:
        weights = np.exp(power * logs)
        weights /= weights.sum()
        if 1 / (weights**2).sum() >= _EFFECTIVE * len(logs):
            return np.asarray(weights, dtype=np.float64)
        power *= 0.9


def _resampled(weights: FloatArray) -> list[int]:
    """Return places as often as they weigh, at equal steps of the sum."""
    at = (np.arange(_KEPT) + 0.5) / _KEPT
    places = np.searchsorted(np.cumsum(weights), at).clip(max=len(weights) - 1)
    return [int(place) for place in places]
