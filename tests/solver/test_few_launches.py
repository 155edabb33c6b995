"""The fewest launches within a tolerance of the best time, beside brute force."""

import random
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.status import FEASIBLE, OPTIMAL, WITHIN, status_of
from solver.chain import chain_of
from solver.costs import Affine, Cluster, alike, network_of
from solver.errors import InvalidOptions
from solver.fusion.chain.groups import fewest_groups
from solver.fusion.chain.judge import ChainJudge
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.models.layers import Layer, iteration
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.simulation.engine import iteration_time
from solver.simulation.replay import replay
from solver.units import same, slack
from tests.sampling import cases
from tests.strategies import affine_costs, costs, dags, graphs, networks

BEST = Options(baselines=(), launch_tolerance=0)


def partitions(items):
    """Every way to part items in buckets."""
    if not items:
        yield []
        return
    first, *rest = items
    for parted in partitions(rest):
        yield [[first], *parted]
        for k, bucket in enumerate(parted):
            yield [*parted[:k], [first, *bucket], *parted[k + 1 :]]


def ends(order, rows, cost):
    """The time of whole launches in an order."""
    now = value = 0.0
    for bucket in order:
        now = max(now, *(rows[i][0] for i in bucket)) + cost.time(sum(rows[i][2] for i in bucket))
        value = max(value, now + max(rows[i][1] for i in bucket))
    return value


def fewest_of_all(rows, cost, limit):
    """The fewest whole launches that end in time, of all buckets in all orders; None if none do."""
    for parted in sorted(partitions(list(range(len(rows)))), key=len):
        if any(ends(order, rows, cost) <= limit for order in permutations(parted)):
            return len(parted)
    return None


def drawn(seed):
    """A backward pass of up to six tensors, and a forward pass that needs most in its order."""
    generator = random.Random(seed)
    count = generator.randint(3, 6)
    ops = []
    for i in range(count):
        before = (f"b{i - 1}",) if i else ()
        ops.append(Op(f"b{i}", COMPUTE, float(generator.randint(1, 40)), None, before))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, generator.randint(1, 24), (f"b{i}",)))
    for i in range(count):
        j = count - 1 - i if generator.random() < 0.8 else generator.randrange(count)
        waits = f"f{i - 1}" if i else f"b{count - 1}"
        ops.append(Op(f"f{i}", COMPUTE, float(generator.randint(1, 40)), None, (f"g{j}", waits)))
    cost = Affine(generator.choice((0, 1, 4, 12, 40)), generator.choice((0.5, 1.0, 2.0)))
    return build(f"drawn {seed}", ops), cost, generator.choice((0.001, 0.01, 0.05, 0.1))


def rows_of(graph):
    chain = chain_of(graph)
    return list(zip(chain.release.tolist(), chain.tail.tolist(), chain.bytes.tolist(), strict=True))


def test_small_plans_have_the_fewest_launches_of_all():
    above = []
    for seed in range(25):
        graph, cost, tolerance = drawn(seed)
        best = plan(graph, alike(cost), BEST)
        found = plan(graph, alike(cost), replace(BEST, launch_tolerance=tolerance))
        limit = best.iteration_time_us * (1 + tolerance)
        if (fewest := fewest_of_all(rows_of(graph), cost, limit)) is not None:
            above.append(len(found.launches) - fewest)
    assert len(above) > 20
    assert max(above) == 0


def is_kept(best, found, tolerance):
    """Check a plan with a tolerance beside the same without."""
    assert best.iteration_time_us == best.best_time_us
    assert found.best_time_us <= best.best_time_us  # less where fewer launches are faster
    assert found.iteration_time_us <= best.iteration_time_us * (1 + tolerance)
    assert len(found.launches) <= len(best.launches)
    assert found.bound == best.bound
    if best.status == OPTIMAL:
        assert found.status in (OPTIMAL, WITHIN)
    else:
        assert found.status == best.status == FEASIBLE


@given(graph=graphs(), cost=costs(), tolerance=st.sampled_from([1e-8, 0.001, 0.05]))
@settings(max_examples=cases(60))
def test_a_plan_of_a_layered_graph_keeps_the_tolerance(graph, cost, tolerance):
    best = plan(graph, alike(cost), BEST)
    found = plan(graph, alike(cost), replace(BEST, launch_tolerance=tolerance))
    is_kept(best, found, tolerance)
    assert same(check(found.graph, alike(cost), found), found.iteration_time_us)


@given(graph=dags(), network=networks((1.0, 1.26)), tolerance=st.sampled_from([0.001, 0.05]))
@settings(max_examples=cases(60))
def test_a_plan_of_any_graph_keeps_the_tolerance(graph, network, tolerance):
    best = plan(graph, network, BEST)
    found = plan(graph, network, replace(BEST, launch_tolerance=tolerance))
    is_kept(best, found, tolerance)
    assert same(check(found.graph, network, found), found.iteration_time_us)


@given(graph=graphs(), cost=affine_costs(), tolerance=st.sampled_from([0.001, 0.1]))
@settings(max_examples=cases(60))
def test_a_plan_with_a_barrier_keeps_the_tolerance_in_runs(graph, cost, tolerance):
    options = replace(BEST, barrier=True)
    best = plan(graph, alike(cost), options)
    found = plan(graph, alike(cost), replace(options, launch_tolerance=tolerance))
    is_kept(best, found, tolerance)
    assert [i for bucket, _ in found.launches for i in bucket] == [*range(len(chain_of(graph)))]


def test_other_fusions_have_no_tolerance():
    network = network_of(Cluster(8, 10, 50))
    for fusion in ("maxmin", "none"):
        some = Options(fusion, baselines=())
        assert plan(MODELS["vgg16"](), network, some) == plan(
            MODELS["vgg16"](), network, replace(some, launch_tolerance=0)
        )


@pytest.mark.parametrize("tolerance", [-0.001, 0.11, float("nan")])
def test_a_tolerance_out_of_range_is_refused(tolerance):
    with pytest.raises(InvalidOptions) as raised:
        plan(MODELS["vgg16"](), Cluster(8, 10, 50), Options(launch_tolerance=tolerance))
    assert [fault.pointer for fault in raised.value.faults] == ["/launch_tolerance"]


def test_without_start_up_thousands_of_launches_become_few():
    generator = np.random.default_rng(0)
    layers = [
        Layer(
            f"layer{i}",
            float(generator.integers(20, 200)),
            float(generator.integers(40, 400)),
            ((f"layer{i}", int(generator.integers(1, 2_000_000))),),
        )
        for i in range(400)
    ]
    graph, network = iteration("400 layers", layers), network_of(Cluster(16, 10, 0))
    best = plan(graph, network, BEST)
    found = plan(graph, network, replace(BEST, launch_tolerance=0.002))
    is_kept(best, found, 0.002)
    assert len(best.launches) > 300
    assert len(found.launches) <= 40


def test_a_tolerance_is_judged_with_what_launches_slow_down():
    network = network_of(Cluster(8, 10, 50, compute_slowdown=1.3))
    graph = MODELS["vgg16"]()
    best = plan(graph, network, BEST)
    found = plan(graph, network, replace(BEST, launch_tolerance=0.01))
    is_kept(best, found, 0.01)
    assert len(found.launches) < len(best.launches)
    time = iteration_time(graph, network, replay(found.launches))
    assert time == found.iteration_time_us


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 6)),
        min_size=1,
        max_size=6,
    ),
    cost=costs(),
    spare=st.sampled_from([0.0, 50.0, 500.0]),
)
@settings(max_examples=cases(100))
def test_groups_are_the_fewest_of_those_of_neighbours(rows, cost, spare):
    count = len(rows)
    releases = sorted(r for r, _, _ in rows)
    tails = sorted(q for _, q, _ in rows)
    ops = []
    for i in range(count):
        ops.append(Op(f"b{i}", COMPUTE, 100.0 * releases[i] + i))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, 50_000 * rows[i][2], (f"b{i}",)))
        ops.append(Op(f"f{i}", COMPUTE, 100.0 * tails[i] + i, None, (f"g{i}",)))
    chain = chain_of(build("layers", ops))
    ways = list(neighbours(rows_of(build("layers", ops)), cost))
    limit = min(value for _, value in ways) + spare
    found = fewest_groups(chain, cost, limit + slack(limit), count)
    assert found is not None
    assert ChainJudge(chain, cost).stretch(found).value <= limit + 2 * slack(limit)
    assert len(found) == min(number for number, value in ways if value <= limit + slack(limit))


def neighbours(rows, cost):
    """Launches and time of all groups of neighbours around a core, before it or after it."""
    count = len(rows)
    for cuts in range(1 << (count - 1)):
        groups = [[0]]
        for i in range(1, count):
            if cuts >> (i - 1) & 1:
                groups.append([i])
            else:
                groups[-1].append(i)
        *others, core = groups
        for sides in range(1 << len(others)):
            first = [g for k, g in enumerate(others) if not sides >> k & 1]
            last = [g for k, g in enumerate(others) if sides >> k & 1]
            yield len(groups), ends([*first, core, *reversed(last)], rows, cost)


def test_a_status_speaks_of_the_plan_and_of_the_best_time():
    assert status_of(10.0, 10.0, 10.0) == OPTIMAL
    assert status_of(10.01, 10.0, 10.0) == WITHIN
    assert status_of(10.01, 10.0, 9.0) == FEASIBLE
