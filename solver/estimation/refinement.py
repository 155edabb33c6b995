"""Fits from afar to near: from a grid, over jumps, to where the noise that is left is assumed."""

from collections.abc import Sequence

import numpy as np

from solver.estimation.least_squares import Problem, fit, objective, searched
from solver.estimation.parameters import Parameter
from solver.estimation.simulated import Values
from solver.estimation.starts import starts

#: Times are taken to agree within the first where there are too few to tell, never within less than
#: the second; within the third they can hardly agree by chance.
NOISE, _LEAST_NOISE, _NO_CHANCE = 0.03, 1e-4, 2e-3

#: With less noise than this a fit from another point of the grid is not tried.
_GOOD = 0.003

#: The noise that a fit from a point of the grid assumes.
_ROUGH = 0.1

#: More runs than parameters that it takes to see how far times and simulation are apart: by a
#: quantile of the misfits, over that of a normal distribution, so that odd times do not count.
_ENOUGH, _FEW = 6, 2
_QUANTILE, _NORMAL = 0.75, 1.1503

#: Steps of the logarithms in differences: of a fit one after the other, and of the uncertainty.
_STEPS = (0.01, 1e-3, 1e-5)
_COARSE, _FINE = 0.03, _STEPS[-1]
MIDDLE = 0.01

#: Most points that a fit looks at, most fits until the noise settles, and what is settled.
_ROUNDS, _REPEATS, _SETTLED = 15, 6, 0.8


def begun(
    problem: Problem, parameters: Sequence[Parameter], free: Sequence[Parameter]
) -> tuple[dict[Parameter, float], float]:
    """Fit what the runs may tell, from the best points of a grid; return values and noise."""
    held = {p: p.default for p in parameters if p not in free}
    rough = [
        fit(problem, free, start | held, _ROUGH, _COARSE, rounds=_ROUNDS)
        for start in starts(problem, parameters)
    ]
    found: list[tuple[float, int]] = []
    fits = []
    for values, _ in sorted(rough, key=lambda each: each[1]):
        begin = noise_of(problem, values, len(free))
        fits.append(refined(problem, free, values, begin))
        found.append((objective(problem, fits[-1][0], NOISE), len(found)))
        if fits[-1][1] <= _GOOD:
            break
    return fits[min(found)[1]]


def refined(
    problem: Problem, free: Sequence[Parameter], values: Values, noise: float
) -> tuple[dict[Parameter, float], float]:
    """Fit with ever smaller steps, and the noise that the fit before left.

    Times jump where a policy decides otherwise, such as at a tick of Horovod's clock: a long step
    sees over jumps, a short one is exact, and a search along the axes of the uncertainty goes from
    one valley to the next.
    """
    found = dict(values)
    for step in _STEPS:
        for improve in (_fitted, searched):
            if improve is searched and (step == _FINE or noise <= 2 * _LEAST_NOISE):
                continue
            tried = improve(problem, free, found, noise, step)
            if objective(problem, tried, noise) < objective(problem, found, noise):
                found = tried
        noise = noise_of(problem, found, len(free))
    exact, least = settled(problem, free, found, _NO_CHANCE)
    if least <= _NO_CHANCE:
        return exact, least
    return settled(problem, free, found, noise)


def settled(
    problem: Problem,
    free: Sequence[Parameter],
    values: Values,
    noise: float,
    *,
    is_open: bool = False,
) -> tuple[dict[Parameter, float], float]:
    """Fit until the noise that is assumed is the one that is left."""
    found, least = dict(values), noise
    for _ in range(_REPEATS):
        tried, _ = fit(problem, free, found, noise, _FINE, rounds=_ROUNDS, is_open=is_open)
        noise = noise_of(problem, tried, len(free))
        if noise <= least:
            found = tried
        if noise > _SETTLED * least or noise <= _LEAST_NOISE:
            break
        least = noise
    return found, min(noise, least)


def _fitted(
    problem: Problem, free: Sequence[Parameter], values: Values, noise: float, step: float
) -> dict[Parameter, float]:
    return fit(problem, free, values, noise, step, rounds=_ROUNDS)[0]


def noise_of(problem: Problem, values: Values, count: int) -> float:
    """Return how far times and simulation are apart, as a share."""
    misfits = np.abs(problem.misfits(values))
    more = misfits.size - count
    apart = float(np.quantile(misfits, _QUANTILE)) / _NORMAL
    apart *= float(np.sqrt(misfits.size / max(1, more)))
    is_known = more >= _ENOUGH or (more >= _FEW and apart <= _NO_CHANCE)
    return max(apart, _LEAST_NOISE if is_known else NOISE)
