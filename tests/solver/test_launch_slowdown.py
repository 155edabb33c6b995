"""Launches that take longer beside compute, against small steps of time, by hand and by laws."""

import random

import pytest

from solver.costs import Cluster, network_of
from solver.errors import InvalidCluster
from solver.graph import COMPUTE, SEND_RECV, Graph, Op, build
from solver.graph.ranks import rank_of
from solver.planning.check import check
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.simulation.engine import simulate

WFBP = POLICIES["wfbp"]


def beside(stream: str, slowdown: float) -> tuple[Graph, Cluster]:
    """Send 100 bytes from 10 on, at a byte a microsecond; another op computes from 30 to 80."""
    ops = [
        Op("c", COMPUTE, 10.0, stream="0/compute"),
        Op("s", SEND_RECV, None, 100, ("c",)),
        Op("w", COMPUTE, 30.0, stream="wait/none"),
        Op("d", COMPUTE, 50.0, None, ("w",), stream=stream),
    ]
    return build("beside", ops), Cluster(2, 0.008, startup_us=5.0, launch_slowdown=slowdown)


def test_a_launch_takes_longer_beside_its_own_ranks_compute() -> None:
    graph, cluster = beside("0/other", 2.0)
    # bytes from 15: 15 of them by 30, half as fast for 50 us, and the last 60 alone
    assert simulate(graph, cluster, WFBP).ends[1] == 80 + 60
    elsewhere = simulate(*beside("1/other", 2.0), WFBP)  # another rank does not slow it
    assert elsewhere.launches == simulate(*beside("0/other", 1.0), WFBP).launches
    assert elsewhere.ends[1] == 115


def stepped(graph: Graph, slowdown: float, startup: int, step: float) -> list[float]:
    """Advance by small steps of time: sends of a byte a microsecond, each on its own channel."""
    ends: dict[str, float] = {}
    left = {op.id: float(op.duration_us or 0) for op in graph.ops if op.kind == COMPUTE}
    begun: dict[str, float] = {}
    sent: dict[str, float] = {}
    before = {op.id: [graph.ops[j].id for j in graph.preds[i]] for i, op in enumerate(graph.ops)}
    near = {
        graph.ops[i].id: {
            rank_of(graph.ops[j])
            for j in (*graph.preds[i], *graph.succs[i])
            if graph.ops[j].kind == COMPUTE
        }
        for i in graph.collectives
    }
    now = 0.0
    while len(ends) < len(graph.ops):
        going = [
            op
            for op in graph.ops
            if op.id not in ends and all(ends.get(j, now + 1) <= now for j in before[op.id])
        ]
        computing = {rank_of(op) for op in going if op.kind == COMPUTE and left[op.id] > 1e-9}
        now += step
        for op in going:
            if op.kind == COMPUTE:
                left[op.id] -= step
                if left[op.id] <= 1e-9:
                    ends[op.id] = now
                continue
            begin = begun.setdefault(op.id, now - step)
            if now - begin <= startup:
                continue
            slowed = bool(near[op.id] & computing)
            sent[op.id] = sent.get(op.id, 0.0) + step / (slowdown if slowed else 1.0)
            if sent[op.id] >= (op.bytes or 0) - 1e-9:
                ends[op.id] = now
    return [ends[op.id] for op in graph.ops]


@pytest.mark.parametrize("seed", range(12))
def test_launches_beside_compute_are_the_small_steps(seed: int) -> None:
    rng = random.Random(seed)
    ops: list[Op] = []
    for i in range(rng.randint(3, 7)):
        after = tuple(op.id for op in ops if rng.random() < 0.3)
        if i % 2 and ops:
            ops.append(Op(f"s{i}", SEND_RECV, None, rng.randint(1, 12), after, f"l{i}"))
        else:
            ops.append(
                Op(f"c{i}", COMPUTE, float(rng.randint(1, 12)), None, after, stream=f"{i % 4}/c")
            )
    graph = build("drawn", ops)
    startup = rng.choice((0, 2))
    own = Cluster(2, 0.008, startup_us=float(startup), launch_slowdown=2.0)
    channels = tuple((op.channel, own) for op in ops if op.kind != COMPUTE)
    found = simulate(graph, Cluster(2, channels=channels), WFBP)
    assert list(found.ends) == pytest.approx(stepped(graph, 2.0, startup, 0.125), abs=0.6)


def test_both_slow_each_other() -> None:
    ops = [Op("a", COMPUTE, 20.0), Op("c", COMPUTE, 60.0, None, ("a",))]
    ops.append(Op("s", SEND_RECV, None, 30, ("a",)))
    both = Cluster(2, 0.008, compute_slowdown=2.0, launch_slowdown=2.0)
    found = simulate(build("both", ops), both, WFBP)
    # beside each other from 20: the send's 30 bytes take 60 us, in which 30 us of compute are done
    assert (found.ends[2], found.ends[1]) == (80.0, 110.0)


@pytest.mark.parametrize("slowdown", [1.0, 1.5, 2.0, 4.0])
def test_a_plan_beside_compute_is_certified(slowdown: float) -> None:
    graph, cluster = beside("0/other", slowdown)
    found = plan(graph, cluster)
    assert check(found.graph, network_of(cluster), found) == pytest.approx(found.iteration_time_us)
    assert found.lower_bound_us <= found.iteration_time_us * (1 + 1e-9)


@pytest.mark.parametrize(
    ("cluster", "pointer", "code"),
    [
        (Cluster(2, 1.0, launch_slowdown=0.5), "/launch_slowdown", "out_of_range"),
        (Cluster(2, 1.0, launch_slowdown=float("inf")), "/launch_slowdown", "out_of_range"),
        # a shared card has a rule of its own
        (Cluster(2, 1.0, launch_slowdown=2.0, shares="n"), "/launch_slowdown", "extra_field"),
    ],
)
def test_odd_slowdowns_are_refused(cluster: Cluster, pointer: str, code: str) -> None:
    with pytest.raises(InvalidCluster) as error:
        network_of(cluster)
    assert [(f.pointer, f.code) for f in error.value.faults] == [(pointer, code)]
