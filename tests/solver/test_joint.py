"""The joint fusion: never beaten, by policies, by exhaustive search, by random moves."""

import random
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.chain import lower_bound
from solver.bounds.status import OPTIMAL
from solver.buckets import Launch
from solver.chain import Chain, chain_of
from solver.costs import Affine, Cluster, alike, cost_of, network_of
from solver.fusion.chain.exhaust import best_of_all
from solver.fusion.chain.fewest import without_needless_launches
from solver.fusion.chain.improve import improve
from solver.fusion.chain.joint import joint
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.maxmin import max_min_cuts
from solver.fusion.chain.nested import from_both_ends
from solver.fusion.search import Allowance, Budget, SearchOptions
from solver.models import MODELS
from solver.models.layers import Layer, iteration
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice, candidates, defaults
from solver.schedule.execute import cut_at_releases
from solver.units import slack
from tests import oracles
from tests.sampling import cases
from tests.strategies import affine_costs, costs, graphs


def drawn(generator: np.random.Generator, most: int, *, layered: bool) -> tuple[Chain, Affine]:
    """Random tensors on a coarse grid; a layer chain's tails ascend with its releases."""
    count = int(generator.integers(1, most + 1))
    release = np.sort(generator.integers(0, 12, count)).astype(np.float64) * 100
    tail = generator.integers(0, 12, count).astype(np.float64) * 100
    if layered:
        tail.sort()
    sizes = generator.integers(1, 7, count) * 100_000
    chain = Chain(np.arange(count), release, tail, sizes, float((release + tail).max()))
    return chain, Affine(float(generator.choice([0, 50, 200, 400])), 1e-3)


BY_HAND = Chain(
    np.arange(2),
    np.array([0.0, 500.0]),
    np.array([0.0, 500.0]),
    np.array([1_000_000, 100_000]),
    1000.0,
)


def joint_value(chain, cost, search=None):
    search = replace(search or SearchOptions(), candidates=candidates())
    launches = joint(chain, cost, partial(cut_at_releases, cost=cost), search)
    return ChainJudge(chain, cost).value(launches), launches


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("layered", [True, False])
def test_no_policy_beats_joint_on_thousands_of_chains(seed, layered):
    generator = np.random.default_rng(seed)
    for _ in range(cases(300)):
        chain, cost = drawn(generator, 14, layered=layered)
        value, _ = joint_value(chain, cost)
        assert lower_bound(chain, cost).value <= value + slack(value)
        for name, policy in POLICIES.items():
            rival = oracles.policy_time(chain, cost, policy)
            assert value <= rival + slack(rival), name


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(200))
def test_no_baseline_beats_joint_requested_or_not(graph, cost):
    asked = (
        *(Choice(name) for name in POLICIES),
        Choice("ddp", parameters=(("bucket_cap_mb", 0.3), ("first_bucket_mb", 0.1))),
        Choice("p3", barrier=True, parameters=(("slice_bytes", 50_000),)),
        Choice("bytescheduler", parameters=(("partition_bytes", 150_000), ("credit_bytes", 1))),
    )
    with_rivals = plan(graph, alike(cost), Options(baselines=asked))
    alone = plan(graph, alike(cost), Options(baselines=()))
    for other in with_rivals.baselines:
        assert with_rivals.iteration_time_us <= other.iteration_time_us * (1 + 1e-7)
        if dict(other.parameters) == defaults(other.policy):
            assert alone.iteration_time_us <= other.iteration_time_us * (1 + 1e-7)
    pace = plan(graph, alike(cost), Options(fusion="maxmin", baselines=()))
    assert alone.iteration_time_us <= pace.iteration_time_us * (1 + 1e-7)


@pytest.mark.parametrize("layered", [True, False])
def test_exhaustive_search_on_a_coarse_grid_finds_nothing_better(layered):
    generator = np.random.default_rng(7)
    for _ in range(cases(120)):
        chain, cost = drawn(generator, 6, layered=layered)
        value, _ = joint_value(chain, cost)
        best = oracles.best_plan(chain, cost, value + 1e-3)
        assert value <= best + slack(best)


def test_exhaustive_search_of_seven_tensors_finds_nothing_better():
    generator = np.random.default_rng(11)
    for _ in range(cases(12, least=2)):
        chain, cost = drawn(generator, 7, layered=False)
        value, _ = joint_value(chain, cost)
        best = oracles.best_plan(chain, cost, value + 1e-3)
        assert value <= best + slack(best)


@pytest.mark.parametrize("model", ["vgg16", "resnet50", "t5_small"])
@pytest.mark.parametrize("startup", [500, 6000])
def test_500_random_moves_from_paces_best_cut_gain_less_than_3_in_1000(model, startup):
    chain = chain_of(MODELS[model]())
    cost = cost_of(Cluster(16, 10, startup))
    value, _ = joint_value(chain, cost)
    assert value <= 1.003 * _walked(chain, cost, random.Random(0))


def _walked(chain, cost, generator):
    """Move, add or drop random boundaries of the max-min cut, most urgent first, uncut or cut."""
    judge = ChainJudge(chain, cost)

    def value(cuts):
        return oracles.best_of_both_orders(chain, cost, cuts, judge)

    cuts = min(max_min_cuts(chain.bytes), key=value)
    best = value(cuts)
    for _ in range(500):
        moved = set(cuts)
        if len(moved) > 1 and generator.random() < 0.7:
            moved.remove(generator.choice(sorted(moved - {len(chain)})))
        if generator.random() < 0.7:
            moved.add(generator.randrange(1, len(chain)))
        if (found := value(tuple(sorted(moved)))) < best:
            cuts, best = tuple(sorted(moved)), found
    return best


@given(graph=graphs(), cost=affine_costs())
@settings(max_examples=cases(300))
def test_with_a_barrier_and_affine_cost_joint_is_optimal(graph, cost):
    assert plan(graph, alike(cost), Options(barrier=True, baselines=())).status == OPTIMAL


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(60))
def test_no_launch_is_needless(graph, cost):
    chain = chain_of(graph)
    value, sends = joint_value(chain, cost)
    judge = ChainJudge(chain, cost)
    for j, (bucket, size) in enumerate(sends):
        for i in range(j):
            if sends[i].bucket == bucket:
                joined = Launch(bucket, sends[i].bytes + size)
                later = [*sends[:j], joined, *sends[j + 1 :]]
                del later[i]
                earlier = [*sends[:j], *sends[j + 1 :]]
                earlier[i] = joined
                assert min(judge.value(tuple(later)), judge.value(tuple(earlier))) > value
    for at, (here, there) in enumerate(pairwise(sends)):
        fused = judge.whole(tuple(sorted({*here.bucket, *there.bucket})))
        if fused.bytes == here.bytes + there.bytes:
            assert judge.value((*sends[:at], fused, *sends[at + 2 :])) > value


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_plan(seed):
    generator = np.random.default_rng(3)
    for _ in range(10):
        chain, cost = drawn(generator, 10, layered=False)
        first = joint_value(chain, cost, SearchOptions(seed))
        assert first == joint_value(chain, cost, SearchOptions(seed))


def test_without_an_allowance_the_answer_is_the_best_of_what_is_there():
    chain, cost = BY_HAND, Affine(400.0, 1e-3)
    value, sends = joint_value(chain, cost)
    hurried, _ = joint_value(chain, cost, SearchOptions(effort=50, allowance=Allowance(0)))
    assert (value, hurried) == (pytest.approx(2300), pytest.approx(2400))  # first in, first out
    assert (
        joint_value(chain, cost, SearchOptions(allowance=Allowance(0), plans=(sends,)))[0] == value
    )
    assert from_both_ends(chain, cost, allowance=Allowance(0)) is None


@given(data=st.data(), graph=graphs(), cost=costs(), seed=st.integers(0, 3))
@settings(max_examples=cases(100))
def test_searches_never_make_a_plan_worse(data, graph, cost, seed):
    chain = chain_of(graph)
    judge = ChainJudge(chain, cost)
    start = tuple(Launch((i,), int(size)) for i, size in enumerate(chain.bytes))
    value = judge.value(start)
    for found in (
        improve(start, judge, Budget(200), seed),
        best_of_all(chain, cost, start, Budget(200)),
        without_needless_launches(start, judge, Budget(200), value),
    ):
        assert judge.value(found) <= value + slack(value)
        sizes: dict[tuple[int, ...], int] = {}
        for bucket, size in found:
            sizes[bucket] = sizes.get(bucket, 0) + size
        assert sorted(i for bucket in sizes for i in bucket) == list(range(len(chain)))
        assert all(size == chain.bytes[list(b)].sum() for b, size in sizes.items())


@pytest.mark.parametrize(
    ("model", "startup"), [("vgg16", 2000), ("t5_small", 6000), ("resnet50", 6000)]
)
def test_a_layer_chain_needs_no_local_search(model, startup):
    """The recursion alone is within the reach of the whole search."""
    chain = chain_of(MODELS[model]())
    cost = cost_of(Cluster(8, 10, startup))
    found = from_both_ends(chain, cost)
    assert found is not None
    alone = ChainJudge(chain, cost).value(found)
    value, _ = joint_value(chain, cost)
    assert value <= alone <= 1.001 * value


@pytest.mark.parametrize("table", [(), ((1, 1e-6), (1_000, 5.0), (2**60, 8e12))])
def test_slices_of_a_huge_tensor_are_not_listed(table):
    """P3 would cut it in 10^12 launches: more than memory holds."""
    layers = [Layer("a", 1, 1, (("a", 2**59),)), Layer("b", 1, 1, (("b", 1),))]
    cluster = Cluster(8, 10.0, algorithm="table" if table else "ring", table=table)
    found = plan(iteration("huge", layers), network_of(cluster), Options(baselines=()))
    assert found.lower_bound_us <= found.iteration_time_us < 2**60
    assert len(found.parts) < 10_000
