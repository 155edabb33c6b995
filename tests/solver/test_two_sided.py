"""Labels from the core outwards: bounds on all plans, and plans that attain them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from solver.bounds.bound import sharpened
from solver.bounds.chain import LowerBound, lower_bound
from solver.bounds.kinds import COMPUTE
from solver.bounds.status import OPTIMAL
from solver.chain import Chain, chain_of, on_channel, subchain
from solver.costs import Affine, ChannelCost, Cluster, alike, cost_of
from solver.fusion.chain.exhaust import best_of_all
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.nested import from_both_ends
from solver.fusion.chain.two_sided import labels, search
from solver.fusion.chain.two_sided.search import bound_and_plan
from solver.fusion.search import Budget
from solver.graph import build
from solver.models import MODELS
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.units import slack
from tests import oracles
from tests.plain import plain
from tests.sampling import cases
from tests.solver.test_joint import BY_HAND, drawn
from tests.strategies import costs, graphs

UNKNOWN = float("inf")


def value_of(chain, cost, launches):
    sizes: dict[tuple[int, ...], int] = {}
    for bucket, size in launches:
        assert size > 0
        sizes[bucket] = sizes.get(bucket, 0) + size
    assert sorted(i for bucket in sizes for i in bucket) == list(range(len(chain)))
    assert all(size == chain.bytes[list(b)].sum() for b, size in sizes.items())
    return ChainJudge(chain, cost).value(launches)


@pytest.mark.parametrize("blocks", [2, 3, 320])
@pytest.mark.parametrize("layered", [True, False])
def test_the_bound_is_never_above_the_best_plan(monkeypatch, layered, blocks):
    monkeypatch.setattr(search, "_BLOCKS", blocks)
    generator = np.random.default_rng(blocks)
    for _ in range(cases(150)):
        chain, cost = drawn(generator, 6, layered=layered)
        best = oracles.best_plan(chain, cost, np.inf)
        for to_beat in (UNKNOWN, 1.2 * best, best):
            found = bound_and_plan(chain, cost, to_beat)
            assert found.bound <= best + slack(best)
            for launches in found.plans:
                time = value_of(chain, cost, launches)  # of parts of any size
                assert time >= found.bound - slack(time)


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(200))
def test_the_bound_holds_for_any_cost(graph, cost):
    chain = chain_of(graph)
    known = tuple(ChainJudge(chain, cost).alone())
    best = best_of_all(chain, cost, known, Budget(3_000))
    time = ChainJudge(chain, cost).value(best)
    for to_beat in (UNKNOWN, time):
        found = bound_and_plan(chain, cost, to_beat)
        assert found.bound <= time + slack(time)
        for launches in found.plans:
            value_of(chain, cost, launches)


def test_by_hand():
    # g1: r 0, q 0, 1000 us of work; g2: r 500, q 500, 100 us; start-up 400. One launch of both:
    # 500 + 1500 + 500 = 2500. g2 as the core, g1 in two parts around it: 3 * 400 + 1100 of work,
    # and the level falls to 0 on both sides, for 1400 us at most on each are more than 500: 2300.
    found = bound_and_plan(BY_HAND, Affine(400.0, 1e-3), 2500.0)
    assert found.bound == pytest.approx(2300)
    (launches,) = found.plans
    assert [launch.bucket for launch in launches] == [(0,), (1,), (0,)]
    assert value_of(BY_HAND, Affine(400.0, 1e-3), launches) == pytest.approx(2300)
    # with a start-up of 4000 no second launch pays
    alone = bound_and_plan(BY_HAND, Affine(4000.0, 1e-3), UNKNOWN)
    assert alone.bound == pytest.approx(500 + 4000 + 1100 + 500)
    assert [launch.bucket for launch in alone.plans[0]] == [(0, 1)]


def test_a_bucket_that_no_neighbours_make():
    """The example of MODEL.md section 6: tensors 1, 3 and 4 travel together, then 5, then 2."""
    chain = Chain(
        np.arange(5),
        np.array([0.311, 0.615, 1.207, 1.556, 4.871]),
        np.array([0.164, 1.072, 1.901, 2.6, 4.231]),
        np.array([1, 3, 1, 1, 3]) * 1_000_000,
        9.2,
    )
    cost = Affine(2.0, 0.5e-6)
    neighbours = ChainJudge(chain, cost).value(from_both_ends(chain, cost))
    assert neighbours == pytest.approx(13.272, abs=1e-3)
    found = bound_and_plan(chain, cost, neighbours)
    assert found.bound == pytest.approx(13.128)
    (launches,) = found.plans
    assert [launch.bucket for launch in launches] == [(0, 2, 3), (4,), (1,)]
    assert value_of(chain, cost, launches) == pytest.approx(13.128)


def test_layer_chains_of_seven_tensors_are_mostly_proven():
    generator = np.random.default_rng(5)
    proven = 0
    for _ in range(40):
        chain, cost = drawn(generator, 7, layered=True)
        known = ChainJudge(chain, cost).alone()
        best = best_of_all(chain, cost, known, Budget(60_000))
        time = ChainJudge(chain, cost).value(best)
        bound = max(bound_and_plan(chain, cost, time).bound, chain.compute_time)
        proven += bound >= time - slack(time)
    assert proven >= 32


@pytest.mark.parametrize("model", ["vgg16", "resnet50", "t5_small", "llama_7b"])
def test_plans_of_layer_chains_are_proven(model):
    """No bound of sections 1 to 3 of MODEL.md 5 comes to these plans."""
    cost = cost_of(Cluster(8, 25, 500))
    assert (
        plan(MODELS[model](), alike(cost), Options(baselines=(), launch_tolerance=0)).status
        == OPTIMAL
    )


def test_many_tensors_are_bounded_in_blocks(monkeypatch):
    chain = chain_of(MODELS["llama_7b"]())
    cost = cost_of(Cluster(16, 100, 500))
    one_by_one = lower_bound(chain, cost).value
    monkeypatch.setattr(search, "_BLOCKS", 100)
    in_blocks = bound_and_plan(chain, cost, UNKNOWN)
    assert 0.99 * one_by_one < in_blocks.bound <= one_by_one + slack(one_by_one)
    assert not in_blocks.plans


def test_fewer_labels_give_a_bound_that_is_not_sharper(monkeypatch):
    chain = chain_of(MODELS["t5_small"]())
    cost = cost_of(Cluster(64, 10, 2000))
    least = 0.0
    for kept in (1, 8, 64):
        monkeypatch.setattr(search, "_LABELS", kept)
        bound = bound_and_plan(chain, cost, UNKNOWN).bound
        assert bound >= least - slack(bound)
        least = bound
    monkeypatch.setattr(search, "_LOOKS", 1)
    assert bound_and_plan(chain, cost, UNKNOWN).bound <= least + slack(least)
    assert bound_and_plan(chain, cost, UNKNOWN, effort=4).bound <= least * 1.02


def test_a_time_that_is_beaten_is_the_bound():
    chain, cost = BY_HAND, Affine(400.0, 1e-3)
    found = bound_and_plan(chain, cost, 2000.0)
    assert found.bound == pytest.approx(2000.0)
    assert found.plans == ()


def test_plain_python_gives_the_same_labels():
    generator = np.random.default_rng(1)
    (plain_labels,) = plain(labels.__name__)
    for i in range(cases(100)):
        chain, cost = drawn(generator, 14, layered=True)
        count = len(chain)
        total = [0.0, *np.cumsum(cost.per_byte * chain.bytes).tolist()]
        blocks = [int(i % 3 == 0 and k % 2 == 0 and k < count - 1) for k in range(count)]
        given_ = (chain.release.tolist(), chain.tail.tolist(), total, blocks, cost.startup)
        most = 40 if i % 2 else 3
        looks = 5 if i % 7 == 0 else 10_000
        compiled, source = (m.Labels(*given_, most) for m in (labels, plain_labels))
        for to_beat in (UNKNOWN, total[-1] + cost.startup + chain.release[-1]):
            assert compiled.run(to_beat, looks) == source.run(to_beat, looks)
            assert (compiled.value, compiled.dropped) == (source.value, source.dropped)
            assert compiled.looks == source.looks
            if compiled.value < to_beat:
                assert compiled.chosen() == source.chosen()


def test_tails_that_descend_are_bounded_in_their_own_order():
    chain, cost = BY_HAND, Affine(400.0, 1e-3)
    turned = replace(chain, release=np.array([0.0, 500.0]), tail=np.array([500.0, 0.0]))
    best = oracles.best_plan(turned, cost, np.inf)
    found = bound_and_plan(turned, cost, best)
    assert found.bound == pytest.approx(best)


def test_the_bound_of_a_plan_names_the_tensors_of_its_channel():
    graph = MODELS["t5_small"]()
    other = ChannelCost("other", "all_reduce")
    ops = [op._replace(channel="other") if op.kind == other.kind else op for op in graph.ops]
    last = graph.ops[graph.collectives[-1]].id
    ops = [op._replace(channel="network") if op.id == last else op for op in ops]
    chain = chain_of(build("two", ops))
    costs = [cost_of(Cluster(8, 10, 2000))] * 2
    tensors = on_channel(chain, "other")
    one = subchain(chain, tensors)
    fifo = ChainJudge(one, costs[0]).value(from_both_ends(one, costs[0]))
    bound = sharpened(chain, costs, LowerBound(chain.compute_time, COMPUTE), fifo)
    assert (bound.kind, bound.members) == ("nested", tensors)
    assert chain.compute_time < bound.value <= fifo
    assert sharpened(chain, costs, bound, fifo) == bound
