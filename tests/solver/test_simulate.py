"""The simulator and the launches it executes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import Launch, singles
from solver.chain import chain_of
from solver.costs import Affine, Network, alike
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, REDUCE_SCATTER, Op, build
from solver.policies import POLICIES
from solver.schedule import PreemptiveSchedule, ServicePiece, jackson, on_grid
from solver.schedule.execute import cut_at_releases, follow, jobs_of, value_of
from solver.simulation.engine import Deadlock, Noise, simulate
from solver.simulation.replay import replay
from tests import oracles
from tests.sampling import cases
from tests.strategies import costs, graphs, sends

TWO_LAYERS = build(
    "two layers",
    [
        Op("b2", COMPUTE, 800.0),
        Op("g2", ALL_REDUCE, None, 4_000_000, ("b2",)),
        Op("b1", COMPUTE, 900.0, None, ("b2",)),
        Op("g1", ALL_REDUCE, None, 1_000_000, ("b1",)),
        Op("f1", COMPUTE, 400.0, None, ("b1", "g1")),
        Op("f2", COMPUTE, 450.0, None, ("f1", "g2")),
    ],
)
RING = Affine(50.0, 0.0014)


def run(graph, cost, policy):
    timeline = simulate(graph, alike(cost), policy)
    return [(p.bucket, p.start, p.end, p.offset, p.bytes) for p in timeline.launches], timeline


def test_wfbp_by_hand():
    parts, timeline = run(TWO_LAYERS, RING, POLICIES["wfbp"])
    assert [(bucket, start) for bucket, start, *_ in parts] == [((0,), 800.0), ((1,), 6450.0)]
    assert timeline.iteration_time == pytest.approx(7900 + 850)


def test_a_cut_part_carries_what_fits_and_the_rest_pays_again():
    buckets = singles(chain_of(TWO_LAYERS))
    launches, value = cut_at_releases(buckets, RING)
    assert launches == [Launch((0,), 607_142), Launch((1,), 1_000_000), Launch((0,), 3_392_858)]
    assert value == pytest.approx(8400, abs=0.01)


def test_a_part_that_could_carry_nothing_is_not_launched():
    # g2 has 30 us before g1's release, less than the start-up: the channel waits for g1.
    ops = list(TWO_LAYERS.ops)
    ops[2] = Op("b1", COMPUTE, 30.0, None, ("b2",))
    buckets = singles(chain_of(build("short", ops)))
    launches, _ = cut_at_releases(buckets, RING)
    assert launches == [Launch((1,), 1_000_000), Launch((0,), 4_000_000)]


def test_a_slotted_piece_carries_its_share_and_the_last_one_the_rest():
    buckets = singles(chain_of(TWO_LAYERS))
    grid = on_grid(jobs_of(buckets, RING), 50.0)
    pieces = (ServicePiece(0, 16, 34), ServicePiece(1, 34, 63), ServicePiece(0, 63, 158))
    assert follow(PreemptiveSchedule(pieces, 167, None), grid, buckets) == [
        Launch((0,), 4_000_000 * 18 // 113),
        Launch((1,), 1_000_000),
        Launch((0,), 4_000_000 - 4_000_000 * 18 // 113),
    ]


def test_a_slotted_piece_that_would_carry_nothing_is_not_launched():
    graph = build("one byte", [Op("b", COMPUTE, 1.0), Op("g", ALL_REDUCE, None, 1, ("b",))])
    buckets = singles(chain_of(graph))
    grid = on_grid(jobs_of(buckets, Affine(10.0, 0.0)), 5.0)
    pieces = (ServicePiece(0, 1, 2), ServicePiece(0, 4, 5))
    assert follow(PreemptiveSchedule(pieces, 5, None), grid, buckets) == [Launch((0,), 1)]


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(300))
def test_the_value_of_launches_is_the_simulated_time(graph, cost):
    chain = chain_of(graph)
    buckets = singles(chain)
    launches, value = cut_at_releases(buckets, cost)
    time = simulate(graph, alike(cost), replay(launches)).iteration_time
    assert time == pytest.approx(max(value, chain.compute_time))
    assert value_of(launches, buckets, cost) == pytest.approx(value)


@given(data=st.data(), graph=graphs(), cost=costs())
@settings(max_examples=cases(300))
def test_any_plan_runs_by_the_rules(data, graph, cost):
    chain = chain_of(graph)
    parts = data.draw(sends(chain))
    sent, timeline = run(graph, cost, replay(parts))
    assert [Launch(bucket, size) for bucket, _, _, _, size in sent] == parts
    now = 0.0
    finish: dict[int, float] = {}
    for bucket, start, end, _, size in sent:
        release = chain.release[list(bucket)].max()
        assert start == max(now, release)  # no earlier, and no later
        assert end == start + cost.time(size)
        finish |= dict.fromkeys(bucket, end)
        now = end
    done = {graph.ops[p].id: finish[i] for i, p in enumerate(chain.positions.tolist())}
    assert timeline.iteration_time == oracles.iteration_time(graph, done)


@pytest.mark.parametrize("policy", POLICIES)
@given(graph=graphs(), cost=costs())
def test_a_policy_sends_each_byte_once(policy, graph, cost):
    sent, _ = run(graph, cost, POLICIES[policy])
    buckets = {bucket for bucket, *_ in sent}
    assert sorted(i for bucket in buckets for i in bucket) == list(range(len(chain_of(graph))))
    for bucket in buckets:
        sizes = [size for other, *_, size in sent if other == bucket]
        assert sum(sizes) == chain_of(graph).bytes[list(bucket)].sum()


def test_without_startup_executed_and_ideal_agree():
    buckets = singles(chain_of(TWO_LAYERS))
    cost = Affine(0.0, 0.01)
    _, value = cut_at_releases(buckets, cost)
    assert value == pytest.approx(jackson(jobs_of(buckets, cost)).value)


def test_a_rule_that_leaves_tensors_unsent_is_an_error():
    with pytest.raises(Deadlock, match="1 tensors were never sent") as caught:
        simulate(TWO_LAYERS, alike(RING), replay([Launch((0,), 4_000_000)]))
    assert caught.value.unsent == (1,)


def test_a_rule_may_ask_to_be_woken():
    class Late:
        def __init__(self):
            self.left = [1, 0]

        def release(self, tensor, now):
            pass

        def launch(self, now):
            if now < 2000.0:
                return 2000.0
            return Launch((i := self.left.pop(),), [4_000_000, 1_000_000][i]) if self.left else None

    parts, _ = run(TWO_LAYERS, RING, lambda chain, costs: [Late()])
    assert [start for _, start, *_ in parts] == [2000.0, 2000.0 + RING.time(4_000_000)]


def test_a_rule_that_asked_to_be_woken_is_not_asked_while_it_sends():
    class Early:
        def __init__(self):
            self.asked = []
            self.released = []

        def release(self, tensor, now):
            self.released.append(tensor)

        def launch(self, now):
            self.asked.append(now)
            if now == 800.0:
                return 1800.0  # g1 is released at 1700 and then sent, until 3150
            if not self.released:
                return None
            i = self.released.pop()
            return Launch((i,), [4_000_000, 1_000_000][i])

    rule = Early()
    run(TWO_LAYERS, RING, lambda chain, costs: [rule])
    assert rule.asked == pytest.approx([800.0, 1700.0, 3150.0, 8800.0])


def test_events_are_counted():
    timeline = simulate(TWO_LAYERS, alike(RING), POLICIES["wfbp"])
    assert timeline.events >= 6
    assert simulate(TWO_LAYERS, alike(RING), POLICIES["wfbp"]) == timeline


def test_noise_changes_what_happens_and_not_what_is_decided():
    # The policy knows tails of 450 and 850; with noise g2 is released after g1 has been.
    noise = Noise((2000.0, 0.0, 900.0, 0.0, 400.0, 450.0), (0.5, 2.0))
    timeline = simulate(TWO_LAYERS, alike(RING), POLICIES["tictac"], noise)
    times = [(part.bucket, part.start, part.end) for part in timeline.launches]
    assert times == [((0,), 2000.0, 2000.0 + 5650 / 2), ((1,), 4825.0, 4825.0 + 2 * 1450)]
    assert timeline.iteration_time == 4825 + 2900 + 850


TWO_CHANNELS = build(
    "two channels",
    [
        Op("b", COMPUTE, 10.0, stream="gpu"),
        Op("ag", ALL_GATHER, None, 100, ("b",), "nvlink"),
        Op("f", COMPUTE, 20.0, None, ("ag",), stream="gpu"),
        Op("rs", REDUCE_SCATTER, None, 50, ("f",), "nvlink"),
        Op("g", ALL_REDUCE, None, 300, ("b",)),
        Op("e", COMPUTE, 5.0, None, ("rs", "g"), stream="gpu"),
    ],
)


def test_channels_carry_side_by_side_and_a_collective_may_wait_for_another():
    costs = {"nvlink": Affine(1.0, 0.1), "network": Affine(5.0, 1.0)}
    timeline = simulate(TWO_CHANNELS, Network(lambda lane: costs[lane.channel]), POLICIES["wfbp"])
    by_op = dict(zip([op.id for op in TWO_CHANNELS.ops], timeline.ends, strict=True))
    assert by_op == {"b": 10, "ag": 21, "f": 41, "rs": 47, "g": 315, "e": 320}
    assert [part.bucket for part in timeline.launches] == [(0,), (1,), (2,)]


def test_launches_that_wait_for_one_another_are_a_deadlock():
    chain = chain_of(TWO_CHANNELS)
    names = [TWO_CHANNELS.ops[i].id for i in chain.positions.tolist()]
    assert names == ["ag", "g", "rs"]
    with pytest.raises(Deadlock) as caught:
        simulate(TWO_CHANNELS, alike(RING), replay([Launch((2,), 50), Launch((0,), 100)]))
    assert caught.value.unsent == (0, 1, 2)
