"""Steps of shapes: against the graph of the same shape, by hand, and laws."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver.policies import wfbp
from solver.shapes.efficiency import ASSUMED, FIGURES
from solver.shapes.hardware import (
    ACCELERATORS,
    NetworkLevel,
    TrainingCluster,
    collective_us,
    faults_of_cluster,
)
from solver.shapes.job_graph import job_graph
from solver.shapes.job_shape import CONTEXTS, RECOMPUTATIONS, SHARDINGS, JobShape, faults_of_shape
from solver.shapes.layer_times import group_us, layer_times
from solver.shapes.memory import peak_memory, rank_memories
from solver.shapes.pipeline.orders import FORTH_AND_BACK, ORDERS, WEIGHTS_APART
from solver.shapes.published import PUBLISHED
from solver.shapes.stage_times import stage_times
from solver.shapes.step import simulate_step
from solver.shapes.step_ends import stage_parameters
from solver.shapes.step_trace import step_trace
from solver.shapes.transformer import Transformer, faults_of_transformer
from solver.simulation.engine import simulate

MODEL = Transformer("small", 8, 512, 8, 2048, 1024, 256, tied=True)
EXPERTS = replace(
    MODEL, experts=8, top_k=2, feed_forward=512, dense_layers=1, dense_feed_forward=2048
)
NODE = NetworkLevel("node", 8, 2400.0, 10.0, 1.0)
CLUSTER = TrainingCluster(ACCELERATORS["a100"], (NODE, NetworkLevel("spine", 64, 200.0, 20.0, 5.0)))


@st.composite
def shapes(draw):
    schedule = draw(st.sampled_from(sorted(ORDERS)))
    is_both_ways = schedule == "dualpipe"
    ranks = draw(st.sampled_from([2, 4] if is_both_ways else [1, 2, 4]))
    interleaves = schedule == "interleaved"
    return JobShape(
        tp=draw(st.sampled_from([1, 2])),
        pp=ranks,
        dp=draw(st.sampled_from([1, 2, 4])),
        ep=1,
        cp=draw(st.sampled_from([1, 2])),
        micro_batches=2 * (ranks + draw(st.integers(0, 2)))
        if is_both_ways
        else draw(st.integers(1, 4)) * (ranks if interleaves else 1),
        schedule=schedule,
        vpp=2 if interleaves or schedule in FORTH_AND_BACK else 1,
        sequence_parallel=draw(st.booleans()),
        sharding=draw(st.sampled_from(SHARDINGS)),
        recomputation=draw(st.sampled_from(RECOMPUTATIONS)),
        overlapped_buckets=draw(st.sampled_from([1, 3])),
        context=draw(st.sampled_from(CONTEXTS)),
        shard=draw(st.sampled_from([None, 1])),
    )


@given(shapes(), st.sampled_from([MODEL, EXPERTS]))
@settings(max_examples=25, deadline=None)
def test_a_step_takes_as_long_as_its_graph(shape, model) -> None:
    assert not list(faults_of_shape(shape, model))
    summed = shape.dp * shape.cp > 1 and shape.sharding != "parameters"
    assume(shape.pp > 1 or summed)  # else nothing is sent between passes, and that is no graph
    step = simulate_step(model, CLUSTER, shape, ASSUMED)
    graph, network = job_graph(model, CLUSTER, shape, ASSUMED)
    assert step.time_us == pytest.approx(simulate(graph, network, wfbp).iteration_time, rel=1e-9)


@given(shapes(), st.sampled_from([MODEL, EXPERTS]))
@settings(max_examples=25, deadline=None)
def test_a_trace_has_each_pass_and_message_when_the_graph_has_it(shape, model) -> None:
    trace = step_trace(model, CLUSTER, shape, ASSUMED)
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    by_thread: dict[int, list[tuple[float, float]]] = {}
    for event in spans:
        by_thread.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for own in by_thread.values():  # a thread does one thing at a time
        own.sort()
        assert all(two[0] >= one[1] - 1e-6 for one, two in pairwise(own))
    summed = shape.dp * shape.cp > 1 and shape.sharding != "parameters"
    if shape.overlapped_buckets > 1 or not (shape.pp > 1 or summed):
        return
    graph, network = job_graph(model, CLUSTER, shape, ASSUMED)
    ran = simulate(graph, network, wfbp)
    drawn = {event["name"]: event["ts"] + event["dur"] for event in spans}
    for op, end in zip(graph.ops, ran.ends, strict=True):
        if op.id[0] in "FBW" or op.id.startswith("send "):
            assert drawn[op.id] == pytest.approx(end, rel=1e-9), op.id
    assert trace["otherData"]["iteration_time_us"] == pytest.approx(ran.iteration_time, rel=1e-9)


@given(shapes())
@settings(max_examples=25, deadline=None)
def test_faster_machines_and_smaller_costs_never_take_longer(shape) -> None:
    assume(
        shape.schedule not in WEIGHTS_APART
    )  # their passes are parted anew where the host decides
    time = simulate_step(MODEL, CLUSTER, shape, ASSUMED).time_us
    for name in FIGURES:
        factor = 2.0 if name in ("matmul", "memory") else 0.5
        better = replace(ASSUMED, **{name: factor * getattr(ASSUMED, name)})
        assert simulate_step(MODEL, CLUSTER, shape, better).time_us <= time * (1 + 1e-9)


def test_uneven_experts_and_exposed_context_take_longer() -> None:
    even = JobShape(tp=2, dp=4, ep=4, micro_batches=2, sequence_parallel=True)
    assert not list(faults_of_shape(even, EXPERTS))
    skewed = replace(even, expert_imbalance=2.0)
    times = [simulate_step(EXPERTS, CLUSTER, shape, ASSUMED) for shape in (even, skewed)]
    exposed = [dict(step.exposed)["expert"] for step in times]
    assert 0 < exposed[0] < exposed[1]
    assert times[0].time_us < times[1].time_us
    ring = JobShape(cp=4, micro_batch=8, recomputation="full")
    gathered = replace(ring, context="all_gather")
    hidden, shown = (
        dict(simulate_step(MODEL, CLUSTER, shape, ASSUMED).exposed)["context"]
        for shape in (ring, gathered)
    )
    assert hidden < shown


def test_layers_may_be_given_to_stages() -> None:
    uneven = JobShape(pp=2, micro_batches=2, layers_of_stages=(3, 5))
    assert not list(faults_of_shape(uneven, MODEL))
    assert JobShape(pp=3).stage_layers(8) == (3, 3, 2)
    passes = stage_times(replace(MODEL, tied=False), CLUSTER, uneven, ASSUMED).passes
    assert passes[0][1] < passes[1][1]


def test_parameters_are_those_published() -> None:
    expected = {
        "llama2-7b": 6.74e9,
        "llama3-8b": 8.03e9,
        "llama3-70b": 70.55e9,
        "llama3-405b": 405.85e9,
        "mixtral-8x7b": 46.70e9,
        "deepseek-v3": 671.03e9,
        "qwen3-30b-a3b": 30.53e9,
        "qwen3-235b-a22b": 235.09e9,
    }
    for name, parameters in expected.items():
        assert PUBLISHED[name].parameters == pytest.approx(parameters, rel=1e-3)
    assert all(
        model.source and not list(faults_of_transformer(model)) for model in PUBLISHED.values()
    )


def test_a_step_by_hand() -> None:
    """Two equal ranks without messages, whose passes take what their layers do."""
    free = replace(
        ASSUMED,
        host_us=1000.0,
        host_backward=2.0,
        matmul=1e6,
        memory=1e6,
        kernels_us=1e-6,
        batch_us=1e-9,
        send_us=1e-9,
        message_us=1e-9,
        optimizer=1e-9,
        optimizer_layer_us=1e-9,
        step_us=1e-9,
        head=1e-9,
    )
    fast = TrainingCluster(ACCELERATORS["a100"], (NetworkLevel("node", 8, 1e12),))
    untied = replace(MODEL, tied=False)
    step = simulate_step(untied, fast, JobShape(pp=2, micro_batches=3), free)
    assert step.time_us == pytest.approx((3 + 2 - 1) * 4 * (1000 + 2000), rel=1e-6)
    assert step.bubble_us == pytest.approx(4 * 3000, rel=1e-6)


def test_memory_by_hand() -> None:
    """Rank 0 of two holds two micro-batches of four layers and half the optimizer."""
    shape = JobShape(pp=2, dp=2, micro_batches=4, sharding="optimizer")
    first = rank_memories(MODEL, shape)[0]
    parameters = 4 * (12 * 512**2 + 2 * 512) + 1024 * 512
    assert first.weights_bytes == 2 * parameters
    assert first.gradients_bytes == 4 * parameters
    assert first.optimizer_bytes == 12 * parameters / 2
    layer = 2 * 256 * (4 * 512 + 4 * 512 + 2 * 2048)
    assert first.activations_bytes == 2 * 4 * layer
    assert first.micro_batches == 2
    square = 512 * 512
    stand_ins = 2 * (3 + 1 + 4 + 4) * square  # one layer's matrices: their sizes differ
    gradients = 2 * 256 * (512 + 2048)  # of the layer and of what its activation reads
    assert first.buffers_bytes == stand_ins + gradients
    assert first.peak_bytes == 12 * parameters + 8 * layer + stand_ins + gradients


def _of_head(model, tokens, inputs=1):
    """Bytes of logits with their gradients, and of the gradient of what the head reads."""
    return 4 * tokens * model.vocabulary + 2 * inputs * tokens * model.hidden


def test_the_last_rank_holds_logits_and_a_stand_in_of_the_head() -> None:
    wide = replace(MODEL, vocabulary=16_000)
    first, last = rank_memories(wide, JobShape(pp=2, micro_batches=4))
    assert last.buffers_bytes - first.buffers_bytes == (
        2 * 16_000 * 512 + _of_head(wide, 256) - 2 * 256 * (512 + 2048)
    )
    split = JobShape(tp=2, sequence_parallel=True)
    whole = replace(split, sequence_parallel=False)
    gathered, one = (rank_memories(wide, each)[0].buffers_bytes for each in (split, whole))
    assert gathered - one == 2 * 256 * 512  # the head's input, of all tokens
    assert one == (2 * (12 * 512**2 + 16_000 * 512) + 4 * 256 * 16_000) / 2 + 2 * 256 * 512


def test_logits_are_gone_when_a_layer_is_computed_again() -> None:
    shape = JobShape(recomputation="full")
    layer = 2 * 256 * (4 * 512 + 4 * 512 + 2 * 2048) + 2 * 256 * (512 + 2048)
    for vocabulary in (1024, 128_000):
        wide = replace(MODEL, vocabulary=vocabulary)
        stand_ins = 2 * (12 * 512**2 + vocabulary * 512)
        held = rank_memories(wide, shape)[0].buffers_bytes
        assert held == stand_ins + max(layer, _of_head(wide, 256))


def test_the_embedding_has_its_gradient_once_activations_are_freed() -> None:
    """A vocabulary so large that it is more than what a micro-batch held and the layer needs."""
    wide = replace(MODEL, vocabulary=2_000_000)
    first = rank_memories(wide, JobShape(pp=2, micro_batches=4))[0]
    held = first.activations_bytes / 2  # of one of two micro-batches
    assert first.buffers_bytes == 2 * 12 * 512**2 + 2 * 2_000_000 * 512 - held


def test_a_stand_in_is_kept_of_each_size() -> None:
    """Experts and what all tokens pass share one where they are alike; ranks split them."""
    shape = JobShape(pp=2, micro_batches=4)
    alike = replace(EXPERTS, dense_layers=0, dense_feed_forward=0, shared_feed_forward=512)
    wider = replace(alike, shared_feed_forward=1024)
    one, two = (rank_memories(model, shape)[0].buffers_bytes for model in (alike, wider))
    assert two - one == 2 * 2 * 512 * 1024
    dense, sparse = (rank_memories(model, shape)[0].buffers_bytes for model in (EXPERTS, alike))
    assert dense - sparse == 2 * 2 * 512 * 2048 + 2 * 256 * (2048 - 2 * 512)  # of both kinds
    gated = replace(MODEL, gated=True)
    plain, three = (rank_memories(model, shape)[0].buffers_bytes for model in (MODEL, gated))
    assert three - plain == 2 * 512 * 2048 + 2 * 256 * 2048
    latent = replace(MODEL, attention_parameters=5 * 512**2)
    other = rank_memories(latent, shape)[0].buffers_bytes
    assert other - plain == 2 * (5 - 4) * 512**2


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_gpipe_holds_all_micro_batches(schedule) -> None:
    shape = JobShape(pp=4, micro_batches=8, schedule=schedule)
    held = [each.micro_batches for each in rank_memories(MODEL, shape)]
    assert held == ([8] * 4 if schedule == "gpipe" else [4, 3, 2, 1])


def test_recomputing_and_sharing_need_less_memory() -> None:
    plain = JobShape(tp=2, dp=4, micro_batches=2, flash_attention=False)
    peaks = [
        peak_memory(MODEL, replace(plain, recomputation=name)).peak_bytes for name in RECOMPUTATIONS
    ]
    assert peaks == sorted(peaks, reverse=True)
    shared = [peak_memory(MODEL, replace(plain, sharding=name)).peak_bytes for name in SHARDINGS]
    assert shared[:3] == sorted(shared[:3], reverse=True)


def test_ranks_without_a_head_of_keys_of_their_own_hold_a_whole_one() -> None:
    few = replace(MODEL, kv_heads=2)
    assert few.split(2) == few
    assert few.split(8).key_width == 8 * few.query_width // 8
    wide = JobShape(tp=8)
    same = replace(MODEL, kv_heads=8)
    assert peak_memory(few, wide) == peak_memory(same, wide)
    one, two = (simulate_step(model, CLUSTER, wide, ASSUMED) for model in (few, same))
    assert one == two


def test_groups_over_nodes_go_level_by_level() -> None:
    """Sixteen ranks: eight in each node over all bytes, then pairs over an eighth of them."""
    size, spine = 8_000_000, CLUSTER.levels[1]
    whole = group_us(CLUSTER, 16, 1, "all_reduce", size, ASSUMED, 7.0)
    inner = collective_us(NODE, 8, "all_reduce", size)
    assert whole == pytest.approx(7.0 + inner + collective_us(spine, 2, "all_reduce", size // 8))
    apart = group_us(CLUSTER, 4, 8, "all_reduce", size, ASSUMED, 0.0)
    assert apart == collective_us(spine, 4, "all_reduce", size)
    pairs = group_us(CLUSTER, 8, 4, "all_to_all", size, ASSUMED, 0.0)
    free = TrainingCluster(CLUSTER.accelerator, (NODE, replace(spine, startup_us=0, hop_us=0)))
    assert pairs > group_us(free, 8, 4, "all_to_all", size, ASSUMED, 0.0) > 6 / 8 * size / 25e3


def test_groups_that_do_not_fill_a_node_cross_it() -> None:
    """Of fours in nodes of six, ranks 4 to 7 are on two; pairs and threes are each on one."""
    size, spine = 8_000_000, NetworkLevel("spine", 24, 200.0, 20.0, 5.0)
    sixes = TrainingCluster(CLUSTER.accelerator, (replace(NODE, gpus=6), spine))
    for ranks, stride in [(2, 1), (3, 1), (2, 2), (4, 1), (2, 3), (5, 1), (3, 2), (12, 1), (2, 6)]:
        span = ranks * stride
        is_split = any(first // 6 != (first + span - 1) // 6 for first in range(0, 24, span))
        assert sixes.crossed(span) == is_split, span
    found = group_us(sixes, 4, 1, "all_reduce", size, ASSUMED, 0.0)
    assert found == collective_us(spine, 4, "all_reduce", size)


def test_inputs_are_gathered_again_under_sequence_parallelism() -> None:
    """Slow links: more than two of the four gathers and scatters of each pass are exposed."""
    slow = TrainingCluster(CLUSTER.accelerator, (replace(NODE, bandwidth_gbps=1.0),))
    size = 2 * 256 * 512
    passes = layer_times(MODEL, slow, JobShape(tp=2, sequence_parallel=True), ASSUMED)
    gather = group_us(slow, 2, 1, "all_gather", size, ASSUMED, ASSUMED.launch_us)
    plain = 8 * gather  # two gathers, two scatters, forward and backward
    assert plain < passes.tensor_us < plain + 2 * gather


def test_sharded_parameters_gather_embedding_and_head() -> None:
    """Without a head's compute all that they add is exposed, but for one layer's time."""
    sharded = JobShape(dp=8, micro_batches=2, sharding="parameters")
    wide = replace(MODEL, vocabulary=512_000, tied=False)
    steps = [simulate_step(model, CLUSTER, sharded, ASSUMED) for model in (MODEL, wide)]
    exposed = [dict(step.exposed)["sharding"] for step in steps]
    gathered = collective_us(NODE, 8, "all_gather", 2 * 512_000 * 512)
    assert exposed[1] - exposed[0] > 2 * gathered
    held = [rank_memories(model, sharded)[0].buffers_bytes for model in (MODEL, wide)]
    assert held[1] - held[0] == _of_head(wide, 256) - 2 * 256 * (512 + 2048) + (2 + 4) * 512 * (
        512_000 - 1024
    )


def test_a_table_is_scaled_as_a_ring_goes() -> None:
    level = replace(NODE, table=((1000, 8.0), (2000, 16.0)), table_ranks=8)
    assert collective_us(level, 8, "all_reduce", 1000) == 8.0
    assert collective_us(level, 2, "all_reduce", 1000) == pytest.approx(8 * (1 / 2) / (7 / 8))
    assert collective_us(level, 8, "all_gather", 1000) == pytest.approx(4.0)


def test_messages_cross_the_level_between_their_ranks() -> None:
    inside = stage_times(MODEL, CLUSTER, JobShape(pp=4, tp=2), ASSUMED).messages
    assert len(set(inside)) == 1
    across = stage_times(MODEL, CLUSTER, JobShape(pp=4, tp=4, micro_batches=4), ASSUMED).messages
    assert across[0] == across[2] < across[1] == across[3]


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"tp": 3}, ["/tp", "/tp"]),  # heads and feed-forward
        ({"pp": 0, "dp": 0}, ["/pp", "/dp"]),  # all at once
        ({"pp": 9}, ["/pp"]),  # more stages than layers
        ({"schedule": "2f2b"}, ["/schedule"]),  # no such
        ({"vpp": 2}, ["/vpp"]),  # 1F1B has one chunk
        ({"schedule": "interleaved", "pp": 2, "micro_batches": 3}, ["/micro_batches"]),
        ({"ep": 2}, ["/ep", "/ep"]),  # no experts, and no ranks
        ({"sharding": "zero", "recomputation": "some"}, ["/sharding", "/recomputation"]),
        ({"dp": 4, "sharding": "optimizer", "shard": 3}, ["/shard"]),  # no divisor
        ({"pp": 2, "layers_of_stages": (4, 5)}, ["/layers_of_stages"]),  # of another sum
        ({"expert_imbalance": float("nan")}, ["/expert_imbalance"]),  # not a number
        ({"gradient_bytes": 3}, ["/gradient_bytes"]),  # neither 2 nor 4
    ],
)
def test_shapes_that_are_refused(changes, pointers) -> None:
    faults = list(faults_of_shape(replace(JobShape(), **changes), MODEL))
    assert [fault.pointer for fault in faults] == pointers


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"layers": 0, "vocabulary": -1}, ["/layers", "/vocabulary"]),  # all at once
        ({"heads": 7}, ["/heads"]),  # does not divide hidden
        ({"kv_heads": 3}, ["/kv_heads"]),  # does not divide heads
        ({"experts": 4}, ["/top_k"]),  # experts that nobody is sent to
        ({"experts": 4, "top_k": 5}, ["/top_k"]),  # more than there are
        ({"dense_layers": 2}, ["/dense_layers"]),  # all are dense already
    ],
)
def test_models_that_are_refused(changes, pointers) -> None:
    assert [f.pointer for f in faults_of_transformer(replace(MODEL, **changes))] == pointers


@pytest.mark.parametrize(
    ("levels", "pointers"),
    [
        ((), ["/levels"]),  # none
        ((NODE, NODE), ["/levels/1/gpus"]),  # joins no more
        ((replace(NODE, bandwidth_gbps=0.0),), ["/levels/0/bandwidth_gbps"]),
        ((replace(NODE, startup_us=-1.0),), ["/levels/0/startup_us"]),
        ((replace(NODE, table_ranks=8),), ["/levels/0/table_ranks"]),  # without a table
    ],
)
def test_clusters_that_are_refused(levels, pointers) -> None:
    cluster = TrainingCluster(ACCELERATORS["a100"], levels)
    assert [fault.pointer for fault in faults_of_cluster(cluster)] == pointers


def test_a_gpu_without_figures_is_refused() -> None:
    gpu = replace(ACCELERATORS["a100"], tflops=(("fp8", 0.0),), memory_gib=float("nan"))
    pointers = [f.pointer for f in faults_of_cluster(TrainingCluster(gpu, (NODE,)))]
    assert pointers == ["/accelerator/tflops", "/accelerator/memory_gib", "/accelerator/tflops/fp8"]


BOTH_WAYS = JobShape(pp=4, dp=4, vpp=2, micro_batches=8, schedule="dualpipe")


@pytest.mark.parametrize("model", [MODEL, replace(MODEL, tied=False), EXPERTS])
def test_both_ways_hold_the_model_twice_and_sum_it_between_two_ranks(model) -> None:
    plain = replace(BOTH_WAYS, schedule="1f1b", vpp=1)
    shared = (model.tied) * model.embedding_parameters  # both ends are on one rank, and share it
    one = sum(dense + experts for dense, experts in stage_parameters(model, plain))
    both = sum(dense + experts for dense, experts in stage_parameters(model, BOTH_WAYS))
    assert both == 2 * (one - shared)
    memories = rank_memories(model, BOTH_WAYS)
    assert sum(each.weights_bytes for each in memories) == 2 * both
    assert memories[0].weights_bytes == memories[3].weights_bytes
    times, before = (stage_times(model, CLUSTER, each, ASSUMED) for each in (BOTH_WAYS, plain))
    assert times.passes[:4] == times.passes[4:]
    assert times.passes[1][0] == before.passes[1][0]
    assert times.tied_us == 0
    size = round(4 * stage_parameters(model, BOTH_WAYS)[1][0])
    pair = group_us(CLUSTER, 2, 4 * 3, "all_reduce", size, ASSUMED, 0.0)
    if not model.experts:
        assert times.reductions[1] - before.reductions[1] == pytest.approx(pair)


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"vpp": 1}, ["/vpp"]),  # two chunks a rank
        ({"pp": 1}, ["/pp"]),  # no other end
        ({"pp": 3, "dp": 1}, ["/pp"]),  # a middle rank is its own pair
        ({"micro_batches": 9}, ["/micro_batches"]),  # no half of them
        ({"micro_batches": 6}, ["/micro_batches"]),  # the ends never meet
        ({"pp": 16, "micro_batches": 32}, ["/pp"]),  # more stages than layers
        ({"layers_of_stages": (1,) * 8}, ["/layers_of_stages"]),  # of each stage, not of each place
    ],
)
def test_both_ways_are_refused_where_there_are_none(changes, pointers) -> None:
    found = faults_of_shape(replace(BOTH_WAYS, **changes), MODEL)
    assert [fault.pointer for fault in found] == pointers
    uneven = replace(BOTH_WAYS, layers_of_stages=(1, 2, 3, 2))
    assert not list(faults_of_shape(uneven, MODEL))
    assert uneven.stage_layers(8) == (1, 2, 3, 2, 1, 2, 3, 2)
    assert uneven.firsts(8) == (0, 1, 3, 6, 0, 1, 3, 6)
