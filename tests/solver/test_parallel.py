"""Iterations of sharded parameters and of split layers, from layers written down by hand."""

from itertools import pairwise

import pytest

from solver.costs import Affine, Cluster, alike, network_of
from solver.errors import InvalidGraph
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    COLLECTIVES,
    COMPUTE,
    REDUCE_SCATTER,
    Graph,
)
from solver.models.layers import Layer, merge_layers
from solver.models.parallel import ActivationExchange, fsdp, model_parallel
from solver.policies import POLICIES
from solver.simulation.engine import simulate


def units(count: int) -> list[Layer]:
    """Units u0, u1, ... of 100, 101, ... bytes, 10 us forward and 20 us backward."""
    return [Layer(f"u{i}", 10.0, 20.0, ((f"w{i}", 100 + i),)) for i in range(count)]


def after(graph: Graph) -> dict[str, set[str]]:
    return {op.id: set(op.after) for op in graph.ops}


def kinds(graph: Graph) -> dict[str, int]:
    return {kind: sum(op.kind == kind for op in graph.ops) for kind in COLLECTIVES}


def test_what_each_op_of_a_sharded_iteration_waits_for():
    assert after(fsdp("fsdp", units(6), shards=4, step_us=5.0)) == {
        # two layers gathered at once
        "gather:u0": set(),
        "gather:u1": set(),
        "gather:u2": {"forward:u0"},
        "gather:u3": {"forward:u1"},
        "gather:u4": {"forward:u2"},
        "gather:u5": {"forward:u3"},
        "forward:u0": {"gather:u0"},
        **{f"forward:u{i}": {f"forward:u{i - 1}", f"gather:u{i}"} for i in range(1, 6)},
        # the last layer stays; the others are gathered again, three at once
        "backward:u5": {"forward:u5"},
        **{f"backward:u{i}": {f"backward:u{i + 1}", f"regather:u{i}"} for i in range(5)},
        "regather:u4": {"forward:u4"},
        "regather:u3": {"forward:u4"},
        "regather:u2": {"backward:u5"},
        "regather:u1": {"backward:u4"},
        "regather:u0": {"backward:u3"},
        **{f"scatter:u{i}": {f"backward:u{i}"} for i in range(6)},
        **{f"grad:u{i}": {f"scatter:u{i}"} for i in range(6)},
        "optimizer": {f"grad:u{i}" for i in range(6)},
    }


@pytest.mark.parametrize("limit", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("cost", [Affine(1.0, 1.0), Affine(0.1, 0.0)])  # slow and fast gathers
def test_no_more_layers_are_gathered_than_the_limit_allows(count, limit, cost):
    graph = fsdp("fsdp", units(count), limit=limit)
    run = simulate(graph, alike(cost), POLICIES["wfbp"])
    start, end = (
        dict(zip((op.id for op in graph.ops), times, strict=True))
        for times in (run.starts, run.ends)
    )
    last = f"u{count - 1}"
    held = {  # from the start of a gather to the end of the op that frees what it brought
        **{f"gather:u{i}": end[f"forward:u{i}"] for i in range(count - 1)},
        f"gather:{last}": end[f"backward:{last}"],
        **{f"regather:u{i}": end[f"backward:u{i}"] for i in range(count - 1)},
    }
    for gather in held:
        alive = sum(start[other] <= start[gather] < until for other, until in held.items())
        assert alive <= limit + gather.startswith("re")


def test_sharded_over_all_workers_there_is_one_channel():
    graph = fsdp("fsdp", units(5))
    assert {op.channel for op in graph.ops} == {"network"}
    assert kinds(graph) == {
        "all_gather": 9,
        "reduce_scatter": 5,
        "all_reduce": 0,
        "broadcast": 0,
        "all_to_all": 0,
        "send_recv": 0,
    }
    assert after(graph)["optimizer"] == {f"scatter:u{i}" for i in range(5)}


def test_bytes_and_channels_of_hybrid_sharding():
    graph = fsdp("fsdp", units(3), shards=8)
    sizes = {op.id: (op.bytes, op.channel) for op in graph.ops if op.bytes}
    for i in range(3):
        assert sizes[f"gather:u{i}"] == sizes[f"scatter:u{i}"] == (100 + i, "nvlink")
        assert sizes[f"grad:u{i}"] == (
            13,
            "network",
        )  # 100 to 102 bytes in 8 shards, the last short


def test_a_gpu_runs_one_kernel_at_a_time():
    graph = fsdp("fsdp", units(4), shards=2, step_us=7.0)
    compute = [i for i, op in enumerate(graph.ops) if op.kind == COMPUTE]
    assert {graph.ops[i].stream for i in compute} == {"gpu"}
    assert all(i in graph.preds[j] for i, j in pairwise(compute))
    assert sum(graph.durations) == 4 * 30 + 7


def test_an_iteration_by_hand():
    """Two units on one channel; a gather or scatter takes 30 us.

    Gathers 0-30 and 30-60; forward 30-40 and 60-70; u0 gathered again from 60 to 90 (its forward
    has ended); backward of u1 70-90, of u0 90-110; scatters 90-120 and 120-150; step 150-155.
    """
    graph = fsdp("two", units(2), step_us=5.0)
    run = simulate(graph, alike(Affine(30.0, 0.0)), POLICIES["wfbp"])
    starts = dict(zip((op.id for op in graph.ops), run.starts, strict=True))
    assert starts["regather:u0"] == 60
    assert starts["backward:u0"] == 90
    assert starts["scatter:u0"] == 120
    assert run.iteration_time == 155


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        (dict(layers=[]), {"/layers": "missing_field"}),  # nothing to shard
        (
            # every fault at once
            dict(layers=[*units(1), Layer("relu", 1.0, 1.0)], shards=0, limit=0),
            {
                "/layers/1/gradients": "missing_field",
                "/shards": "out_of_range",
                "/limit": "out_of_range",
            },
        ),
        # the same name twice: seven ops of the second have the names of the first's
        (dict(layers=units(1) * 2), None),
    ],
)
def test_what_cannot_be_sharded(arguments, faults):
    with pytest.raises(InvalidGraph) as refused:
        fsdp("fsdp", **arguments)
    found = {fault.pointer: fault.code for fault in refused.value.faults}
    assert found == faults or (faults is None and "duplicate_id" in found.values())


def test_layers_become_one_unit():
    parts = [*units(2), Layer("relu", 1.0, 2.0)]
    assert merge_layers("block", parts) == Layer("block", 21.0, 42.0, (("w0", 100), ("w1", 101)))


Steps = list[Layer | ActivationExchange]
TENSOR: Steps = [
    ActivationExchange("in", 64, None, ALL_REDUCE),
    Layer("block", 10.0, 20.0, (("w", 100), ("b", 4))),
    ActivationExchange("out", 64, ALL_REDUCE, None),
]


def test_what_each_op_of_a_tensor_parallel_block_waits_for():
    graph = model_parallel("block", TENSOR, step_us=3.0)
    assert after(graph) == {
        "forward:block": set(),
        "forward:out": {"forward:block"},
        "backward:block": {"forward:out"},
        "grad:w": {"backward:block"},
        "grad:b": {"backward:block"},
        "backward:in": {"backward:block"},
        "optimizer": {"backward:in", "grad:w", "grad:b"},
    }
    assert {op.id for op in graph.ops if op.channel == "nvlink"} == {"forward:out", "backward:in"}
    assert {op.stream for op in graph.ops if op.kind == COMPUTE} == {"gpu"}


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"pace"}))  # not defined here
def test_exchanges_hold_up_compute_and_gradients_do_not(policy):
    node = Cluster(2, bandwidth_gbps=0.008)  # 1 byte/us; an all-reduce of two moves its bytes once
    cluster = Cluster(2, bandwidth_gbps=0.008, channels=(("nvlink", node),))
    run = simulate(model_parallel("block", TENSOR, 3.0), network_of(cluster), POLICIES[policy])
    # forward, exchange, backward; then 104 bytes of gradients beside 64 of the other exchange
    expected = 10 + 64 + 20 + 104 + 3
    assert run.iteration_time == expected or policy == "horovod"  # it waits for its cycle
    assert run.iteration_time >= expected


def test_sequence_and_expert_parallelism_in_the_same_words():
    """Megatron's f and g become gathers and scatters; experts exchange in both directions."""
    steps: Steps = [
        ActivationExchange("in", 64, ALL_GATHER, REDUCE_SCATTER),
        Layer("attention", 1.0, 2.0, (("a", 10),)),
        ActivationExchange("out", 64, REDUCE_SCATTER, ALL_GATHER),
        ActivationExchange("dispatch", 64, ALL_TO_ALL, ALL_TO_ALL),
        Layer("experts", 3.0, 6.0, (("e", 10),)),
        ActivationExchange("combine", 64, ALL_TO_ALL, ALL_TO_ALL),
    ]
    graph = model_parallel("layer", steps)
    order = [op.kind for op in graph.ops if not op.id.startswith("grad:")]
    forward = [ALL_GATHER, COMPUTE, REDUCE_SCATTER, ALL_TO_ALL, COMPUTE, ALL_TO_ALL]
    backward = [ALL_TO_ALL, COMPUTE, ALL_TO_ALL, ALL_GATHER, COMPUTE, REDUCE_SCATTER]
    assert order == [*forward, *backward, COMPUTE]


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([], "no_collective"),  # an optimizer step alone
        ([Layer("a", -1.0, 1.0, (("w", 1),))], "out_of_range"),  # time runs backwards
        (
            [*TENSOR, ActivationExchange("out", 64, ALL_REDUCE, None)],
            "duplicate_id",
        ),  # a name twice
        (
            [*TENSOR, ActivationExchange("x", 64, "gossip", None)],
            "out_of_range",
        ),  # no such collective
    ],
)
def test_what_cannot_be_split(steps, code):
    with pytest.raises(InvalidGraph) as refused:
        model_parallel("bad", steps)
    assert code in {fault.code for fault in refused.value.faults}
