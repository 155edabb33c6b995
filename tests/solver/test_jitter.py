"""Iterations with noise."""

import math
import statistics
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.errors import InvalidOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.policies import POLICIES
from solver.simulation.engine import Noise, simulate
from solver.simulation.jitter import jitter
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import dags, networks

BOTH = [(name, POLICIES[name]) for name in ("wfbp", "tictac")]
FIFO = BOTH[:1]


def test_without_spread_it_is_the_iteration_itself():
    found = jitter(TWO_LAYERS, alike(RING), BOTH, 0.0, 7, 3)
    time = simulate(TWO_LAYERS, alike(RING), POLICIES["wfbp"]).iteration_time
    assert (found.p50_us, found.p95_us) == (time, time)
    assert found.mean_us == pytest.approx(time)
    (rival,) = found.rivals
    assert (rival.policy, rival.faster) == ("tictac", 0.0)  # the same time is not faster
    assert rival.p50_us == found.p50_us


def test_one_op_after_another_by_hand():
    # compute of 100, then a launch of 10 + 0.1 x 1000: the sum of two factors
    ops = [Op("c", COMPUTE, 100.0), Op("g", ALL_REDUCE, None, 1000, ("c",))]
    graph, runs, spread = build("t", ops), 400, 0.5
    found = jitter(graph, alike(Affine(10.0, 0.1)), FIFO, spread, 3, runs)
    random = np.random.Generator(np.random.PCG64(3))
    sigma = math.sqrt(math.log(1 + spread**2))
    times = []
    for _ in range(runs):
        c, g = (math.exp(sigma * z - sigma**2 / 2) for z in random.standard_normal(2).tolist())
        times.append(100 * c + 110 * g)
    # the line between the two nearest: 'inclusive' quantiles of the standard library
    twentieths = statistics.quantiles(times, n=20, method="inclusive")
    assert found.p50_us == pytest.approx(statistics.median(times))
    assert found.p95_us == pytest.approx(twentieths[18])
    assert found.mean_us == pytest.approx(statistics.mean(times))
    assert found.rivals == ()


def test_factors_have_mean_one_and_the_spread_asked_for():
    # compute alone decides: its factor is the time
    ops = [Op("c", COMPUTE, 1.0), Op("g", ALL_REDUCE, None, 1)]
    graph = build("t", ops)
    run = partial(jitter, graph, alike(Affine(0.0, 0.0)), FIFO)
    found = run(0.3, 0, 4000)
    assert found.mean_us == pytest.approx(1.0, abs=0.02)
    sigma = math.sqrt(math.log(1.09))
    assert found.p50_us == pytest.approx(math.exp(-(sigma**2) / 2), abs=0.02)
    assert found.p95_us == pytest.approx(math.exp(1.645 * sigma - sigma**2 / 2), rel=0.03)
    assert run(0.3, 0, 50) == run(0.3, 0, 50) != run(0.3, 1, 50)


def test_a_rival_wins_when_it_does():
    # to send all at once takes 9,600 us, one by one 8,750
    slow = [("single", POLICIES["single"]), *FIFO, ("again", POLICIES["single"])]
    found = jitter(TWO_LAYERS, alike(RING), slow, 0.01, 0, 20)
    assert [(r.policy, r.faster) for r in found.rivals] == [("wfbp", 1.0), ("again", 0.0)]
    assert found.rivals[0].p95_us < found.p95_us == found.rivals[1].p95_us


@given(graph=dags(), network=networks())
@settings(max_examples=cases(30))
def test_runs_are_simulations_under_the_same_noise(graph, network):
    found = jitter(graph, network, BOTH, 0.4, 5, 4)
    random = np.random.Generator(np.random.PCG64(5))
    sigma = math.sqrt(math.log1p(0.4**2))
    times = []
    for _ in range(4):
        exact = np.exp(sigma * random.standard_normal(len(graph.ops)) - sigma**2 / 2)
        factors = [round(factor * 2**24) / 2**24 for factor in exact.tolist()]
        durations = tuple(
            f * (op.duration_us or 0) for f, op in zip(factors, graph.ops, strict=True)
        )
        noise = Noise(durations, tuple(factors[p] for p in chain_of(graph).positions.tolist()))
        times.append([simulate(graph, network, p, noise).iteration_time for _, p in BOTH])
    assert found.mean_us == pytest.approx(statistics.mean(first for first, _ in times))
    wins = sum(rival < first * (1 - 1e-9) for first, rival in times)
    assert found.rivals[0].faster == pytest.approx(wins / 4)


@pytest.mark.parametrize(
    ("spread", "seed", "runs", "pointers"),
    [
        (-0.1, 0, 1, ["/spread"]),  # no such standard deviation
        (math.nan, 0, 1, ["/spread"]),
        (10.5, 0, 1, ["/spread"]),  # the median would be a hundredth of the mean
        (0.1, -1, 1, ["/seed"]),  # numpy takes none below 0
        (0.1, 0, 0, ["/runs"]),  # no times
        (0.1, 0, 10_001, ["/runs"]),  # too long
        (math.inf, -1, 0, ["/spread", "/seed", "/runs"]),  # all at once
    ],
)
def test_rejected(spread, seed, runs, pointers):
    with pytest.raises(InvalidOptions) as caught:
        jitter(TWO_LAYERS, alike(RING), BOTH, spread, seed, runs)
    assert [fault.pointer for fault in caught.value.faults] == pointers
    assert {fault.code for fault in caught.value.faults} == {"out_of_range"}
