"""Estimate costs from iteration times; say which of them the times determine; predict the rest."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import median

import numpy as np

from solver.codes import FaultCode
from solver.costs import Cluster
from solver.errors import Fault, InvalidMeasurements
from solver.estimation.least_squares import EstimationProblem, covariance, merged
from solver.estimation.parameters import COMPUTE, EstimatedParameter, parameters_of
from solver.estimation.posterior import predicted_times
from solver.estimation.refinement import MIDDLE, begun, noise_of, shaped
from solver.estimation.runs import MeasuredRun
from solver.estimation.simulated import Simulator, Values
from solver.units import FloatArray

#: A parameter is determined when the standard deviation of its logarithm is at most this, and at
#: most such a share of what it was before the runs.
_DETERMINED, _NARROWER = 0.25, 0.5

#: So many times the spread is what the runs must tell by themselves.
_WIDE = 3.0

#: Of this share of its spread from before the runs, a parameter does not follow from them at all.
_UNTOLD = 0.95

#: Logarithms that go together by more than this are told together only.
_TOGETHER = 0.7

_UNSEEN = "No row with a time depends on it."


@dataclass(frozen=True, slots=True)
class Estimated:
    """A parameter after the runs were seen.

    Attributes
    ----------
    parameter
        Which one.
    value
        Its estimate; None when the runs do not determine it.
    error
        Standard deviation of its logarithm: a share of the value; None where that is.
    used
        With what the runs are simulated: the value, or the likeliest one where that is unsure.
    reason
        Why there is no value; None where there is one.
    """

    parameter: EstimatedParameter
    value: float | None
    error: float | None
    used: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What iteration times say.

    Attributes
    ----------
    parameters
        In the order in which they are kept.
    times
        Time of an iteration of each run [us]: of one with a time simulated with what is used, of
        one without the middle of its interval.
    intervals
        Between which nine of ten measured times of each run are [us]: draws of all that the runs
        leave open, and the noise of a measurement (:mod:`solver.estimation.posterior`).
    errors
        Simulated over measured time - 1; None where nothing was measured.
    median_error, worst_error
        Of the absolute values of these.
    noise
        How far simulated and measured times are apart, as a share: what the errors of the
        parameters rest on.
    simulations
        How many runs were simulated.
    """

    parameters: tuple[Estimated, ...]
    times: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    errors: tuple[float | None, ...]
    median_error: float
    worst_error: float
    noise: float
    simulations: int


def estimate(
    runs: Sequence[MeasuredRun],
    cluster: Cluster | Callable[[int], Cluster],
    parameters: Sequence[str] = (),
) -> Estimate:
    """Fit start-up, hop, bandwidth, contention and the speed of compute to iteration times.

    What is likeliest after the runs, given what is plausible before them
    (:mod:`solver.estimation.least_squares`, :mod:`solver.estimation.parameters`): a parameter moves
    as far as the runs say, and stays where it was where they say nothing. It has a value when they
    determine it within a quarter, and at least twice as well as it was known before; else the
    reason is told, and how far off it may be is in the interval of every time.

    Parameters
    ----------
    runs
        Those with a time are fitted to, the others predicted.
    cluster
        What is known of the network: its algorithm, and the defaults of what is estimated. Its
        workers are those of each run; a function of these may say more.
    parameters
        What else to estimate, as ``policy.parameter``: times of policies.

    Raises
    ------
    InvalidMeasurements
        When no run has a time.
    InvalidOptions
        When a parameter cannot be estimated, or the cluster's cost was measured.
    InvalidCluster
        When a lane in use has no cost.

    Notes
    -----
    Some hundred simulations of each run, and as many more for each parameter of a policy; the same
    runs give the same estimate.
    """
    known = [run for run in runs if run.time_us is not None]
    if not known:
        detail = "No row has a time: there is nothing to fit to."
        raise InvalidMeasurements([Fault("/rows", FaultCode.MISSING_FIELD, detail)])
    on = cluster if callable(cluster) else lambda n: replace(cluster, workers=n)
    chosen = parameters_of(runs, on(max(run.workers for run in runs)), parameters)
    problem = EstimationProblem(Simulator(on), known, np.log([run.time_us or 0.0 for run in known]))
    free = [p for p in chosen if any(p.touches(run) for run in known)]
    reasons = {p: _UNSEEN for p in chosen if p not in free}
    values = begun(problem, chosen, free)
    likened = _of_other_models(free, values, known, reasons)
    return _told(problem, runs, chosen, free, merged(values, likened), reasons, likened)


def _sure(
    problem: EstimationProblem, values: Values, free: Sequence[EstimatedParameter]
) -> FloatArray:
    """Return the lesser of the slopes on both sides: beside a jump one of them tells nothing."""
    up, down = (problem.slopes(values, free, by) for by in (MIDDLE, -MIDDLE))
    return np.where(np.abs(up) < np.abs(down), up, down)


def _reason(
    problem: EstimationProblem,
    at: int,
    loose: Sequence[int],
    free: Sequence[EstimatedParameter],
    values: Values,
    after: FloatArray,
) -> str:
    """Say why the runs do not determine a parameter, one of those that they leave loose."""
    deviations = np.sqrt(np.diag(after))
    together = [
        free[i].label
        for i in loose
        if i != at and abs(after[at, i]) > _TOGETHER * deviations[at] * deviations[i]
    ]
    if together:
        return f"The rows tell it only together with {' and '.join(together)}."
    if deviations[at] > _UNTOLD * _WIDE * free[at].spread:
        twice = problem.slopes(values, [free[at]], log(2))
        change = 100 * log(2) * float(np.max(np.abs(twice)))
        return f"Twice of it changes no time of the rows by more than {change:.2g} %."
    value, factor = values[free[at]], exp(2 * float(deviations[at]))
    low, high = max(free[at].least, value / factor), min(free[at].most, value * factor)
    return f"The rows leave it between {low:.3g} and {high:.3g}."


def _of_other_models(
    free: Sequence[EstimatedParameter],
    values: Values,
    known: Sequence[MeasuredRun],
    reasons: dict[EstimatedParameter, str],
) -> dict[EstimatedParameter, float]:
    """Give models of which no run was timed the mean speed of those that have one."""
    timed = {run.model for run in known}
    speeds = [log(values[p]) for p in free if p.name == COMPUTE]
    others = [p for p in values if p.name == COMPUTE and p.of not in timed and speeds]
    for parameter in others:
        reasons[parameter] = "No row of this model has a time; the mean of the others is used."
    return {p: exp(sum(speeds) / len(speeds)) for p in others}


def _told(
    problem: EstimationProblem,
    runs: Sequence[MeasuredRun],
    chosen: Sequence[EstimatedParameter],
    free: Sequence[EstimatedParameter],
    values: Values,
    reasons: dict[EstimatedParameter, str],
    likened: Collection[EstimatedParameter],
) -> Estimate:
    """Simulate all runs with the values, and say how certain these are."""
    noise = noise_of(problem, values, len(free))
    slopes = _sure(problem, values, free)
    spreads = np.array([p.spread for p in free])
    after, alone = (covariance(slopes, noise, by * spreads) for by in (1.0, _WIDE))
    loose = [
        i
        for i, parameter in enumerate(free)
        if alone[i, i] ** 0.5 > min(_DETERMINED, _NARROWER * parameter.spread)
    ]
    reasons |= {free[i]: _reason(problem, i, loose, free, values, alone) for i in loose}
    errors = np.sqrt(np.diag(after)).tolist()
    wide, at = shaped(problem, runs, free, values, noise)
    about = covariance(_sure(problem, at, wide), noise, np.array([p.spread for p in wide]))
    predicted = predicted_times(problem, runs, wide, at, noise, about, likened)
    deviations = {p: errors[i] for i, p in enumerate(free) if i not in loose}
    times = [
        middle if run.time_us is None else problem.simulator.time(run, values)
        for run, middle in zip(runs, predicted.middles, strict=True)
    ]
    apart = [
        None if run.time_us is None else time / run.time_us - 1
        for run, time in zip(runs, times, strict=True)
    ]
    sizes = [abs(error) for error in apart if error is not None]
    return Estimate(
        parameters=tuple(
            Estimated(p, values[p], deviations[p], values[p], None)
            if p in deviations
            else Estimated(p, None, None, values[p], reasons[p])
            for p in chosen
        ),
        times=tuple(times),
        intervals=predicted.intervals,
        errors=tuple(apart),
        median_error=median(sizes),
        worst_error=max(sizes),
        noise=noise,
        simulations=problem.simulations + sum(run.time_us is not None for run in runs),
    )
