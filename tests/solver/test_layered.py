"""Channels that are problems of their own: planned one by one, answered together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Affine, MeasuredCost, Network, alike
from solver.errors import InvalidOptions
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Op, build
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies.choice import Choice
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import graphs

SLOW, FAST = Affine(100.0, 0.001), Affine(10.0, 0.0004)


@Network
def network(lane):
    return FAST if lane.channel == "nvlink" else SLOW


def on(graph, channels):
    """Put the collectives on channels in turn."""
    turns = {p: channels[k % len(channels)] for k, p in enumerate(graph.collectives)}
    ops = [op._replace(channel=turns.get(i, op.channel)) for i, op in enumerate(graph.ops)]
    return build(graph.name, ops)


def only(graph, channel):
    """Let the collectives of other channels take no time."""
    return build(
        graph.name,
        [
            op
            if op.kind == COMPUTE or op.channel == channel
            else Op(op.id, COMPUTE, 0.0, None, op.after)
            for op in graph.ops
        ],
    )


@pytest.mark.parametrize("fusion", ["joint", "maxmin", "none"])
@given(graph=graphs(), schedule=st.sampled_from(["jackson", "lp"]))
@settings(max_examples=cases(40))
def test_the_whole_is_the_worst_of_the_channels(fusion, schedule, graph):
    graph = on(graph, ["network", "nvlink"])
    if len(graph.collectives) < 2:
        return
    options = Options(fusion, schedule, baselines=(Choice("wfbp"), Choice("pace")))
    whole = plan(graph, network, options)
    parts = [plan(only(graph, channel), network, options) for channel in ("network", "nvlink")]
    assert check(graph, network, whole) == pytest.approx(whole.iteration_time_us)
    for field in ("iteration_time_us", "lower_bound_us"):
        assert getattr(whole, field) == pytest.approx(max(getattr(p, field) for p in parts))
    if fusion == "joint":  # a channel with time to spare has launches joined
        assert len(whole.parts) <= sum(len(part.parts) for part in parts)
    else:
        assert whole.ideal_us == pytest.approx(max(part.ideal_us for part in parts))
        assert {bucket.tensors for bucket in whole.buckets} == {
            bucket.tensors for part in parts for bucket in part.buckets
        }
    for k in range(2):
        assert whole.baselines[k].iteration_time_us == pytest.approx(
            max(part.baselines[k].iteration_time_us for part in parts)
        )
    assert {run.bucket for run in whole.slotted.runs} <= {bucket.id for bucket in whole.buckets}


BEHIND = build(
    "behind",
    [
        Op("b", COMPUTE, 10.0),
        Op("g", ALL_REDUCE, None, 100, ("b",)),
        Op("c", COMPUTE, 10.0, None, ("g",)),
        Op("h", ALL_REDUCE, None, 100, ("c",)),
    ],
)
MIXED = build(
    "mixed",
    [
        Op("b", COMPUTE, 10.0),
        Op("g", ALL_REDUCE, None, 100, ("b",)),
        Op("h", ALL_GATHER, None, 100, ("b",)),
    ],
)


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (BEHIND, "a graph where no collective comes after another; 'h' comes after 'g'."),
        (
            MIXED,
            "one sort of collective on each channel; here are all_reduce on network,",
        ),
    ],
)
def test_options_for_layered_graphs_are_refused_elsewhere(graph, why):
    with pytest.raises(InvalidOptions) as caught:
        plan(graph, alike(RING), Options("maxmin", "lp", 5.0))
    assert [(f.pointer, f.code) for f in caught.value.faults] == [
        ("/fusion", "not_layered"),
        ("/schedule", "not_layered"),
        ("/slot_us", "not_layered"),
    ]
    assert all(why in fault.detail for fault in caught.value.faults)


@pytest.mark.parametrize("graph", [BEHIND, MIXED])
def test_where_channels_are_no_problems_of_their_own_there_is_no_ideal(graph):
    answer = plan(graph, alike(RING), Options(baselines=(Choice("wfbp"), Choice("pace"))))
    assert (answer.ideal_us, answer.slotted) == (None, None)
    assert answer.proof.critical_buckets == ()
    assert answer.baselines[0].iteration_time_us == answer.iteration_time_us
    pace = answer.baselines[1]
    assert (pace.iteration_time_us, pace.speedup, pace.headroom) == (None, None, None)
    assert answer.status == "optimal"


def test_a_table_that_rewards_many_launches_is_searched_as_a_general_graph():
    # 1 MB in 400 us, half of it in 50: three launches or more are best
    cost = MeasuredCost((250_000, 500_000, 1_000_000), (25.0, 50.0, 400.0), 7e-4, 0.0)
    answer = plan(one(1_000_000), alike(cost), Options(baselines=()))
    assert answer.iteration_time_us == pytest.approx(10 + 100 + 10)
    assert len(answer.parts) >= 2


def one(size):
    """Build compute, a tensor of so many bytes, compute."""
    ops = [Op("b", COMPUTE, 10.0), Op("g", ALL_REDUCE, None, size, ("b",))]
    return build("one", [*ops, Op("f", COMPUTE, 10.0, None, ("g",))])


def test_a_channel_may_have_any_name():
    graph = on(TWO_LAYERS, ["somewhere"])
    there, here = plan(graph, network, Options()), plan(TWO_LAYERS, network, Options())
    assert there.iteration_time_us == here.iteration_time_us
    assert {bucket.channel for bucket in there.buckets} == {"somewhere"}
