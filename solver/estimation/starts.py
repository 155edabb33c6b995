"""Where a fit begins: the best of a coarse grid, so that it does not end in a far valley."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import inf
from statistics import median

import numpy as np

from solver.chain import chain_of
from solver.estimation.least_squares import EstimationProblem
from solver.estimation.parameters import BANDWIDTH, COMPUTE, HOP, SHARE, STARTUP, EstimatedParameter
from solver.estimation.runs import MeasuredRun

#: Times the median, of each network alone.
_GRID: Mapping[str, tuple[float, ...]] = {
    BANDWIDTH: (0.1, 0.3, 1.0, 3.0, 10.0),
    SHARE: (0.25, 0.5, 1.0),
    STARTUP: (0.5, 5.0),
    HOP: (0.2, 4.0),
}

#: Shares of the shortest iteration that are compute, where no run of one worker says it.
_SHARES = (0.95, 0.6)

#: Times the median, of one parameter of a policy after the other.
_OF_POLICIES = (0.03, 0.06, 0.1, 0.18, 0.3, 0.6, 1.8, 3.0, 10.0)

#: So many points of the grid are begun at.
_BEST = 3


def starts(
    problem: EstimationProblem, parameters: Sequence[EstimatedParameter]
) -> list[dict[EstimatedParameter, float]]:
    """Return values to begin at: the best of a grid, for each value of a policy's parameter."""
    begun: list[dict[EstimatedParameter, float]] = []
    for others in _policies(parameters):
        found = _ranked(problem, parameters, others)
        count = 1 if others else _BEST
        begun += [values for _, values in sorted(found, key=lambda each: each[0])[:count]]
    return begun


def _ranked(
    problem: EstimationProblem,
    parameters: Sequence[EstimatedParameter],
    others: dict[EstimatedParameter, float],
) -> list[tuple[float, dict[EstimatedParameter, float]]]:
    """Return the best points of a grid with the misfit of each."""
    networks = list(dict.fromkeys(run.network for run in problem.runs))
    found: list[tuple[float, dict[EstimatedParameter, float]]] = []
    for share in _SHARES:
        ranked: dict[str, list[tuple[float, int]]] = {network: [] for network in networks}
        begin = _begin(problem, parameters, share) | others
        points = [begin | more for more in _grid(parameters)]
        for k, point in enumerate(points):
            misfits = np.abs(problem.misfits(point))
            for network in networks:
                here = [run.network == network for run in problem.runs]
                ranked[network].append((float(misfits[here].sum()), k))
        for place in range(min(_BEST, len(points))):
            total, values = 0.0, dict(points[0])
            for network in networks:
                misfit, k = sorted(ranked[network])[place]
                total += misfit
                own = {p: v for p, v in points[k].items() if p.of == network and p.name in _GRID}
                values |= own
            found.append((total, values))
    return found


def _begin(
    problem: EstimationProblem, parameters: Sequence[EstimatedParameter], share: float
) -> dict[EstimatedParameter, float]:
    """Return the medians, and compute at the speed that explains such a share of the times."""
    begin = {p: p.median for p in parameters}
    return begin | {p: _speed(problem.runs, p.of, share) for p in begin if p.name == COMPUTE}


def _speed(runs: Sequence[MeasuredRun], model: str, share: float) -> float:
    """Return a speed: that of one worker, else less than leaves no time to send."""
    alone, least = [], inf
    for run in runs:
        compute = chain_of(run.graph).compute_time
        if run.model != model or run.time_us is None or compute <= 0:
            continue
        if run.workers == 1:
            alone.append(run.time_us / compute)
        least = min(least, run.time_us / compute)
    if alone:
        return median(alone)
    return share * least if least < inf else 1.0


def _grid(parameters: Sequence[EstimatedParameter]) -> Iterator[dict[EstimatedParameter, float]]:
    """Yield the points, the same in all networks."""
    names = [name for name in _GRID if any(p.name == name for p in parameters)]
    for factors in product(*(_GRID[name] for name in names)):
        times = dict(zip(names, factors, strict=True))
        yield {p: p.median * times[p.name] for p in parameters if p.name in times}


def _policies(
    parameters: Sequence[EstimatedParameter],
) -> Iterator[dict[EstimatedParameter, float]]:
    """Yield values of the policies' parameters, of which at most one is not its median."""
    yield {}
    for parameter in parameters:
        if parameter.is_of_policy:
            for times in _OF_POLICIES:
                yield {
                    parameter: min(parameter.most, max(parameter.least, parameter.median * times))
                }
