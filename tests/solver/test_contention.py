"""Ops that state what slows them down, by channel, and channels that share a network card."""

import math
from collections import deque
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.bound import lower_bound
from solver.bounds.shared import with_cards
from solver.bounds.slowed import with_slowdown
from solver.bounds.status import OPTIMAL
from solver.buckets import Launch
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Affine, Cluster, MeasuredCost, Network, Piecewise, alike, network_of
from solver.errors import InvalidGraph
from solver.explanation.advice import advise
from solver.explanation.explain import explain
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, REDUCE_SCATTER, Op, build
from solver.graph.compact import compact
from solver.planning.check import InfeasiblePlan, check
from solver.planning.options import Options
from solver.planning.plan import compare, plan
from solver.planning.under_contention import as_it_ran, costs_as_they_were
from solver.policies import POLICIES
from solver.policies.choice import Choice, candidates
from solver.prediction.osf import osf_of
from solver.prediction.scaling import predict
from solver.simulation.contention import is_contended, without_slowdowns
from solver.simulation.engine import Deadlock, Noise, costs_of, simulate
from solver.simulation.replay import replay
from solver.simulation.slowed_events import SlowedEventLoop
from solver.units import slack
from tests.fluid import Flow, Unit
from tests.sampling import cases
from tests.strategies import costs, dags, graphs, sends

CHANNELS = ("network", "nvlink", "ib")
#: Each shares a card with others, with none, or with itself alone.
CARDS = st.dictionaries(st.sampled_from(CHANNELS), st.sampled_from(["nic0", "nic1"]))


def chain_graph(*ops):
    return build("by hand", [Op(*op) for op in ops])


def slowed(op, **factors):
    return op._replace(slowdown=tuple(sorted(factors.items())))


def times_of(graph, network, policy="wfbp", noise=None):
    timeline = simulate(graph, network, POLICIES[policy], noise)
    ids = [op.id for op in graph.ops]
    return dict(zip(ids, zip(timeline.starts, timeline.ends, strict=True), strict=True)), timeline


def on_cards(cost, slowdown=1.0, **cards):
    return Network(lambda _: cost, slowdown, tuple(cards.items()))


@st.composite
def contended(draw, some=None, factors=(1.0, 1.19, 2.0, 5.0)):
    """A graph of which some ops state slowdowns, with collectives on up to three channels."""
    graph = draw(some or st.one_of(graphs(), dags()))
    names = draw(st.sampled_from([CHANNELS[:1], CHANNELS[:2], CHANNELS]))
    ops = [
        op if op.kind == COMPUTE else op._replace(channel=draw(st.sampled_from(names)))
        for op in graph.ops
    ]
    carrying = sorted({op.channel for op in ops if op.kind != COMPUTE})
    stated = st.none() | st.dictionaries(st.sampled_from(carrying), st.sampled_from(factors))
    for i, op in enumerate(ops):
        says = draw(stated) if op.kind == COMPUTE else None
        ops[i] = op if says is None else slowed(op, **says)
    return build(graph.name, ops)


@st.composite
def shared_networks(draw, slowdowns=(1.0, 1.26, 3.0)):
    """A cost for each channel, cards that some share, and a slowdown of ops that state none."""
    found = {name: draw(costs()) for name in CHANNELS}
    cards = tuple(sorted(draw(CARDS).items()))
    return Network(lambda lane: found[lane.channel], draw(st.sampled_from(slowdowns)), cards)


def test_an_op_is_slowed_by_the_channels_that_it_states():
    # g goes 0..100 on network, h 0..40 on nvlink
    graph = build(
        "by hand",
        [
            Op("g", ALL_REDUCE, None, 100),
            Op("h", ALL_REDUCE, None, 40, (), "nvlink"),
            slowed(Op("matmul", COMPUTE, 60.0), network=2.0),
            slowed(Op("norm", COMPUTE, 60.0), nvlink=4.0),
            slowed(Op("both", COMPUTE, 60.0), network=2.0, nvlink=4.0),
            slowed(Op("none", COMPUTE, 60.0)),
            Op("silent", COMPUTE, 60.0),
        ],
    )
    times, _ = times_of(graph, alike(Affine(0.0, 1.0), 5.0))
    ends = {name: end for name, (start, end) in times.items() if start == 0}
    assert ends == {
        "g": 100,
        "h": 40,
        "matmul": 110,  # 50 of 60 are done by 100
        "norm": 90,  # 10 by 40
        "both": 40 + 60 + 20,  # 10 by 40, by the largest factor; 30 more by 100
        "none": 60,
        "silent": 140,  # 20 by 100
    }


def test_launches_on_one_card_share_its_bytes_and_not_their_start_ups():
    # g: 20 of start-up, then bytes 20..; h is released at 30: its start-up until 50
    # g has 30 of 100 by 50, both get on by half from there; h's 40 take 80, until 130
    # g has 30 + 40 by then, and ends at 160
    graph = chain_graph(
        ("b", COMPUTE, 30.0),
        ("g", ALL_REDUCE, None, 100),
        ("h", ALL_REDUCE, None, 40, ("b",), "nvlink"),
        ("end", COMPUTE, 1.0, None, ("g",)),
    )
    network = on_cards(Affine(20.0, 1.0), network="nic0", nvlink="nic0")
    times, timeline = times_of(graph, network)
    assert times == {"b": (0, 30), "g": (0, 160), "h": (30, 130), "end": (160, 161)}
    assert [(launch.start, launch.end) for launch in timeline.launches] == [(0, 160), (30, 130)]
    apart = on_cards(Affine(20.0, 1.0), network="nic0", nvlink="nic1")
    assert not is_contended(graph, apart)
    assert times_of(graph, apart)[0]["g"] == (0, 120)


def test_a_table_shares_what_is_above_its_least_launch():
    table = MeasuredCost((10, 100), (50.0, 140.0), 1.0, 5.0)
    graph = chain_graph(
        ("c", COMPUTE, 1.0), ("g", ALL_REDUCE, None, 100), ("h", ALL_GATHER, None, 5, (), "nvlink")
    )
    network = on_cards(table, network="nic0", nvlink="nic0")
    times, _ = times_of(graph, network)
    assert (times["g"], times["h"]) == ((0, 145), (0, 55))  # h has nothing above it
    graph = chain_graph(
        ("c", COMPUTE, 1.0), ("g", ALL_REDUCE, None, 100), ("h", ALL_GATHER, None, 55, (), "nvlink")
    )
    times, _ = times_of(graph, network)  # 90 and 45 of bytes from 55 on
    assert (times["g"], times["h"]) == ((0, 55 + 135), (0, 55 + 90))


def test_steps_say_how_much_longer_they_took_than_alone():
    graph = build(
        "by hand",
        [
            slowed(Op("a", COMPUTE, 30.0), nvlink=1.5),
            Op("g", ALL_REDUCE, None, 100, ("a",)),
            Op("h", ALL_REDUCE, None, 60, (), "nvlink"),
        ],
    )
    network = on_cards(Affine(0.0, 1.0), network="nic0", nvlink="nic0")
    timeline = simulate(graph, network, POLICIES["wfbp"])
    found = explain(graph, network, timeline)
    # a until 45 beside h, of which 15 are left: both get on by halves until 75, g until 160
    assert [(s.ops, s.start_us, s.end_us, s.slowed_us) for s in found.critical_path] == [
        (("a",), 0, 45, 15),
        (("g",), 45, 160, 15),
    ]
    assert (found.breakdown.negotiate_us, found.breakdown.all_reduce_us) == (0, 115 + 75)
    advice = advise(graph, network, lambda _: POLICIES["wfbp"], timeline, found)
    assert advice.summary.endswith(
        " On the critical path contention costs compute beside communication 15 us and launches "
        "beside other work 15 us."
    )
    plain = explain(graph, alone(network), simulate(graph, alone(network), POLICIES["wfbp"]))
    assert plain.critical_path[0].slowed_us == 15


def test_formulas_of_fixed_times_are_not_given():
    ops = [
        Op("b", COMPUTE, 100.0),
        Op("g", ALL_REDUCE, None, 10, ("b",)),
        Op("b1", COMPUTE, 50.0, None, ("b",)),
        Op("h", ALL_REDUCE, None, 10, ("b1",)),
    ]
    network = alike(Affine(5.0, 1.0))
    for stated, is_given in (({}, True), ({"network": 2.0}, False)):
        graph = build("", [slowed(op, **stated) if op.kind == COMPUTE else op for op in ops])
        (row,) = predict(graph, [(2, network)])
        assert (osf_of(graph, network) is not None) == is_given
        assert (row.osf is not None) == is_given
        assert (plan(graph, network).ideal_us is not None) == is_given


def test_noise_stretches_start_up_and_bytes_alike():
    graph = chain_graph(
        ("c", COMPUTE, 1.0), ("g", ALL_REDUCE, None, 100), ("h", ALL_GATHER, None, 100, (), "ib")
    )
    network = on_cards(Affine(20.0, 1.0), network="nic0", ib="nic0")
    noise = Noise((1.0, 0.0, 0.0), (2.0, 0.5))
    times, _ = times_of(graph, network, noise=noise)
    # h: 10, then bytes alone until 40; g: 40, then 200. 20 of h's 50 are left, with halves 40
    assert (times["h"], times["g"]) == ((0, 80), (0, 80 + 180))


def test_a_slowdown_may_make_an_iteration_shorter():
    # a is slowed, so h comes when c is over, which h would slow down more
    def iteration_time(factor):
        ops = [
            slowed(Op("a", COMPUTE, 10.0), network=factor),
            Op("g", ALL_REDUCE, None, 10),
            Op("h", ALL_REDUCE, None, 10, ("a",), "nvlink"),
            slowed(Op("c", COMPUTE, 15.0), nvlink=10.0),
            Op("d", COMPUTE, 100.0, None, ("c",)),
        ]
        network = alike(Affine(0.0, 1.0))
        return simulate(build("", ops), network, POLICIES["wfbp"]).iteration_time

    assert iteration_time(1.0) == 10 + 10 + 4 + 100
    assert iteration_time(2.0) == 15 + 100


def least_launch(cost):
    """The least time of a launch, without the solver's own split of a cost."""
    match cost:
        case Affine():
            return cost.startup
        case MeasuredCost():
            return cost.startup + min(cost.measured)
        case Piecewise():
            return min(cost.time(1), cost.time(cost.curve.threshold_bytes))


def flow_of(graph, network, parts):
    """Replay launches as a fluid."""
    chain = chain_of(graph)
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    price = costs_of(chain, network)
    units: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    queues: dict[str, deque[Unit]] = {}
    for bucket, size in parts:
        cost = price[chain.lane[bucket[0]]]
        units.setdefault(bucket, []).append((cost.time(size), least_launch(cost)))
    made = {
        bucket: Unit(tuple(ids[i] for i in bucket), *zip(*times, strict=True))
        for bucket, times in units.items()
    }
    for bucket, _ in parts:
        channel = chain.lanes[chain.lane[bucket[0]]].channel
        queues.setdefault(channel, deque()).append(made[bucket])

    def in_order(channel, ready):
        queue = queues.get(channel)
        return queue.popleft() if queue and queue[0] in ready else None

    return Flow(graph, list(made.values()), network.compute_slowdown, in_order, dict(network.cards))


def assert_same(graph, timeline, flow):
    for i, op in enumerate(graph.ops):
        assert timeline.starts[i] == pytest.approx(float(flow.starts[op.id]))
        assert timeline.ends[i] == pytest.approx(float(flow.ends[op.id]))
    ids = [graph.ops[i].id for i in chain_of(graph).positions.tolist()]
    ours = sorted((tuple(ids[i] for i in p.bucket), p.start, p.end) for p in timeline.launches)
    theirs = sorted((tensors, float(start), float(end)) for tensors, start, end in flow.landed)
    assert [tensors for tensors, _, _ in ours] == [tensors for tensors, _, _ in theirs]
    for ran, flowed in zip(ours, theirs, strict=True):
        assert ran[1:] == pytest.approx(flowed[1:])


def sendable(data, graph):
    """Any plan; each tensor alone where a bucket would mix lanes."""
    chain = chain_of(graph)
    parts = data.draw(sends(chain))
    if any(len({chain.lane[i] for i in bucket}) > 1 for bucket, _ in parts):
        parts = [Launch((i,), int(size)) for i, size in enumerate(chain.bytes)]
    return parts


@given(data=st.data(), graph=contended(), network=shared_networks())
@settings(max_examples=cases(1500))
def test_any_plan_runs_as_the_fluid_does(data, graph, network):
    parts = sendable(data, graph)
    flow = flow_of(graph, network, parts)
    try:
        timeline = simulate(graph, network, replay(parts))
    except Deadlock:
        assert len(flow.ends) < len(graph.ops)
        return
    assert_same(graph, timeline, flow)


@pytest.mark.parametrize("policy", ["wfbp", "tictac"])
@given(
    graph=contended(factors=(1.0, 2.0, 4.0)),
    startup=st.sampled_from([0.0, 50.0, 100.0]),
    slowdown=st.sampled_from([1.0, 2.0, 4.0]),
    card=st.sampled_from([("network", "nvlink"), ("nvlink", "ib"), ("network", "ib")]),
)
@settings(max_examples=cases(400))
def test_a_policy_decides_as_the_fluid_does(policy, graph, startup, slowdown, card):
    # in binary fractions of microseconds, so that what ends together does so in floats as well
    cost = Affine(startup, 2.0**-10)
    network = on_cards(cost, slowdown, **dict.fromkeys(card, "nic0"))
    chain = chain_of(graph)
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    units = [
        Unit((name,), (cost.time(int(chain.bytes[i])),), (startup,)) for i, name in enumerate(ids)
    ]
    tail = dict(zip(ids, chain.tail.tolist(), strict=True))

    def choose(channel, ready):
        def key(unit):
            (name,) = unit.tensors
            if policy == "wfbp":
                return (ready[unit], ids.index(name))
            return (-tail[name], -ready[unit], ids.index(name))

        return min(ready, key=key, default=None)

    timeline = simulate(graph, network, POLICIES[policy])
    assert_same(graph, timeline, Flow(graph, units, slowdown, choose, dict(network.cards)))


@pytest.mark.parametrize("policy", POLICIES)
@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(60))
def test_where_nothing_is_stated_all_is_as_before(policy, graph, cost):
    network = on_cards(cost, network="nic0")
    plain = simulate(graph, alike(cost), POLICIES[policy])
    assert simulate(graph, network, POLICIES[policy]) == plain
    contended_engine = SlowedEventLoop(graph, network, POLICIES[policy], None).run()
    assert contended_engine.plan == plain.plan
    assert contended_engine.events == plain.events
    assert contended_engine.ends == pytest.approx(plain.ends)


@given(graph=st.one_of(graphs(), dags()), cost=costs(), slowdown=st.sampled_from([1.26, 4.0]))
@settings(max_examples=cases(200))
def test_a_slowdown_of_all_is_one_that_each_op_states(graph, cost, slowdown):
    channels = chain_of(graph).channels
    ops = [
        slowed(op, **dict.fromkeys(channels, slowdown)) if op.kind == COMPUTE else op
        for op in graph.ops
    ]
    stated = build(graph.name, ops)
    whole = simulate(graph, alike(cost, slowdown), POLICIES["tictac"])
    assert simulate(stated, alike(cost), POLICIES["tictac"]) == whole
    assert simulate(stated, alike(cost, 50.0), POLICIES["tictac"]) == whole
    bound, other = bound_of(graph, alike(cost, slowdown)), bound_of(stated, alike(cost))
    assert bound == other
    options = Options(baselines=(), time_limit_s=60)
    answer = plan(stated, alike(cost), options)
    assert answer.timeline == plan(graph, alike(cost, slowdown), options).timeline


@given(data=st.data(), graph=contended(), network=shared_networks((1.0,)))
@settings(max_examples=cases(300))
def test_no_launches_take_less_than_without_contention(data, graph, network):
    parts = sendable(data, graph)
    try:
        time = simulate(graph, network, replay(parts)).iteration_time
    except Deadlock:
        return
    alone = simulate(without_slowdowns(graph), replace(network, cards=()), replay(parts))
    assert alone.iteration_time <= time + slack(time)


def bound_of(graph, network):
    chain = chain_of(graph)
    alone = lower_bound(graph, chain, costs_of(chain, network))
    return with_cards(with_slowdown(alone, graph, network), graph, network)


@given(data=st.data(), graph=contended(), network=shared_networks())
@settings(max_examples=cases(800))
def test_no_plan_and_no_policy_is_faster_than_the_bound(data, graph, network):
    bound = bound_of(graph, network).value
    policy = data.draw(st.sampled_from(["wfbp", "ddp", "tictac", "p3", "horovod"]))
    time = simulate(graph, network, POLICIES[policy]).iteration_time
    assert bound <= time + slack(time)
    try:
        time = simulate(graph, network, replay(sendable(data, graph))).iteration_time
    except Deadlock:
        return
    assert bound <= time + slack(time)


def test_the_bounds_of_contention_by_hand():
    # 200 of bytes on one card, one launch's start-up before and a tail behind them
    graph = build(
        "by hand",
        [
            Op("b", COMPUTE, 30.0),
            Op("g", ALL_GATHER, None, 100, ("b",)),
            Op("h", REDUCE_SCATTER, None, 100, ("b",), "nvlink"),
            Op("f", COMPUTE, 5.0, None, ("g", "h")),
        ],
    )
    network = on_cards(Affine(20.0, 1.0), network="nic0", nvlink="nic0")
    bound = bound_of(graph, network)
    assert (bound.value, bound.kind, bound.release, bound.tail) == (255, "shared", 30, 5)
    answer = plan(graph, network, Options(baselines=()))
    assert (answer.status, answer.iteration_time_us) == (OPTIMAL, 255)
    assert set(answer.bound.tensors) == {"g", "h"}
    # 300 of launches beside ops of 100 each: 100 beside the first, 150 beside the second
    # (slowed to 1/1.5), 50 beside the third, of which 25 are lost
    ops = [
        slowed(Op("a", COMPUTE, 100.0)),
        slowed(Op("b", COMPUTE, 100.0, None, ("a",)), network=1.5),
        slowed(Op("c", COMPUTE, 100.0, None, ("b",)), network=2.0),
        Op("g", ALL_REDUCE, None, 300),
    ]
    bound = bound_of(build("", ops), alike(Affine(0.0, 1.0)))
    assert (bound.value, bound.kind) == (300 + 50 + 25, "slowed")
    ops[-1] = ops[-1]._replace(bytes=500)  # 450 fill all ops, the rest is beside none
    bound = bound_of(build("", ops), alike(Affine(0.0, 1.0)))
    assert (bound.value, bound.kind) == (500, "chain")


ALL = (Choice("wfbp"), Choice("ddp"), Choice("tictac"))


@pytest.mark.parametrize("fusion", ["joint", "none"])
@given(graph=contended(), network=shared_networks(), barrier=st.booleans())
@settings(max_examples=cases(100))
def test_a_plan_is_certified_and_no_worse_than_what_knows_no_contention(
    fusion, graph, network, barrier
):
    options = Options(fusion, baselines=ALL, barrier=barrier, time_limit_s=60)
    answer = plan(graph, network, options)
    ran = answer.graph
    time = answer.iteration_time_us
    assert time == pytest.approx(check(ran, network, answer))
    assert answer.timeline == simulate(ran, network, replay(answer.launches))
    assert answer.lower_bound_us <= time
    without_windows = compare(graph, network, options)[0]
    assert without_windows <= answer.lower_bound_us + slack(answer.lower_bound_us)
    if fusion == "none":
        return
    blind = plan(without_slowdowns(graph), alone(network), options)
    rivals = [blind.launches]
    rivals += [simulate(ran, network, each.policy).plan for each in candidates()]
    for launches in rivals:
        other = simulate(ran, network, replay(launches)).iteration_time
        assert time <= other + slack(other)
    for baseline in answer.baselines:
        other = baseline.iteration_time_us
        assert time <= other + slack(other)


def alone(network):
    """The network as if nothing slowed anything down."""
    return replace(network, compute_slowdown=1.0, cards=())


@given(graph=contended(), network=shared_networks())
@settings(max_examples=cases(60))
def test_a_part_that_ignores_its_card_is_no_plan(graph, network):
    answer = plan(graph, network, Options("none", baselines=()))
    other = replace(network, cards=())
    shares = any(
        part.end_us - part.start_us > time + slack(part.end_us)
        for part, time in zip(answer.parts, times_alone(network, answer), strict=True)
    )
    if shares:
        with pytest.raises(InfeasiblePlan, match="does not take the cost of its bytes"):
            check(graph, other, answer)
    else:
        check(graph, other, answer)


def times_alone(network, answer):
    chain = chain_of(answer.graph)
    price = costs_of(chain, network)
    return [price[chain.lane[p.bucket[0]]].time(p.bytes) for p in answer.timeline.launches]


@given(graph=contended(), network=shared_networks())
@settings(max_examples=cases(60))
def test_a_graph_as_it_ran_knows_no_contention(graph, network):
    timeline = simulate(graph, network, POLICIES["tictac"])
    ran = as_it_ran(graph, timeline)
    costs_then = costs_as_they_were(graph, network, timeline)
    assert not is_contended(ran, alone(network))
    chain = chain_of(graph)
    for k, channel in enumerate(chain.channels):
        found = [p for p in timeline.launches if chain.channel[p.bucket[0]] == k]
        took = sum(p.end - p.start for p in found)
        then = sum(costs_then[chain.lane[p.bucket[0]]].time(p.bytes) for p in found)
        assert then == pytest.approx(took), channel  # on the whole of a channel
    if not network.cards:
        assert costs_then == costs_of(chain, network)


def test_ops_of_different_slowdowns_stay_apart():
    ops = [Op(f"a{i}", COMPUTE, 1.0, None, (f"a{i - 1}",) if i else ()) for i in range(30)]
    ops = [slowed(op, network=2.0) if i < 10 else op for i, op in enumerate(ops)]
    twins = [slowed(Op(f"t{i}", COMPUTE, float(i)), network=1.0 + i % 2) for i in range(10)]
    graph = build("long", [*ops, *twins, Op("g", ALL_REDUCE, None, 10)])
    light = compact(graph)
    assert [(op.id, op.duration_us, op.slowdown) for op in light.ops] == [
        ("a0 .. a9", 10, (("network", 2.0),)),
        ("a10 .. a29", 20, None),
        ("t8", 8, (("network", 1.0),)),
        ("t9", 9, (("network", 2.0),)),
        ("g", None, None),
    ]
    network = alike(Affine(0.0, 1.0))
    times = [simulate(each, network, POLICIES["wfbp"]).iteration_time for each in (graph, light)]
    assert times == [35, 35]


@pytest.mark.parametrize("factor", [0.99, 0.0, -1.0, math.nan, math.inf, 100.1])
def test_a_factor_out_of_range_is_refused(factor):
    with pytest.raises(InvalidGraph, match="slowdown by 'network' must be 1 to 100") as caught:
        build("", [slowed(Op("c", COMPUTE, 1.0), network=factor), Op("g", ALL_REDUCE, None, 1)])
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/ops/0/slowdown/network", FaultCode.OUT_OF_RANGE)


def test_all_faults_of_slowdowns_at_once():
    ops = [
        Op("c", COMPUTE, 1.0, slowdown=(("a/b~", 0.5), ("network", 2.0))),
        Op("g", ALL_REDUCE, None, 1, slowdown=()),
    ]
    with pytest.raises(InvalidGraph) as caught:
        build("", ops)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [
        ("/ops/1/slowdown", FaultCode.EXTRA_FIELD),
        ("/ops/0/slowdown/a~1b~0", FaultCode.OUT_OF_RANGE),
        ("/ops/0/slowdown/a~1b~0", FaultCode.UNKNOWN_CHANNEL),
    ]
    assert "its channels are 'network'" in caught.value.faults[2].detail


def test_cards_of_a_cluster():
    nvlink = Cluster(8, 100.0, shares="nic0")
    cluster = Cluster(8, 10.0, channels=(("ib", Cluster(8, 10.0)), ("nvlink", nvlink)))
    assert network_of(cluster).cards == (("nvlink", "nic0"),)
    cluster = replace(cluster, shares="nic1")
    assert network_of(cluster).cards == (("network", "nic1"), ("nvlink", "nic0"))


def pairs_of_layers(count=12):
    """Gathers and scatters of layers on two communicators, as FSDP has them."""
    ops = [Op("gather0", ALL_GATHER, None, 40_000_000, (), "gathers")]
    for i in range(count):
        after = (f"gather{i}", f"layer{i - 1}") if i else ("gather0",)
        ops.append(
            slowed(Op(f"layer{i}", COMPUTE, 4000.0, None, after), gathers=1.19, scatters=1.1)
        )
        ops.append(Op(f"scatter{i}", REDUCE_SCATTER, None, 40_000_000, (f"layer{i}",), "scatters"))
        if i + 1 < count:
            before = (f"gather{i}",)
            ops.append(Op(f"gather{i + 1}", ALL_GATHER, None, 40_000_000, before, "gathers"))
    ops.append(Op("step", COMPUTE, 500.0, None, tuple(f"scatter{i}" for i in range(count))))
    return build("layers", ops)


def test_a_plan_of_two_communicators_on_one_card():
    graph = pairs_of_layers()
    network = network_of(
        Cluster(
            8,
            100.0,
            channels=tuple(
                (name, Cluster(8, 100.0, startup_us=30.0, shares="nic0"))
                for name in ("gathers", "scatters")
            ),
        )
    )
    answer = plan(graph, network, Options(baselines=(Choice("wfbp"),), time_limit_s=60))
    blind = plan(without_slowdowns(graph), alone(network), Options(baselines=(), time_limit_s=60))
    of_blind = simulate(graph, network, replay(blind.launches)).iteration_time
    assert answer.iteration_time_us <= of_blind
    assert answer.iteration_time_us <= answer.baselines[0].iteration_time_us
    assert answer.gap < 0.2
    parts = sorted((p.start_us, p.end_us) for p in answer.parts)
    assert any(later < end for (_, end), (later, _) in pairwise(parts))  # they do share
