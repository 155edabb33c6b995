"""How long the iteration takes when no two are the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Network
from solver.errors import Fault, InvalidOptions
from solver.graph import Graph
from solver.limits import MAX_JITTER_RUNS, MAX_JITTER_SPREAD
from solver.simulation.engine import Noise, Policy, timer
from solver.simulation.factors import lognormal
from solver.units import FloatArray, same


@dataclass(frozen=True, slots=True)
class Spread:
    """Times over the runs [us]; quantiles on the line between the two nearest ordered times."""

    p50_us: float
    p95_us: float
    mean_us: float


@dataclass(frozen=True, slots=True)
class Rival(Spread):
    """Another policy under the same noise.

    Attributes
    ----------
    policy
        Its name.
    faster
        Share of the runs, 0..1, in which it takes less time than the first policy.
    """

    policy: str
    faster: float


@dataclass(frozen=True, slots=True)
class Jitter(Spread):
    """Times of the first policy over the runs, and its rivals in the order given."""

    rivals: tuple[Rival, ...]


def jitter(
    graph: Graph,
    network: Network,
    policies: Sequence[tuple[str, Policy]],
    spread: float,
    seed: int,
    runs: int,
) -> Jitter:
    r"""Simulate policies on many iterations that differ from what they were planned for.

    In each run each op has a factor of its own, the same under all policies: a compute op's
    duration and the time of a collective's launches are multiplied by it. A bucket has its first
    tensor's. A factor is :math:`\exp(\sigma z - \sigma^2/2)` with z standard normal and
    :math:`\sigma^2 = \ln(1 + spread^2)`: log-normal, of mean 1. Policies know the graph, not the
    factors.

    Parameters
    ----------
    graph, network
        What is simulated.
    policies
        With their names; the first one is the one asked for.
    spread
        Standard deviation of a factor, as its mean is 1; 0 is no noise.
    seed
        Of numpy's PCG64.
    runs
        How many iterations.

    Raises
    ------
    InvalidOptions
        When spread, seed or runs is out of range.

    Notes
    -----
    Runs x policies simulations; memory for one run.
    """
    if faults := list(_faults(spread, seed, runs)):
        raise InvalidOptions(faults)
    positions = chain_of(graph).positions
    durations = np.array(graph.durations)
    random = np.random.Generator(np.random.PCG64(seed))
    timers = [timer(graph, network, policy) for _, policy in policies]
    times = np.empty((runs, len(policies)))
    for run in times:
        factors = lognormal(random, spread, len(durations))
        noise = Noise(tuple((durations * factors).tolist()), tuple(factors[positions].tolist()))
        run[:] = [time(noise) for time in timers]
    first = times[:, 0].tolist()
    rivals = tuple(
        Rival(*_spread(times[:, k]), name, sum(map(_less, times[:, k].tolist(), first)) / runs)
        for k, (name, _) in enumerate(policies)
        if k
    )
    return Jitter(*_spread(times[:, 0]), rivals)


def _spread(times: FloatArray) -> tuple[float, float, float]:
    return (
        float(np.quantile(times, 0.5, method="linear")),
        float(np.quantile(times, 0.95, method="linear")),
        float(times.mean()),
    )


def _less(rival: float, first: float) -> bool:
    return rival < first and not same(rival, first)


def _faults(spread: float, seed: int, runs: int) -> Iterator[Fault]:
    if not 0 <= spread <= MAX_JITTER_SPREAD:
        detail = f"spread must be 0 to {MAX_JITTER_SPREAD:g}, got {spread!r}."
        yield Fault("/spread", FaultCode.OUT_OF_RANGE, detail)
    if seed < 0:
        yield Fault("/seed", FaultCode.OUT_OF_RANGE, f"seed must be 0 or more, got {seed!r}.")
    if not 1 <= runs <= MAX_JITTER_RUNS:
        yield Fault(
            "/runs", FaultCode.OUT_OF_RANGE, f"runs must be 1 to {MAX_JITTER_RUNS:,}, got {runs!r}."
        )
