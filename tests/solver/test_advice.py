"""What limits an iteration: each word by hand, and sensitivities that are simulations."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, Cluster, MeasuredCost, alike, cost_of, scale
from solver.explanation.advice import advise
from solver.explanation.explain import explain
from solver.explanation.sensitivity import sensitivities
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.policies import POLICIES
from solver.policies.choice import Choice, bind
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.simulation.what_if import Change, apply_changes, carry_over
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_CHANNELS, TWO_LAYERS
from tests.strategies import dags, networks


def advised(graph, cost, policy="wfbp"):
    rule = bind(policy) if isinstance(policy, Choice) else POLICIES[policy]
    timeline = simulate(graph, alike(cost), rule)
    found = explain(graph, alike(cost), timeline)
    return advise(graph, alike(cost), lambda _: rule, timeline, found)


def backward_then_send(compute, sizes):
    """Each tensor is ready when all compute is done."""
    last = f"c{len(compute) - 1}"
    return build(
        "t",
        [
            *(
                Op(f"c{i}", COMPUTE, time, None, (f"c{i - 1}",) if i else ())
                for i, time in enumerate(compute)
            ),
            *(Op(f"g{i}", ALL_REDUCE, None, size, (last,)) for i, size in enumerate(sizes)),
        ],
    )


CASES = {
    # 100 us of compute in four equal ops, 40 us of sending
    "compute": (
        backward_then_send([25.0] * 4, [200] * 2),
        Affine(0.0, 0.1),
        "Compute limits this iteration: compute alone takes 100 us, communication adds 40 us "
        "(28.6 %). Compute twice as fast would save 50 us (35.7 %), twice the bandwidth would save "
        "20 us (14.3 %).",
    ),
    "op": (
        backward_then_send([25.0, 900.0, 25.0], [200] * 2),
        Affine(0.0, 0.1),
        "One op limits this iteration: 'c1' takes 900 us of its 990 us (90.9 %). Half its time "
        "would save 450 us (45.5 %), twice the bandwidth would save 20 us (2.0 %).",
    ),
    # five tensors of 30 us each, 0.5 of it start-up
    "bandwidth": (
        backward_then_send([50.0], [295] * 5),
        Affine(0.5, 0.1),
        "Bandwidth limits this iteration: compute alone takes 50 us, communication adds 150 us "
        "(75.0 %). Twice the bandwidth would save 73.8 us (36.9 %), free bandwidth would save 148 "
        "us (73.8 %).",
    ),
    "startup": (
        backward_then_send([50.0], [10] * 4),
        Affine(1000.0, 0.1),
        "Start-ups limit this iteration: its 4 launches spend 4 ms on them. Half the start-up "
        "would save 2 ms (49.3 %), no start-up would save 4 ms (98.7 %), twice the bandwidth would "
        "save 2 us (under 0.1 %).",
    ),
    "tensor": (
        backward_then_send([50.0], [1000, 3_000_000, 1000]),
        Affine(0.0, 0.1),
        "One tensor limits this iteration: 'g1' (3 MB) is ready at 50 us and sent by 300 ms of 300 "
        "ms. Doing without it would save 300 ms (99.9 %), twice the bandwidth would save 150 ms "
        "(50.0 %).",
    ),
}


@pytest.mark.parametrize("word", CASES)
def test_each_limit_by_hand(word):
    graph, cost, sentences = CASES[word]
    found = advised(graph, cost)
    assert (found.limited_by, found.summary) == (word, sentences)


def test_a_rule_that_waits_for_its_clock():
    graph = backward_then_send([10.0], [100])
    found = advised(graph, Affine(0.0, 0.1), "horovod")
    assert found.limited_by == "policy"
    assert found.summary == (
        "The policy limits this iteration: its rule holds launches back for 990 us of its 1.01 ms "
        "(98.0 %). Twice the bandwidth would save 5 us (0.5 %), compute twice as fast would save "
        "nothing."
    )


@pytest.mark.parametrize(("size", "word"), [(9_000, "policy"), (11_000, "bandwidth")])
def test_half_of_what_a_rule_waits_counts(size, word):
    # released at 10, held back until the clock's 1000; a byte takes 0.1 us
    graph = backward_then_send([10.0], [size // 2] * 2)
    assert advised(graph, Affine(0.0, 0.1), "horovod").limited_by == word


def test_one_worker():
    found = advised(TWO_LAYERS, cost_of(Cluster(1)))
    assert found.limited_by == "compute"
    assert found.summary == (
        "Compute limits this iteration: compute alone takes 2.55 ms, communication adds nothing. "
        "Compute twice as fast would save 1.28 ms (50.0 %), twice the bandwidth would save nothing."
    )


def test_no_time_at_all():
    graph = build("t", [Op("c", COMPUTE, 0.0), Op("g", ALL_REDUCE, None, 1)])
    found = advised(graph, Affine(0.0, 0.0))
    assert (found.limited_by, found.summary) == (None, "Nothing in this iteration takes time.")


def test_without_collectives():
    found = advised(apply_changes(TWO_LAYERS, [Change("g?", remove=True)]), RING)
    assert found.limited_by == "compute"
    assert [s.name for s in found.sensitivities if s.op] == ["op_half"]


@pytest.mark.parametrize(
    ("compute", "startup", "per_byte", "word"),
    [
        (100.0, 0.0, 0.1, "compute"),  # as long as the launch beside it: c has position 0
        (0.0, 0.0, 0.1, "tensor"),
        (100.0, 100.0, 0.0, "compute"),
    ],
)
def test_two_equal_limits(compute, startup, per_byte, word):
    # halving either one alone saves nothing; the critical path decides
    graph = build("t", [Op("c", COMPUTE, compute), Op("g", ALL_REDUCE, None, 1000)])
    assert advised(graph, Affine(startup, per_byte)).limited_by == word


@pytest.mark.parametrize(
    ("startup", "per_byte", "word"), [(0.0, 0.1, "bandwidth"), (100.0, 1e-9, "startup")]
)
def test_two_equal_limits_with_the_launch_first(startup, per_byte, word):
    cost = Affine(startup, per_byte)
    ops = [Op("g", ALL_REDUCE, None, 1000), Op("c", COMPUTE, cost.time(1000))]
    found = advised(build("t", ops), cost)
    assert all(s.gain_us == 0 for s in found.sensitivities)
    assert found.limited_by == word


def test_a_gain_may_be_a_loss():
    ops = [
        Op("c", COMPUTE, 1150.0),
        Op("a", ALL_REDUCE, None, 12_000),
        Op("b", ALL_REDUCE, None, 1_000, ("c",)),
    ]
    # a is sent to 1200, where a cycle begins and takes b; sent to 600 it leaves the cycles at
    # 1000 and 2000, and b has to wait for the second one
    waiting = Choice("horovod", parameters=(("waits_for_sends", True),))
    found = advised(build("t", ops), Affine(0.0, 0.1), waiting)
    double = next(s for s in found.sensitivities if s.name == "bandwidth_double")
    assert (double.iteration_time_us, double.gain_us) == pytest.approx((2050, -750))
    assert "Twice the bandwidth would cost 750 us (57.7 %) more" in found.summary


def test_sensitivities_of_two_layers_by_hand():
    network = alike(RING)
    timeline = simulate(TWO_LAYERS, network, POLICIES["wfbp"])
    found = explain(TWO_LAYERS, network, timeline)
    times = {
        (s.name, s.op): s.iteration_time_us
        for s in sensitivities(TWO_LAYERS, network, lambda _: POLICIES["wfbp"], timeline, found)
    }
    # b2 800, g2 50 + 5600, g1 50 + 1400, f1 400, f2 450 in a row: 8750
    assert times == pytest.approx(
        {
            ("bandwidth_double", None): 8750 - 3500,
            ("bandwidth_free", None): 1700 + 50 + 850,  # g2 ends at 850, before b1 at 1700
            ("startup_half", None): 8700,
            ("startup_free", None): 8650,
            ("compute_half", None): 8750 - 400 - 425,
            ("tensor_free", "g2"): 1700 + 1450 + 850,
            ("tensor_free", "g1"): 6450 + 450,  # g2 is last
            ("op_half", "b2"): 8350,
        }
    )


def test_of_several_channels_the_one_that_helps_is_named():
    network = alike(Affine(0.0, 1.0))
    timeline = simulate(TWO_CHANNELS, network, POLICIES["wfbp"])
    found = explain(TWO_CHANNELS, network, timeline)
    advice = advise(TWO_CHANNELS, network, lambda _: POLICIES["wfbp"], timeline, found)
    gains = {s.channel: s.gain_us for s in advice.sensitivities if s.name == "channel_double"}
    # g 10..310 on network; ag 10..110, f, rs 130..180 on nvlink; then e of 5
    assert gains == {"nvlink": 0, "network": 130}
    assert "('network' alone would save 130 us" in advice.summary


def test_an_explicit_plan_is_carried_over():
    network = alike(RING)
    parts = [Launch((0,), 607_142), Launch((1,), 1_000_000), Launch((0,), 3_392_858)]
    timeline = simulate(TWO_LAYERS, network, replay(parts))
    found = explain(TWO_LAYERS, network, timeline)
    rerun = carry_over(parts, TWO_LAYERS)
    times = {
        (s.name, s.op): s.iteration_time_us
        for s in sensitivities(TWO_LAYERS, network, rerun, timeline, found)
    }
    assert times["tensor_free", "g2"] == pytest.approx(1700 + 1450 + 850)
    assert times["tensor_free", "g1"] == pytest.approx(800 + 100 + 5600 + 450)  # still in two parts


@given(graph=dags(most=4), network=networks((1.0, 1.26)))
@settings(max_examples=cases(60))
def test_each_is_the_simulation_it_names(graph, network):
    rule = POLICIES["tictac"]
    timeline = simulate(graph, network, rule)
    found = explain(graph, network, timeline)
    told = sensitivities(graph, network, lambda _: rule, timeline, found)
    sizes = {t.id: (t.exposed_us, t.bytes) for t in found.tensors}
    tried = [s.op for s in told if s.op and s.name == "tensor_free"]
    assert len(tried) == min(3, len(sizes))
    assert min(sizes[name] for name in tried) >= max(
        (size for name, size in sizes.items() if name not in tried), default=(0.0, 0)
    )
    for s in told:
        ops, other = list(graph.ops), network
        if s.name == "tensor_free":
            ops = [
                op._replace(kind=COMPUTE, bytes=None, duration_us=0.0, channel="network")
                if op.id == s.op
                else op
                for op in ops
            ]
        if s.name in {"op_half", "compute_half"}:
            ops = [
                op._replace(duration_us=op.duration_us / 2)
                if op.kind == COMPUTE and s.op in {None, op.id}
                else op
                for op in ops
            ]
        if s.name.startswith(("bandwidth", "startup")):
            what, how = s.name.split("_")
            factor = {"double": 2.0, "half": 0.5}.get(how, 1e15 if what == "bandwidth" else 0.0)
            change = {what: factor}
            other = replace(network, cost=lambda lane, c=change: scale(network(lane), **c))
        if s.name == "channel_double":
            twice = s.channel
            double = lambda lane, c=twice: scale(network(lane), 2.0 if lane.channel == c else 1.0)
            other = replace(network, cost=double)
        if any(op.kind != COMPUTE for op in ops):
            time = simulate(build("t", ops), other, rule).iteration_time
            assert s.iteration_time_us == pytest.approx(time, abs=1e-9)
        else:
            assert s.iteration_time_us == pytest.approx(chain_of(graph).compute_time)
        gain = timeline.iteration_time - s.iteration_time_us
        assert s.gain_us == pytest.approx(gain, abs=1e-6 * max(1.0, timeline.iteration_time))
    advice = advise(graph, network, lambda _: rule, timeline, found)
    assert advice.sensitivities == told
    assert advice == advise(graph, network, lambda _: rule, timeline, found)
    slowed = any(step.slowed_us for step in found.critical_path)
    assert ("contention costs" in advice.summary) == slowed
    assert 1 <= advice.summary.count(". ") + 1 <= 2 + slowed
    assert "e+" not in advice.summary
    assert "e-" not in advice.summary


def test_times_that_nobody_measures_are_not_spelt_out():
    ops = [Op("b", COMPUTE, 5e-324), Op("g", ALL_REDUCE, None, 8, ("b",))]
    found = advised(build("tiny", ops), Affine(0.0, 0.0), "wfbp")
    assert "takes under 0.001 us of its under 0.001 us" in found.summary


def test_free_bandwidth_leaves_the_least_time_of_a_table():
    cost = scale(MeasuredCost((100, 200), (30.0, 50.0), 0.2, 5.0), bandwidth=math.inf)
    assert [cost.time(n) for n in (1, 150, 10_000)] == [35.0] * 3
