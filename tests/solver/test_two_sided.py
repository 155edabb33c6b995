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
from tests.benchmarks.proven import layer_chain
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
    launches = found.plans[0]
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
    launches = found.plans[0]
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


def above_the_best(count, labels_kept):
    """Seeds of layer chains whose bound, by so few labels, is above the best of all plans."""
    found = []
    generator = np.random.default_rng(labels_kept)
    for seed in range(count):
        chain, cost = drawn(generator, 6, layered=True)
        best = oracles.best_plan(chain, cost, np.inf)
        total = [0.0, *np.cumsum(cost.per_byte * chain.bytes).tolist()]
        kept = labels.Labels(
            chain.release.tolist(),
            chain.tail.tolist(),
            total,
            [0] * len(chain),
            cost.startup,
            labels_kept,
        )
        bound = max(kept.run(to_beat) for to_beat in (UNKNOWN, 1.2 * best, best))
        if bound > best + slack(best):
            found.append(seed)
    return found


@pytest.mark.parametrize("labels_kept", [1, 2, 3, 5, 8])
def test_labels_that_become_one_lose_no_plan(labels_kept):
    assert not above_the_best(cases(400), labels_kept)


def least_end(label, k, chain, a):
    """Return the least that a label comes to with the first k tensors to be placed, by all ways.

    ``label`` is e, f, both, the floors, what is held on both sides, launches, and whether a bucket
    is in two parts; ``chain`` releases, tails and work.
    """
    e, f, both, early, late, held, behind, launches, torn = label
    e, f, held, behind = max(e, early), max(f, late), max(held, early), max(behind, late)
    both = max(both, e + f)
    if not k:
        return a * launches + both
    release, tail, work = (each[k - 1] for each in chain)
    fall, taken = both - work, both - work - a
    more = work + a
    ways = [
        (e, f, both, early, late, held, behind, launches, torn),
        (e - work, f, fall, early, late, held - work, behind, launches, torn),
        (e, f - work, fall, early, late, held, behind - work, launches, torn),
        (e - more, f, taken, release, late, held - more, behind, launches + 1, torn),
        (e, f - more, taken, early, tail, held, behind - more, launches + 1, torn),
        (e - more, f - more, taken - a, release, tail, release, tail, launches + 2, 1),
    ]
    if torn:
        e, f = max(e - work, held), max(f - work, behind)
        ways.append((e, f, fall, early, late, held, behind, launches, torn))
    return min(least_end(way, k - 1, chain, a) for way in ways)


def ends_above(count):
    """Seeds of two labels of which the one that stands for both may end later than one of them."""
    (plain_labels,) = plain(labels.__name__)
    found = []
    for seed in range(count):
        generator = np.random.default_rng(seed)
        a = float(generator.integers(0, 5))
        release, tail = (np.sort(generator.integers(0, 12, 4)).astype(float) for _ in range(2))
        work = generator.integers(0, 8, 4).astype(float)
        drawn_labels = []
        for _ in range(2):
            early, late = (float(generator.choice(each)) for each in (release, tail))
            held, behind = early + generator.integers(0, 4), late + generator.integers(0, 4)
            e, f = held + generator.integers(0, 9), behind + generator.integers(0, 9)
            both = e + f + generator.integers(0, 6)
            launches, torn = int(generator.integers(1, 5)), int(generator.random() < 0.8)
            drawn_labels.append([e, f, both, early, late, held, behind, launches, torn])
        kept, made = drawn_labels
        if seed == 0:  # a tensor of 10 that is best in two parts: 5 off either side, unless held
            a, work[:] = 100.0, (0.0, 0.0, 10.0, 0.0)
            kept, made = ([10.0, 10.0, 20.0, 5.0, 5.0, held, held, 1, 1] for held in (10.0, 5.0))
        made[7], made[8] = max(made[7], kept[7]), min(made[8], kept[8])
        total = [0.0, *np.cumsum(work).tolist()]
        two = plain_labels.Labels(release.tolist(), tail.tolist(), total, [0] * 4, a, 1)
        for i in range(7):
            two.kept[i], two.made[i] = kept[i], made[i]
        two.kept_counts[0], two.made_counts[0] = kept[7], made[7]
        two.kept_counts[1], two.made_counts[1] = kept[8], made[8]
        two.lower(0, 0)
        one = [*two.kept[:7], kept[7], kept[8]]
        chain = release, tail, work
        ends = [least_end(label, 3, chain, a) for label in (one, kept, made)]
        if ends[0] > min(ends[1:]) + 1e-9:
            found.append(seed)
    return found


def test_a_label_that_stands_for_two_ends_no_later_than_either():
    assert not ends_above(cases(1_000))


@pytest.mark.parametrize("field", [*range(5), (5, 6)])
def test_a_label_that_does_not_fall_enough_is_noticed(monkeypatch, field):
    """Each figure of a label has to come down to that of the other one."""
    (plain_labels,) = plain(labels.__name__)
    lower = plain_labels.Labels.lower

    def too_high(self, other, label):
        fields = field if isinstance(field, tuple) else (field,)
        before = [self.kept[each] for each in fields]
        lower(self, other, label)
        for each, figure in zip(fields, before, strict=True):
            self.kept[each] = figure

    monkeypatch.setattr(plain_labels.Labels, "lower", too_high)
    monkeypatch.setattr("tests.solver.test_two_sided.plain", lambda _: (plain_labels,))
    assert ends_above(300)


def test_more_labels_lead_to_a_sharper_bound_and_a_better_plan():
    """A chain on which local search alone comes to a plan that is 0.05 % longer."""
    graph = layer_chain(5)
    chain = chain_of(graph)
    cost = cost_of(Cluster(12, 10, 4_000))
    found = plan(graph, alike(cost), Options(baselines=(), launch_tolerance=0))
    assert found.status == OPTIMAL
    time = 1.001 * found.iteration_time_us
    bounds = [bound_and_plan(chain, cost, time, effort).bound for effort in (1, 4)]
    assert bounds[0] <= bounds[1] + slack(time) <= found.iteration_time_us + 2 * slack(time)
    assert bounds[1] > 0.995 * found.iteration_time_us


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
        compiled, source = (m.Labels(*given_, most) for m in (labels, plain_labels))
        for to_beat in (UNKNOWN, total[-1] + cost.startup + chain.release[-1]):
            assert compiled.run(to_beat) == source.run(to_beat)
            assert (compiled.value, compiled.dropped) == (source.value, source.dropped)
            assert compiled.chosen(5) == source.chosen(5)


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
