"""Plans as Chakra files: replayed as planned, and read back as they were."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver.chain import chain_of
from solver.costs import Cluster, Crossing, alike, cost_of, network_of
from solver.errors import InvalidPlan
from solver.exports import chakra
from solver.exports.explicit_plan import ExplicitPlan
from solver.graph import ALL_GATHER, ALL_REDUCE, BROADCAST, COMPUTE, NETWORK, Op, build
from solver.limits import MAX_EXPORTED_FILES
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from solver.planning.labels import label_buckets, parts_of
from solver.policies.ddp import ddp
from solver.policies.p3 import p3
from solver.policies.wfbp import wfbp
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.traces import TraceOptions
from solver.traces.chakra.reader import read
from tests.chakra_bytes import file, node
from tests.sampling import cases
from tests.strategies import dags, graphs, networks, sends

LINEAR = alike(cost_of(Cluster(2, algorithm="linear", startup_us=10.0, us_per_byte=1.0)))
GRAPH = build(
    "small",
    [
        Op("b2", COMPUTE, 100.0, stream="gpu"),
        Op("b1", COMPUTE, 50.5, stream="gpu"),
        Op("g2", ALL_REDUCE, None, 90, ("b2",)),
        Op("g1", ALL_REDUCE, None, 30, ("b1",)),
        Op("f1", COMPUTE, 20.0, None, ("g1",), stream="gpu"),
        Op("f2", COMPUTE, 20.0, None, ("f1", "g2"), stream="gpu"),
    ],
)
PLAN = ExplicitPlan(
    (ExplicitBucket("b0", ("g2",)), ExplicitBucket("b1", ("g1",))),
    (ExplicitPart("b0", 40), ExplicitPart("b1", 30), ExplicitPart("b0", 50)),
)


def planned(graph, network, policy):
    """Name the buckets of a policy's launches as an answer does."""
    chain = chain_of(graph)
    timeline = simulate(graph, network, policy)
    names, buckets = label_buckets(graph, chain, timeline)
    return ExplicitPlan(
        tuple(ExplicitBucket(bucket.id, bucket.tensors) for bucket in buckets),
        tuple(ExplicitPart(part.bucket, part.bytes) for part in parts_of(names, timeline)),
    )


def read_back(exported):
    content = exported.files["plan.0.et"]
    assert isinstance(content, bytes)
    return read([content], TraceOptions())


def test_a_plan_by_hand_byte_for_byte():
    """The part of g1 goes between those of g2; ends 100, 150.5, 190.5 -> 100, 150, 190."""
    exported = chakra.export(GRAPH, LINEAR, replace(PLAN, workers=2))
    reduce = dict(is_cpu_op=False, comm_type=0)
    assert list(exported.files) == ["plan.0.et", "plan.1.et", "network.yml"]
    # two steps of half the bytes: 5 us each, and a microsecond a byte
    assert exported.files["network.yml"] == (
        f"topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ {1e6 / 2**30} ]  # GB/s, of 2^30 "
        "bytes\nlatency: [ 5000.0 ]  # ns\n"
    )
    assert {exported.files["plan.0.et"], exported.files["plan.1.et"]} == {
        file(
            node(1, 4, 100, name="b2", is_cpu_op=False),
            node(2, 4, 50, [1], name="b1", is_cpu_op=False),
            node(3, 7, 50, [1], name="b0 part 1", **reduce, comm_size=40),
            node(4, 7, 40, [2, 3], name="b1'", **reduce, comm_size=30),
            node(5, 4, 20, [2, 4], name="f1", is_cpu_op=False),
            node(6, 7, 60, [4], name="b0 part 2", **reduce, comm_size=50),
            node(7, 4, 20, [5, 6], name="f2", is_cpu_op=False),
        )
    }
    assert (exported.format, exported.media_type) == ("chakra", "application/octet-stream")
    assert (exported.plan_time_us, exported.iteration_time_us) == (270.5, 270.0)
    assert len(exported.notes) == 4


def test_all_gathers_count_shares_and_channels_have_chains_of_their_own():
    graph = build(
        "kinds",
        [
            Op("a", COMPUTE, 10.0),
            Op("g", ALL_GATHER, None, 10, ("a",), "nvlink"),
            Op("s", BROADCAST, None, 7, ("a",)),
            Op("z", COMPUTE, 5.0, None, ("g", "s")),
        ],
    )
    plan = ExplicitPlan(
        (ExplicitBucket("x", ("g",)), ExplicitBucket("y", ("s",))),
        (ExplicitPart("x", 10), ExplicitPart("y", 7)),
    )
    exported = chakra.export(graph, LINEAR, replace(plan, workers=4))
    gather = dict(comm_type=2, comm_size=3, whole_size=10, channel="nvlink")
    assert exported.files["plan.3.et"] == file(
        node(1, 4, 10, name="a", is_cpu_op=False),
        node(2, 7, 20, [1], name="x", is_cpu_op=False, **gather),
        node(3, 7, 17, [1], name="y", is_cpu_op=False, comm_type=5, comm_size=7),
        node(4, 4, 5, [2, 3], name="z", is_cpu_op=False),
    )
    again = read_back(exported)
    assert again.report.warnings == ()
    assert [(op.bytes, op.channel) for op in again.graph.ops[1:3]] == [(10, "nvlink"), (7, NETWORK)]


def test_what_contends_is_in_the_durations_and_the_notes():
    ops = [
        Op("c", COMPUTE, 100.0, slowdown=(("nvlink", 1.5),)),
        Op("d", COMPUTE, 1.0, None, ("g", "h")),
        Op("g", ALL_REDUCE, None, 50),
        Op("h", ALL_REDUCE, None, 50, (), "nvlink"),
    ]
    graph = build("contended", ops)
    network = replace(LINEAR, cards=(("network", "nic0"), ("nvlink", "nic0")))
    exported = chakra.export(graph, network, planned(graph, network, wfbp))
    assert exported.plan_time_us == 100 + 110 / 3  # 110 us of launches, two thirds of that done
    said = " ".join(exported.notes)
    assert "compute beside communication takes longer: ASTRA-sim does not slow it down" in said
    assert "Channels 'network' and 'nvlink' share network cards in the plan" in said
    times = {op.id: op.duration_us for op in read_back(exported).graph.ops if op.duration_us}
    assert times == {"c": 137, "d": 1}
    whole = replace(LINEAR, compute_slowdown=2.0)
    plain = build("slowed", [op._replace(slowdown=None) for op in ops])
    said = " ".join(chakra.export(plain, whole, planned(plain, whole, wfbp)).notes)
    assert "takes 2 times as long: ASTRA-sim does not slow it down" in said
    assert "share network cards" not in said
    linked = replace(
        LINEAR,
        links=(("up", 1.0),),
        crossings=(Crossing("nvlink", ("up",)),),
        launch_slowdowns=(("network", 2.0),),
    )
    said = " ".join(chakra.export(plain, linked, planned(plain, linked, wfbp)).notes)
    assert "Channels 'nvlink' cross links in the plan" in said
    assert "Launches on 'network' take longer beside compute in the plan" in said


@st.composite
def plans(draw):
    """Any launches at all of a PACE graph, or those of a policy of any graph."""
    network = draw(networks())
    if draw(st.booleans()):
        graph = draw(graphs())
        policy = replay(draw(sends(chain_of(graph))))
    else:
        graph = draw(dags())
        policy = draw(st.sampled_from([wfbp, p3, ddp]))
    return graph, network, planned(graph, network, policy)


@settings(max_examples=cases(50))
@given(plans())
def test_reading_back_gives_the_plan(drawn):
    """Parts, their order on each channel, and the time that they take."""
    graph, network, plan = drawn
    exported = chakra.export(graph, network, replace(plan, workers=3))
    turns = any("take turns" in note for note in exported.notes)
    assert exported.iteration_time_us >= exported.plan_time_us - 1e-6
    assert turns or exported.iteration_time_us == pytest.approx(exported.plan_time_us, abs=1e-6)
    trace = read_back(exported)
    assume(trace.graph is not None)
    channels = {op.id: op.channel for op in graph.ops}
    channel_of = {bucket.id: channels[bucket.tensors[0]] for bucket in plan.buckets}
    for channel in ("nvlink", NETWORK):
        found = [
            (op.id.split(" part ")[0].rstrip("'"), op.bytes)
            for op in trace.graph.ops
            if op.kind != COMPUTE and op.channel == channel
        ]
        given_parts = [part for part in plan.parts if channel_of[part.bucket] == channel]
        assert found == given_parts
    again = simulate(trace.graph, network, wfbp)
    assert again.iteration_time == pytest.approx(exported.plan_time_us, abs=1e-6)
    assert trace.report.repaired == trace.report.assumed == trace.report.warnings == ()


@settings(max_examples=cases(50))
@given(st.data())
def test_rounding_does_not_add_up(data):
    """A microsecond for each launch at most, however many ops there are."""
    graph = data.draw(graphs())
    fractions = data.draw(st.lists(st.floats(0, 1), min_size=len(graph.ops)))
    ops = [
        op._replace(duration_us=op.duration_us + extra) if op.kind == COMPUTE else op
        for op, extra in zip(graph.ops, fractions, strict=False)
    ]
    odd = build("odd", ops)
    network = data.draw(networks())
    launches = data.draw(sends(chain_of(odd)))
    plan = planned(odd, network, replay(launches))
    exported = chakra.export(odd, network, replace(plan, workers=1))
    parts = chakra.graph_of_parts(odd, plan, simulate(odd, network, replay(launches)))
    again = simulate(parts, network, wfbp)
    assert abs(again.iteration_time - exported.plan_time_us) <= len(plan.parts) + 1


def test_a_long_chain_ends_where_it_should():
    ops = [Op(f"c{i}", COMPUTE, 0.4, None, (f"c{i - 1}",) if i else ()) for i in range(1000)]
    graph = build("chain", [*ops, Op("g", ALL_REDUCE, None, 5, ("c999",))])
    plan = ExplicitPlan((ExplicitBucket("b", ("g",)),), (ExplicitPart("b", 5),))
    exported = chakra.export(graph, LINEAR, replace(plan, workers=1))
    assert exported.iteration_time_us == pytest.approx(exported.plan_time_us) == 415


def test_a_long_name_makes_a_long_message():
    graph = build("long", [Op("c" * 500, COMPUTE, 3.0), Op("g" * 300, ALL_REDUCE, None, 5)])
    plan = ExplicitPlan((ExplicitBucket("b" * 300, ("g" * 300,)),), (ExplicitPart("b" * 300, 5),))
    exported = chakra.export(graph, LINEAR, plan)
    assert exported.files["plan.0.et"] == file(
        node(1, 4, 3, name="c" * 500, is_cpu_op=False),
        node(2, 7, 15, name="b" * 300, is_cpu_op=False, comm_type=0, comm_size=5),
    )


def test_the_same_plan_gives_the_same_bytes():
    cluster = network_of(Cluster(8, 10.0))
    assert chakra.export(GRAPH, cluster, PLAN) == chakra.export(GRAPH, cluster, PLAN)


def test_another_graphs_plan():
    with pytest.raises(InvalidPlan):
        chakra.export(GRAPH, LINEAR, ExplicitPlan((ExplicitBucket("b0", ("g9",)),), ()))


def test_of_many_workers_not_every_file_is_written():
    exported = chakra.export(GRAPH, LINEAR, replace(PLAN, workers=1_000_000))
    assert len([name for name in exported.files if name.endswith(".et")]) == MAX_EXPORTED_FILES
    assert exported.notes[-1] == "All 1,000,000 files are alike; 256 are written."
