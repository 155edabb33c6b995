"""Compute that is slowed down while launches are under way."""

import math
from collections import Counter, deque
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.bound import lower_bound
from solver.bounds.slowed import with_slowdown
from solver.bounds.status import OPTIMAL
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, Cluster, Network, alike, network_of
from solver.errors import InvalidCluster
from solver.graph import ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.models import MODELS
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.under_contention import as_it_ran, renumbered
from solver.policies import POLICIES
from solver.policies.choice import Choice, candidates
from solver.simulation.clock import SharedProgress
from solver.simulation.engine import Deadlock, Noise, costs_of, simulate
from solver.simulation.replay import replay
from solver.simulation.slowed_events import SlowedEventLoop
from solver.units import slack
from tests.fluid import Flow, Unit
from tests.sampling import cases
from tests.strategies import costs, dags, graphs, networks, sends

#: Fractions of no few bits among them.
SLOWDOWNS = (1.26, 1.5, 2.0, 3.7)


def near(*times):
    return pytest.approx(times)


def chain_graph(*ops):
    return build("by hand", [Op(*op) for op in ops])


def times_of(graph, network, policy="wfbp"):
    timeline = simulate(graph, network, POLICIES[policy])
    return {
        op.id: (timeline.starts[i], timeline.ends[i]) for i, op in enumerate(graph.ops)
    }, timeline


def test_compute_beside_a_launch_is_slowed_and_the_rest_is_not():
    # g runs 100..200. c has 30 behind it then, of 150: half of the launch's 100 us are work for it,
    # 50 more, and the last 70 at full speed. d runs after all of it, at full speed.
    graph = chain_graph(
        ("b", COMPUTE, 100.0),
        ("g", ALL_REDUCE, None, 100, ("b",)),
        ("a", COMPUTE, 70.0),
        ("c", COMPUTE, 150.0, None, ("a",)),
        ("d", COMPUTE, 10.0, None, ("c", "g")),
    )
    times, timeline = times_of(graph, alike(Affine(0.0, 1.0), 2.0))
    assert times == {
        "b": (0, 100),
        "g": (100, 200),
        "a": (0, 70),
        "c": (70, 70 + 30 + 100 + 70),
        "d": (270, 280),
    }
    assert timeline.iteration_time == 280
    assert chain_of(graph).compute_time == 230


def test_channels_side_by_side_slow_compute_as_one_does():
    # one launches 10..60, the other 10..40: from 10 to 60 compute is at a quarter of its speed
    graph = chain_graph(
        ("b", COMPUTE, 10.0),
        ("g", ALL_REDUCE, None, 50, ("b",)),
        ("h", ALL_REDUCE, None, 30, ("b",), "nvlink"),
        ("c", COMPUTE, 20.0, None, ("b",)),
    )
    times, _ = times_of(graph, alike(Affine(0.0, 1.0), 4.0))
    assert (times["g"], times["h"]) == ((10, 60), (10, 40))
    assert times["c"] == (10, 60 + 20 - 50 / 4)


def test_what_ends_together_is_released_together():
    # a and the launch of g end at 200, and so does z of no time behind a: k, the more urgent one
    # for its tail, is released in time for the channel's next choice, and h has to wait.
    graph = chain_graph(
        ("b", COMPUTE, 100.0),
        ("g", ALL_REDUCE, None, 100, ("b",)),
        ("a", COMPUTE, 50.0, None, ("b",)),
        ("z", COMPUTE, 0.0, None, ("a",)),
        ("h", ALL_REDUCE, None, 100, ("b",)),
        ("k", ALL_REDUCE, None, 100, ("z",)),
        ("u", COMPUTE, 7.0, None, ("k",)),
        ("w", COMPUTE, 9.0, None, ("g",)),
    )
    times, _ = times_of(graph, alike(Affine(0.0, 1.0), 2.0), "tictac")
    assert times["g"] == (100, 200)
    assert times["z"] == (200, 200)
    assert (times["k"], times["h"]) == ((200, 300), (300, 400))
    assert times["w"] == (200, 218)
    assert times["u"] == (300, 314)


def test_one_worker_sends_in_no_time_and_slows_nothing():
    graph = chain_graph(
        ("b", COMPUTE, 100.0),
        ("g", ALL_REDUCE, None, 100, ("b",)),
        ("f", COMPUTE, 50.0, None, ("g",)),
    )
    times, _ = times_of(graph, network_of(Cluster(1, 10.0, compute_slowdown=3.0)))
    assert times["f"] == (100, 150)


def test_noise_stretches_what_is_slowed():
    graph = chain_graph(("b", COMPUTE, 9.0), ("g", ALL_REDUCE, None, 10), ("c", COMPUTE, 1.0))
    noise = Noise((20.0, 0.0, 5.0), (3.0,))
    timeline = simulate(graph, alike(Affine(0.0, 1.0), 2.0), POLICIES["wfbp"], noise)
    assert timeline.ends == (35, 30, 10)  # g until 30: 15 of b's 20 are done by then


def flow_of(graph, network, parts):
    """Replay launches as a fluid."""
    chain = chain_of(graph)
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    price = costs_of(chain, network)
    units: dict[tuple[int, ...], list[float]] = {}
    queues: dict[str, deque[Unit]] = {}
    for bucket, size in parts:
        time = price[chain.lane[bucket[0]]].time(size)
        units.setdefault(bucket, []).append(time)
    made = {b: Unit(tuple(ids[i] for i in b), tuple(times)) for b, times in units.items()}
    for bucket, _ in parts:
        channel = chain.lanes[chain.lane[bucket[0]]].channel
        queues.setdefault(channel, deque()).append(made[bucket])

    def in_order(channel, ready):
        queue = queues.get(channel)
        return queue.popleft() if queue and queue[0] in ready else None

    return Flow(graph, list(made.values()), network.compute_slowdown, in_order)


def assert_same(graph, timeline, flow):
    for i, op in enumerate(graph.ops):
        assert timeline.starts[i] == pytest.approx(float(flow.starts[op.id]))
        assert timeline.ends[i] == pytest.approx(float(flow.ends[op.id]))
    ids = [graph.ops[i].id for i in chain_of(graph).positions.tolist()]
    ours = Counter((tuple(ids[i] for i in part.bucket)) for part in timeline.launches)
    assert ours == Counter(tensors for tensors, _ in flow.launches)
    starts = sorted(part.start for part in timeline.launches)
    assert starts == pytest.approx(sorted(float(start) for _, start in flow.launches))


@given(data=st.data(), graph=st.one_of(graphs(), dags()), network=networks((*SLOWDOWNS, 1.0)))
@settings(max_examples=cases(600))
def test_any_plan_runs_as_the_fluid_does(data, graph, network):
    parts = data.draw(sends(chain_of(graph)))
    if {tuple(graph.ops) for _ in parts} and not _one_lane_a_bucket(graph, parts):
        parts = [Launch((i,), int(size)) for i, size in enumerate(chain_of(graph).bytes)]
    try:
        timeline = simulate(graph, network, replay(parts))
    except Deadlock:
        flow = flow_of(graph, network, parts)
        assert len(flow.ends) < len(graph.ops)
        return
    assert_same(graph, timeline, flow_of(graph, network, parts))


def _one_lane_a_bucket(graph, parts):
    lane = chain_of(graph).lane
    return all(len({lane[i] for i in bucket}) == 1 for bucket, _ in parts)


@pytest.mark.parametrize("policy", ["wfbp", "tictac"])
@given(
    graph=st.one_of(graphs(), dags()),
    startup=st.sampled_from([0.0, 50.0, 100.0]),
    slowdown=st.sampled_from([1.0, 2.0, 4.0]),
)
@settings(max_examples=cases(400))
def test_a_policy_decides_as_the_fluid_does(policy, graph, startup, slowdown):
    # in halves of microseconds, so that what ends together does so in floats as well
    cost = Affine(startup, 2.0**-10)
    chain = chain_of(graph)
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    units = [Unit((name,), (cost.time(int(chain.bytes[i])),)) for i, name in enumerate(ids)]
    tail = dict(zip(ids, chain.tail.tolist(), strict=True))

    def choose(channel, ready):
        def key(unit):
            (name,) = unit.tensors
            if policy == "wfbp":
                return (ready[unit], ids.index(name))
            return (-tail[name], -ready[unit], ids.index(name))

        return min(ready, key=key, default=None)

    timeline = simulate(graph, alike(cost, slowdown), POLICIES[policy])
    assert_same(graph, timeline, Flow(graph, units, slowdown, choose))


@pytest.mark.parametrize("slowdown", [1.0, 1.5])
@pytest.mark.parametrize("policy", POLICIES)
@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(100))
def test_events_are_the_same_compiled_and_by_the_plain_engine(policy, slowdown, graph, cost):
    network = alike(cost, slowdown)
    fast = simulate(graph, network, POLICIES[policy])
    slow = SlowedEventLoop(graph, network, POLICIES[policy], None).run()
    assert slow.plan == fast.plan
    assert slow.events == fast.events
    assert slow.ends == near(*fast.ends)
    assert slow.starts == near(*fast.starts)


@given(data=st.data(), graph=graphs(), cost=costs())
@settings(max_examples=cases(200))
def test_a_plan_is_never_faster_with_more_slowdown_nor_than_the_bound(data, graph, cost):
    chain = chain_of(graph)
    parts = data.draw(sends(chain))
    times = [
        simulate(graph, alike(cost, slowdown), replay(parts)).iteration_time
        for slowdown in (1.0, 1.26, 2.0, 100.0)
    ]
    for less, more in pairwise(times):
        assert less <= more + slack(more)
    for slowdown, time in zip((1.0, 1.26, 2.0, 100.0), times, strict=True):
        bound = bound_of(graph, alike(cost, slowdown))
        assert bound.value <= time + slack(time)


def bound_of(graph, network):
    chain = chain_of(graph)
    costs = costs_of(chain, network)
    return with_slowdown(lower_bound(graph, chain, costs), graph, network)


@given(data=st.data(), graph=dags(), network=networks(SLOWDOWNS))
@settings(max_examples=cases(300))
def test_so_is_no_policy_on_any_graph(data, graph, network):
    policy = data.draw(st.sampled_from(["wfbp", "ddp", "tictac", "p3", "horovod"]))
    time = simulate(graph, network, POLICIES[policy]).iteration_time
    assert bound_of(graph, network).value <= time + slack(time)


def test_what_is_hidden_but_slows_compute_down_is_proven():
    # 1,000 us of compute, and 70 of one launch beside it, in which it gets on by 35
    ops = [Op(f"g{i}", ALL_REDUCE, None, 10) for i in range(5)]
    graph = build("hidden", [Op("c", COMPUTE, 1000.0), *ops])
    answer = plan(graph, alike(Affine(20.0, 1.0), 2.0), Options(baselines=(Choice("wfbp"),)))
    assert answer.iteration_time_us == answer.lower_bound_us == 1035
    assert (answer.status, answer.bound.kind, len(answer.bound.tensors)) == (OPTIMAL, "slowed", 5)
    assert answer.baselines[0].iteration_time_us == 1000 + 5 * 30 / 2


ALL = tuple(map(Choice, ("wfbp", "ddp", "tictac", "pace")))


@pytest.mark.parametrize("fusion", ["joint", "maxmin", "none"])
@given(graph=graphs(), network=networks(SLOWDOWNS), barrier=st.booleans())
@settings(max_examples=cases(100))
def test_a_plan_is_timed_with_it(fusion, graph, network, barrier):
    answer = plan(graph, network, Options(fusion, baselines=ALL, barrier=barrier))
    ran = with_barrier(graph) if barrier else graph
    assert answer.iteration_time_us == pytest.approx(check(ran, network, answer))
    assert answer.timeline == simulate(ran, network, replay(answer.launches))
    assert (answer.ideal_us, answer.slotted, answer.proof.work_us) == (None, None, None)
    assert answer.lower_bound_us <= answer.iteration_time_us
    assert (answer.status == OPTIMAL) == math.isclose(
        answer.lower_bound_us, answer.iteration_time_us, rel_tol=1e-7, abs_tol=1e-9
    )
    for baseline, choice in zip(answer.baselines, ALL, strict=True):
        time = simulate(ran, network, POLICIES[choice.policy]).iteration_time
        assert baseline.iteration_time_us == time
        if fusion == "joint":
            assert answer.iteration_time_us <= time + slack(time)


@given(graph=dags(), network=networks(SLOWDOWNS))
@settings(max_examples=cases(60))
def test_so_is_a_plan_of_any_graph(graph, network):
    rivals = (Choice("wfbp"), Choice("tictac"))
    answer = plan(graph, network, Options(baselines=rivals))
    assert answer.iteration_time_us == pytest.approx(check(graph, network, answer))
    for baseline in answer.baselines:
        time = baseline.iteration_time_us
        assert answer.iteration_time_us <= time + slack(time)


def test_a_plan_that_only_a_slowdown_makes_better_is_kept():
    # Alone g1 goes 100..160 and g2 200..260, both together 200..270. But beside g1 the second op
    # hardly gets on: it ends at 259.4, and g2 would at 319.4.
    graph = chain_graph(
        ("b1", COMPUTE, 100.0),
        ("g1", ALL_REDUCE, None, 10, ("b1",)),
        ("b2", COMPUTE, 100.0, None, ("b1",)),
        ("g2", ALL_REDUCE, None, 10, ("b2",)),
    )
    options = Options(baselines=(Choice("wfbp"), Choice("single")))
    assert plan(graph, alike(Affine(50.0, 1.0)), options).iteration_time_us == 260
    answer = plan(graph, alike(Affine(50.0, 1.0), 100.0), options)
    assert answer.iteration_time_us == 270
    assert [b.iteration_time_us for b in answer.baselines] == near(319.4, 270)


@given(graph=graphs(), network=networks((1.26, 10.0)))
@settings(max_examples=cases(100))
def test_a_plan_is_no_worse_than_the_launches_of_any_policy(graph, network):
    time = plan(graph, network, Options(baselines=())).iteration_time_us
    for candidate in candidates():
        launches = simulate(graph, network, candidate.policy).plan
        other = simulate(graph, network, replay(launches)).iteration_time
        assert time <= other + slack(other), candidate.name


def test_one_launch_may_win_where_two_slow_compute_down():
    graph = chain_graph(
        ("b0", COMPUTE, 0.0),
        ("g0", ALL_REDUCE, None, 1000, ("b0",)),
        ("b1", COMPUTE, 100.0, None, ("b0",)),
        ("g1", ALL_REDUCE, None, 1000, ("b1",)),
        ("f1", COMPUTE, 10.0, None, ("b1", "g1")),
        ("f0", COMPUTE, 10.0, None, ("f1", "g0")),
    )
    answer = plan(graph, alike(Affine(50.0, 0.001), 10.0), Options(baselines=()))
    assert answer.iteration_time_us == pytest.approx(172)  # 100, 52 for both, 20


@pytest.mark.parametrize(("model", "gbps"), [("resnet50", 4), ("vgg16", 4), ("vgg16", 10)])
def test_a_search_with_the_times_that_ops_took_comes_near_the_bound(model, gbps):
    # one search with full speed is 11.7, 6.0 and 0.02 % above it
    network = network_of(Cluster(8, gbps, 100, compute_slowdown=1.26))
    answer = plan(MODELS[model](), network, Options(baselines=(), time_limit_s=60))
    assert answer.gap < 0.002


@given(graph=dags(), network=networks((1.26,)))
@settings(max_examples=cases(60))
def test_a_graph_as_it_ran_takes_that_long_at_full_speed(graph, network):
    timeline = simulate(graph, network, POLICIES["tictac"])
    ran = as_it_ran(graph, timeline)
    chain, other = chain_of(graph), chain_of(ran)
    launches = renumbered(timeline.plan, chain, other)
    again = simulate(ran, replace(network, compute_slowdown=1.0), replay(launches))
    assert again.ends == near(*timeline.ends)
    assert renumbered(launches, other, chain) == timeline.plan


def test_a_clock_keeps_ends_whatever_the_speed_does():
    clock = SharedProgress(2.0)
    assert clock.next_end == math.inf
    clock.begin(1, 20.0, 0.0)
    clock.begin(0, 20.0, 0.0)
    clock.begin(2, 10.0, 1.0)
    assert clock.next_end == 6
    clock.set_speed(1.0, 4.0)
    assert clock.next_end == 8
    assert clock.left(4.0) == 12 + 12 + 4
    clock.set_speed(1.0, 5.0)
    assert clock.pop() == (8, 2)
    clock.set_speed(2.0, 10.0)
    assert clock.follow(3, 4.0) == (13, 0)
    assert [clock.pop(), clock.pop()] == [(13, 1), (15, 3)]
    assert clock.next_end == math.inf


@pytest.mark.parametrize("slowdown", [0.99, 0.0, -1.0, math.nan, math.inf, 100.1])
def test_a_slowdown_out_of_range_is_refused(slowdown):
    with pytest.raises(InvalidCluster, match="compute_slowdown must be 1 to 100") as caught:
        network_of(Cluster(8, 10.0, compute_slowdown=slowdown))
    assert [fault.pointer for fault in caught.value.faults] == ["/compute_slowdown"]


def test_a_channel_has_no_slowdown_of_its_own():
    nvlink = Cluster(8, 100.0, compute_slowdown=1.1)
    with pytest.raises(
        InvalidCluster, match="channels/nvlink/compute_slowdown is not a known field"
    ):
        network_of(Cluster(8, 10.0, channels=(("nvlink", nvlink),)))
    network = network_of(Cluster(8, 10.0, compute_slowdown=1.5))
    assert replace(network, compute_slowdown=1.0) == Network(network.cost, workers=network.workers)
