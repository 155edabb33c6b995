"""Plans given by names: what is refused, and that an answer's own plan is taken."""

import pytest

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import alike
from solver.errors import InvalidPlan
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.planning.explicit import ExplicitBucket, ExplicitPart, deadlock_fault, explicit_launches
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.simulation.engine import Deadlock, simulate
from solver.simulation.replay import replay
from tests.solver.test_simulate import RING, TWO_CHANNELS, TWO_LAYERS

SIZES = {"g2": 4_000_000, "g1": 1_000_000}
BUCKETS = [("b0", "g2"), ("b1", "g1")]
PARTS = [("b0", 4_000_000), ("b1", 1_000_000)]


def sends(buckets, parts, graph=TWO_LAYERS):
    return explicit_launches(
        graph,
        chain_of(graph),
        [ExplicitBucket(name, tensors) for name, *tensors in buckets],
        [ExplicitPart(*part) for part in parts],
    )


def test_names_become_indices():
    assert sends([("x", "g1", "g2")], [("x", 1), ("x", 4_999_999)]) == (
        Launch((0, 1), 1),
        Launch((0, 1), 4_999_999),
    )


@pytest.mark.parametrize("graph", [TWO_LAYERS, TWO_CHANNELS])
def test_a_plan_given_again_takes_the_same_time(graph):
    answer = plan(graph, alike(RING), Options())
    given = explicit_launches(
        graph,
        chain_of(graph),
        [ExplicitBucket(b.id, b.tensors) for b in answer.buckets],
        [ExplicitPart(p.bucket, p.bytes) for p in answer.parts],
    )
    again = simulate(graph, alike(RING), replay(given))
    assert again.iteration_time == answer.iteration_time_us


@pytest.mark.parametrize(
    ("buckets", "parts", "faults"),
    [
        # a bucket twice
        ([("b0", "g2"), ("b0", "g1")], [], {("/buckets/1/id", "duplicate_id")}),
        # a tensor that is none, or is a compute op
        ([*BUCKETS, ("b2", "b1")], PARTS, {("/buckets/2/tensors/0", "unknown_op")}),
        # a tensor twice, and bytes that do not fit then
        (
            [*BUCKETS, ("b2", "g1")],
            PARTS,
            {("/buckets/2/tensors/0", "duplicate_id"), ("/buckets/2", "out_of_range")},
        ),
        # a tensor in no bucket
        ([("b0", "g2")], [("b0", 4_000_000)], {("/buckets", "missing_field")}),
        # a part of no bucket
        (BUCKETS, [*PARTS, ("b9", 5)], {("/schedule/parts/2/bucket", "unknown_op")}),
        # a part of nothing, and one of less
        (
            BUCKETS,
            [*PARTS, ("b0", 0), ("b1", -1), ("b1", 1)],
            {
                ("/schedule/parts/2/bytes", "out_of_range"),
                ("/schedule/parts/3/bytes", "out_of_range"),
            },
        ),
        # bytes that are lost
        (BUCKETS, [("b0", 4_000_000), ("b1", 5)], {("/buckets/1", "out_of_range")}),
    ],
)
def test_rejected(buckets, parts, faults):
    with pytest.raises(InvalidPlan) as caught:
        sends(buckets, parts)
    assert faults <= {(fault.pointer, fault.code) for fault in caught.value.faults}


def test_a_plan_of_another_graph_is_said_to_be_one():
    with pytest.raises(InvalidPlan) as caught:
        sends(BUCKETS, PARTS, TWO_CHANNELS)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/buckets", "unknown_op")
    assert "none of the plan's tensors, such as 'g2'" in fault.detail


def test_a_bucket_of_several_lanes_is_refused():
    with pytest.raises(InvalidPlan, match="'x': its tensors are of several sorts: all_gather on"):
        sends([("x", "ag", "rs"), ("y", "g")], [("x", 150), ("y", 300)], TWO_CHANNELS)


def test_launches_that_wait_for_one_another_are_named():
    given = sends(
        [("x", "rs"), ("y", "ag"), ("z", "g")], [("x", 50), ("y", 100), ("z", 300)], TWO_CHANNELS
    )
    with pytest.raises(Deadlock) as caught:
        simulate(TWO_CHANNELS, alike(RING), replay(given))
    fault = deadlock_fault(TWO_CHANNELS, chain_of(TWO_CHANNELS), caught.value)
    assert (fault.pointer, fault.code) == ("/schedule/parts", "deadlock")
    assert "'ag' and 1 other tensors are never sent" in fault.detail


def test_a_bucket_that_waits_for_itself_is_named():
    chained = build(
        "chained",
        [
            Op("b", COMPUTE, 1.0),
            Op("g", ALL_REDUCE, None, 5, ("b",)),
            Op("h", ALL_REDUCE, None, 5, ("g",)),
        ],
    )
    with pytest.raises(InvalidPlan, match="'x' waits for itself"):
        sends([("x", "g", "h")], [("x", 10)], chained)
