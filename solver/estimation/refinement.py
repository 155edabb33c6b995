"""Fits from afar to near: from a grid, over jumps, to where the noise that is left is assumed."""

from collections.abc import Sequence

import numpy as np

from solver.estimation.least_squares import EstimationProblem, fit, merged, objective, searched
from solver.estimation.parameters import SLOWDOWN, EstimatedParameter
from solver.estimation.runs import MeasuredRun
from solver.estimation.shapes import shapes_of
from solver.estimation.simulated import Values
from solver.estimation.starts import starts

#: Times are taken to agree within the first where there are too few to tell, never within less than
#: the second; within the third they can hardly agree by chance.
NOISE, _LEAST_NOISE, _NO_CHANCE = 0.03, 1e-6, 2e-3

#: With less noise than this a fit from another point of the grid is not tried.
_GOOD = 0.003

#: So many fits from points of the grid go on.
_BEST = 2

#: The noise that a fit from a point of the grid assumes.
_ROUGH = 0.1

#: More runs than parameters that it takes to see how far times and simulation are apart, or only
#: whether they are farther than assumed or agree exactly: by a quantile of the misfits, over that
#: of a normal distribution, so that odd times do not count.
_ENOUGH, _FEW = 6, 2
_QUANTILE, _NORMAL = 0.75, 1.1503

#: Steps of the logarithms in differences: of a fit one after the other, and of the uncertainty.
_STEPS = (0.01, 1e-3, 1e-5)
_COARSE, _FINE = 0.03, _STEPS[-1]
MIDDLE = 0.01

#: Most fits until the noise settles, and what is settled.
_REPEATS, _SETTLED = 12, 0.97


def begun(
    problem: EstimationProblem,
    parameters: Sequence[EstimatedParameter],
    free: Sequence[EstimatedParameter],
) -> dict[EstimatedParameter, float]:
    """Fit what the runs may tell, from the best points of a grid."""
    held = {p: p.default for p in parameters if p not in free}
    smooth = [p for p in free if not p.is_of_policy]
    rough = [
        fit(problem, smooth, start | held, _ROUGH, _COARSE) for start in starts(problem, parameters)
    ]
    rough.sort(key=lambda values: objective(problem, free, values, NOISE))
    fits: list[dict[EstimatedParameter, float]] = []
    for values in rough[:_BEST]:
        fits.append(_refined(problem, free, values))
        if noise_of(problem, fits[-1], len(free)) <= _GOOD:
            break
    return min(fits, key=lambda values: objective(problem, free, values, NOISE))


def _refined(
    problem: EstimationProblem, free: Sequence[EstimatedParameter], values: Values
) -> dict[EstimatedParameter, float]:
    """Fit with ever smaller steps, and the noise that the fit before left.

    Times jump where a policy decides otherwise, such as at a tick of Horovod's clock: a long step
    sees over jumps, a short one is exact, and a search along the axes of the uncertainty goes from
    one valley to the next.
    """
    found = dict(values)
    noise = noise_of(problem, found, len(free))
    for step in _STEPS:
        for improve in (fit, searched):
            if improve is searched and (step == _FINE or noise <= 2 * _LEAST_NOISE):
                continue
            tried = improve(problem, free, found, noise, step)
            if objective(problem, free, tried, noise) < objective(problem, free, found, noise):
                found = tried
        noise = noise_of(problem, found, len(free))
    # contention of none is a bound, which slopes hardly come to: it is tried by itself
    alone = [p for p in free if p.name != SLOWDOWN]
    none = {p: 1.0 for p in free if p.name == SLOWDOWN}
    exact = _settled(problem, free, found, _NO_CHANCE)
    if none:
        without = _settled(problem, alone, merged(found, none), _NO_CHANCE)
        exact = min(exact, without, key=lambda each: noise_of(problem, each, len(free)))
    if noise_of(problem, exact, len(free)) <= _NO_CHANCE:
        return exact
    return _settled(problem, free, found, noise)


def _settled(
    problem: EstimationProblem, free: Sequence[EstimatedParameter], values: Values, noise: float
) -> dict[EstimatedParameter, float]:
    """Fit until the noise that is assumed is the one that is left."""
    found = dict(values)
    for _ in range(_REPEATS):
        found = fit(problem, free, found, noise, _FINE)
        left = noise_of(problem, found, len(free))
        if left > _SETTLED * noise:
            break
        noise = left
    return found


def shaped(
    problem: EstimationProblem,
    runs: Sequence[MeasuredRun],
    free: Sequence[EstimatedParameter],
    values: Values,
    noise: float,
) -> tuple[list[EstimatedParameter], dict[EstimatedParameter, float]]:
    """Fit once more, with what times depend on beside figures (:mod:`solver.estimation.shapes`).

    Where times agree closer than by chance, the figures alone explain them, and nothing is beside.

    Returns
    -------
    tuple
        What the measured runs depend on, and a value of it and of all that other runs do.
    """
    if noise <= _NO_CHANCE:
        return list(free), dict(values)
    shapes = shapes_of(runs)
    wide = [*free, *(p for p in shapes if any(p.touches(run) for run in problem.runs))]
    return wide, fit(problem, wide, {**values, **{p: p.median for p in shapes}}, noise, MIDDLE)


def noise_of(problem: EstimationProblem, values: Values, count: int) -> float:
    """Return how far times and simulation are apart, as a share."""
    misfits = np.abs(problem.misfits(values))
    more = misfits.size - count
    if more < _FEW:
        return NOISE
    apart = float(np.quantile(misfits, _QUANTILE)) / _NORMAL
    apart *= float(np.sqrt(misfits.size / more))
    is_known = more >= _ENOUGH or apart <= _NO_CHANCE
    return max(apart, _LEAST_NOISE if is_known else NOISE)
