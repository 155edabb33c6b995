"""Repeated blocks: what they unfold to, and that skipping copies changes nothing."""

import random
from typing import Any

import pytest

from solver.costs import Cluster
from solver.errors import InvalidGraph
from solver.graph import ALL_REDUCE, COMPUTE, SEND_RECV, Op, build
from solver.graph.repeats import Repeat, unfold
from solver.policies import POLICIES
from solver.prediction.folded import simulate_folded
from solver.simulation.engine import simulate

#: A byte takes a microsecond.
CLUSTER = Cluster(2, 0.008, startup_us=2.0, channels=(("back", Cluster(2, 0.008, startup_us=1.0)),))


def two_stages(count: int, forward: float = 10.0, size: int = 6) -> list[Op | Repeat]:
    """Hand micro-batches from one stage to the next and back, and sum up at last."""
    block = (
        Op("f0", COMPUTE, forward, stream="0/compute"),
        Op("go", SEND_RECV, None, size, ("f0",)),
        Op("f1", COMPUTE, 4.0, None, ("go",), stream="1/compute"),
        Op("back", SEND_RECV, None, size, ("f1",), "back"),
    )
    return [
        Op("load", COMPUTE, 3.0),
        Repeat((block[0]._replace(after=("load",)), *block[1:]), count),
        Op("sum", ALL_REDUCE, None, 50, ("back",)),
        Op("step", COMPUTE, 1.0, None, ("sum",)),
    ]


def test_copies_are_named_and_linked() -> None:
    block = (Op("a", COMPUTE, 1.0, None, ("in",)), Op("b", ALL_REDUCE, None, 1, ("a",)))
    items: list[Op | Repeat] = [
        Op("in", COMPUTE, 1.0),
        Repeat(block, 3, (("a", "b"),)),
        Op("out", COMPUTE, 1.0, None, ("b",)),
    ]
    assert [(op.id, op.after) for op in unfold(items)] == [
        ("in", ()),
        ("a#0", ("in",)),
        ("b#0", ("a#0",)),
        ("a#1", ("b#0",)),
        ("b#1", ("a#1",)),
        ("a#2", ("b#1",)),
        ("b#2", ("a#2",)),
        ("out", ("b#2",)),
    ]


def test_a_pipeline_of_many_micro_batches_by_hand() -> None:
    found = simulate_folded("two", two_stages(1_000), CLUSTER)
    # stage 0 is the slowest, 10 us each; then 8 us to send, 4 to compute, 7 back, and the sum
    assert found.iteration_time == 3 + 1_000 * 10 + 8 + 4 + 7 + 52 + 1
    assert (found.copies, found.period) == (1_000, 10.0)
    assert found.ran < 20


@pytest.mark.parametrize("size", [1, 6, 8, 9, 30])  # from computing to sending as what is slowest
@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_skipping_changes_nothing(count: int, size: int) -> None:
    items = two_stages(count, size=size)
    whole = simulate(build("two", unfold(items)), CLUSTER, POLICIES["wfbp"])
    found = simulate_folded("two", items, CLUSTER)
    assert found.iteration_time == pytest.approx(whole.iteration_time, rel=1e-9)


def drawn(seed: int, count: int) -> list[Op | Repeat]:
    """Draw a block of compute and sends on two streams and two channels."""
    rng = random.Random(seed)
    block: list[Op] = []
    for i in range(rng.randint(2, 7)):
        after = tuple(op.id for op in block if rng.random() < 0.4)
        if rng.random() < 0.5:
            stream = rng.choice(("0/compute", "1/compute"))
            block.append(Op(f"c{i}", COMPUTE, float(rng.randint(0, 9)), None, after, stream=stream))
        else:
            channel = rng.choice(("network", "back"))
            block.append(Op(f"s{i}", SEND_RECV, None, rng.randint(1, 9), after, channel))
    carried = [(op.id, rng.choice(block).id) for op in block if not op.after or rng.random() < 0.2]
    ends: Any = (Op("in", COMPUTE, 2.0), Op("sum", ALL_REDUCE, None, 3, (block[-1].id,)))
    return [ends[0], Repeat(tuple(block), count, tuple(carried)), ends[1]]


def test_drawn_blocks_take_as_long_as_unfolded() -> None:
    skipped = 0
    for seed in range(60):
        items = drawn(seed, 41)
        whole = simulate(build("drawn", unfold(items)), CLUSTER, POLICIES["wfbp"])
        found = simulate_folded("drawn", items, CLUSTER)
        assert found.iteration_time == pytest.approx(whole.iteration_time, rel=1e-9), seed
        skipped += found.ran < found.copies
    assert skipped > 30


@pytest.mark.parametrize("policy", ["ddp", "p3"])
def test_a_policy_that_may_look_ahead_runs_all(policy: str) -> None:
    found = simulate_folded("two", two_stages(30), CLUSTER, POLICIES[policy])
    assert (found.ran, found.period, found.same_from) == (30, None, None)


def test_copies_that_wait_for_nothing_are_all_run() -> None:
    items = [Repeat((Op("c", COMPUTE, 5.0), Op("s", SEND_RECV, None, 4, ("c",))), 30)]
    found = simulate_folded("free", items, CLUSTER)
    assert (found.iteration_time, found.ran) == (5 + 30 * 6, 30)


def test_compute_that_is_slowed_down_is_all_run() -> None:
    slowed = Cluster(2, 0.008, compute_slowdown=1.5, channels=CLUSTER.channels)
    assert simulate_folded("two", two_stages(30), slowed).ran == 30


@pytest.mark.parametrize(
    ("repeat", "pointer", "code"),
    [
        (Repeat((Op("c", COMPUTE, 1.0),), 0), "/items/0/count", "out_of_range"),
        (Repeat((Op("c", COMPUTE, 1.0),), True), "/items/0/count", "out_of_range"),
        (Repeat((Op("c", COMPUTE, 1.0),), 2, (("c", "d"),)), "/items/0/carried/0", "unknown_op"),
        (Repeat((Op("c", COMPUTE, 1.0),), 10**8), "/items", "out_of_range"),
    ],
)
def test_odd_repeats_are_refused(repeat: Repeat, pointer: str, code: str) -> None:
    with pytest.raises(InvalidGraph) as error:
        unfold([repeat])
    assert [(f.pointer, f.code) for f in error.value.faults] == [(pointer, code)]
