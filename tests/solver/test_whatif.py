"""Changed graphs, and plans carried over to them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.errors import InvalidOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.limits import MAX_BYTES
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from solver.simulation.what_if import Change, adapt_plan, apply_changes, carry_over
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import dags, networks


def test_changes_apply_in_turn_to_what_matches():
    after = apply_changes(
        TWO_LAYERS,
        [
            Change("?2", bytes_factor=0.25, duration_factor=2.0),  # b2, g2, f2
            Change("[bg]2", bytes_factor=0.5),
            Change("f1", remove=True),
            Change("f1", duration_factor=9.0),  # of 0
        ],
    )
    assert [(op.id, op.bytes or op.duration_us or None) for op in after.ops] == [
        ("b2", 1600.0),
        ("g2", 500_000),
        ("b1", 900.0),
        ("g1", 1_000_000),
        ("f1", None),
        ("f2", 900.0),
    ]
    assert after.durations == (1600.0, 0.0, 900.0, 0.0, 0.0, 900.0)
    assert build("two layers", after.ops) == after


def test_a_channel_that_carries_nothing_any_more_slows_nothing_down():
    ops = [
        Op("c", COMPUTE, 10.0, slowdown=(("ib", 2.0), ("network", 3.0))),
        Op("d", COMPUTE, 10.0),
        Op("g", ALL_REDUCE, None, 10),
        Op("h", ALL_REDUCE, None, 10, (), "ib"),
    ]
    graph = build("two channels", ops)
    after = apply_changes(graph, [Change("h", remove=True)])
    assert [op.slowdown for op in after.ops] == [(("network", 3.0),), None, None, None]
    assert build("two channels", after.ops) == after
    network = alike(Affine(0.0, 1.0))
    assert simulate(after, network, POLICIES["wfbp"]).ends == (10 + 10 * 2 / 3, 10, 10, 0)
    assert apply_changes(graph, [Change("d", remove=True)]).ops[0] == graph.ops[0]


def test_a_removed_collective_keeps_the_order_of_the_others():
    after = apply_changes(TWO_LAYERS, [Change("g1", remove=True), Change("g2", bytes_factor=0.0)])
    assert after.collectives == (1,)
    assert after.ops[1].bytes == 1  # a factor of 0 leaves a byte
    assert (after.ops[3].kind, after.ops[3].duration_us, after.ops[3].after) == (
        COMPUTE,
        0.0,
        ("b1",),
    )
    assert after.preds == TWO_LAYERS.preds


@pytest.mark.parametrize("policy", POLICIES)
def test_without_collectives_every_policy_takes_the_longest_path(policy):
    after = apply_changes(TWO_LAYERS, [Change("g*", remove=True)])
    assert after.collectives == ()
    timeline = simulate(after, alike(RING), POLICIES[policy])
    assert timeline.iteration_time == chain_of(TWO_LAYERS).compute_time == 2550
    assert (
        carry_over([Launch((0,), 4_000_000), Launch((1,), 1_000_000)], TWO_LAYERS)(after)
        is not None
    )
    assert adapt_plan([Launch((0, 1), 5_000_000)], TWO_LAYERS, after) == []


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ([Change("x*")], [("/changes/0/match", "unknown_op")]),  # matches nothing
        ([Change("G1")], [("/changes/0/match", "unknown_op")]),  # case counts
        ([Change("*", bytes_factor=-1.0)], [("/changes/0/bytes_factor", "out_of_range")]),
        ([Change("*", bytes_factor=math.inf)], [("/changes/0/bytes_factor", "out_of_range")]),
        ([Change("*", duration_factor=math.nan)], [("/changes/0/duration_factor", "out_of_range")]),
        # longer and larger than a graph may have
        ([Change("*", duration_factor=1e12)], [("/changes/0/duration_factor", "out_of_range")]),
        ([Change("*", bytes_factor=MAX_BYTES)], [("/changes/0/bytes_factor", "out_of_range")]),
        (  # the first is too much, and all others are looked at as if it were not there
            [Change("*", bytes_factor=1e15), Change("g1", bytes_factor=1e308), Change("y")],
            [
                ("/changes/0/bytes_factor", "out_of_range"),
                ("/changes/1/bytes_factor", "out_of_range"),
                ("/changes/2/match", "unknown_op"),
            ],
        ),
    ],
)
def test_rejected(changes, faults):
    with pytest.raises(InvalidOptions) as caught:
        apply_changes(TWO_LAYERS, changes)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_parts_keep_their_shares_by_hand():
    after = apply_changes(TWO_LAYERS, [Change("g2", bytes_factor=0.5)])
    parts = [Launch((0,), 1_000_001), Launch((1,), 1_000_000), Launch((0,), 2_999_999)]
    assert adapt_plan(parts, TWO_LAYERS, after) == [
        Launch((0,), 500_000),  # 500,000.5 in whole bytes
        Launch((1,), 1_000_000),
        Launch((0,), 1_500_000),
    ]
    tiny = apply_changes(TWO_LAYERS, [Change("g2", bytes_factor=1e-9)])
    assert adapt_plan(parts, TWO_LAYERS, tiny) == [Launch((1,), 1_000_000), Launch((0,), 1)]


def test_a_removed_member_leaves_its_bucket():
    after = apply_changes(TWO_LAYERS, [Change("g2", remove=True)])
    parts = [Launch((0, 1), 3_000_000), Launch((0, 1), 2_000_000)]
    assert adapt_plan(parts, TWO_LAYERS, after) == [Launch((0,), 600_000), Launch((0,), 400_000)]


@given(data=st.data(), graph=dags(), network=networks(), policy=st.sampled_from(["ddp", "p3"]))
@settings(max_examples=cases(150))
def test_a_plan_carried_over_runs_and_sends_each_byte_once(data, graph, network, policy):
    timeline = simulate(graph, network, POLICIES[policy])
    sends = [Launch(sent.bucket, sent.bytes) for sent in timeline.launches]
    assert adapt_plan(sends, graph, graph) == sends
    assert simulate(graph, network, carry_over(sends, graph)(graph)).launches == timeline.launches
    names = data.draw(st.lists(st.sampled_from([op.id for op in graph.ops]), unique=True))
    factor = data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
    changes = [Change(name, remove=i % 2 == 0, bytes_factor=factor) for i, name in enumerate(names)]
    after = apply_changes(graph, changes)
    assert build(after.name, after.ops) == after if after.collectives else True
    found = adapt_plan(sends, graph, after)
    carried_bytes: dict[tuple[int, ...], int] = {}
    for bucket, size in found:
        assert size > 0
        carried_bytes[bucket] = carried_bytes.get(bucket, 0) + size
    chain = chain_of(after)
    assert sorted(i for bucket in carried_bytes for i in bucket) == list(range(len(chain)))
    assert all(n == chain.bytes[list(bucket)].sum() for bucket, n in carried_bytes.items())
    time = simulate(after, network, carry_over(sends, graph)(after)).iteration_time
    assert time >= chain.compute_time * (1 - 1e-12)
