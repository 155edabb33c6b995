"""Plans inside shapes: their graphs against recurrences, and what is not planned."""

from dataclasses import replace
from itertools import product

import pytest

from solver.costs import cost_of, network_of
from solver.graph import ALL_REDUCE, REDUCE_SCATTER
from solver.policies.wfbp import wfbp
from solver.shapes.communication.group_costs import data_channel
from solver.shapes.communication.shape_plan import shape_plan
from solver.shapes.communication.sums import sums_graph
from solver.shapes.communication.units import units_graph
from solver.shapes.efficiency import ASSUMED
from solver.shapes.hardware import ACCELERATORS, NetworkLevel, TrainingCluster
from solver.shapes.job_shape import JobShape, faults_of_shape
from solver.shapes.layer_times import group_us
from solver.shapes.pipeline.replay import flat_order
from solver.shapes.stage_times import stage_times
from solver.shapes.step import simulate_step, step_of
from solver.shapes.step_ends import layer_parameters, stage_parameters
from solver.shapes.transformer import Transformer
from solver.simulation.engine import iteration_time

MODEL = Transformer("small", 8, 512, 8, 2048, 1024, 256, tied=True)
EXPERTS = replace(MODEL, experts=8, top_k=2, feed_forward=512)
UNTIED = replace(MODEL, tied=False)
NODE = NetworkLevel("node", 8, 2400.0, 10.0, 1.0)
CLUSTER = TrainingCluster(ACCELERATORS["a100"], (NODE, NetworkLevel("spine", 64, 20.0, 20.0, 5.0)))
SHARDED = JobShape(dp=16, micro_batches=2, sharding="parameters")
REDUCED = JobShape(tp=2, pp=2, dp=4, micro_batches=4)


@pytest.mark.parametrize(
    ("schedule", "vpp"), [("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("zero_bubble", 1)]
)
@pytest.mark.parametrize("sharding", ["none", "optimizer"])
@pytest.mark.parametrize("model", [MODEL, UNTIED])
def test_sums_one_by_one_take_what_a_recurrence_says(schedule, vpp, sharding, model) -> None:
    shape = replace(REDUCED, schedule=schedule, vpp=vpp, sharding=sharding)
    assert not list(faults_of_shape(shape, model))
    graph, costs = sums_graph(model, CLUSTER, shape, ASSUMED)
    known = ASSUMED
    times = stage_times(model, CLUSTER, shape, known)
    sizes = [sum(parameters) for parameters in layer_parameters(model, shape)]
    end = model.embedding_parameters / shape.tp
    kind = ALL_REDUCE if sharding == "none" else REDUCE_SCATTER
    step = step_of(shape, replace(times, reductions=(0.0,) * (2 * vpp), tied_us=0.0))
    # when each last pass ends, as a step without sums has it: the order is left as it ran
    order = flat_order(schedule, 2, vpp, 4)
    free = [0.0, 0.0]
    for stage, i in sorted(enumerate(order.last_of_stages), key=lambda each: order.ends[each[1]]):
        rank, count = shape.ranks[stage], 8 // (2 * vpp)
        long = times.passes[stage][order.passes[i].kind]
        for k in range(count):
            layer = stage * count + count - 1 - k
            sent = [sizes[layer]]
            sent += [end] if layer in (0, 7) else []
            for parameters in sent:
                size = round(4 * parameters)
                ready = order.ends[i] - long * (count - 1 - k) / count
                free[rank] = max(free[rank], ready) + known.reduction_us
                free[rank] += group_us(CLUSTER, 4, 2, kind, size, known, 0.0)
    ends = [times.optimizers[r] + times.gathers[r] + times.tied_us for r in (0, 1)]
    last = max(*free, step.pipeline_us) + max(ends) + times.step_us
    assert iteration_time(graph, network_of(costs), wfbp) == pytest.approx(last, rel=1e-9)


def test_a_step_sends_all_gradients() -> None:
    for sharding, ranks in product(("none", "optimizer"), (1, 2)):
        shape = JobShape(pp=ranks, dp=4, micro_batches=4, sharding=sharding)
        graph, _ = sums_graph(MODEL, CLUSTER, shape, ASSUMED)
        sent = sum(graph.ops[i].bytes or 0 for i in graph.collectives)
        assert sent == 4 * sum(dense for dense, _ in stage_parameters(MODEL, shape))


def test_a_micro_batch_of_units_computes_what_the_shape_does() -> None:
    for model in (MODEL, UNTIED):
        graph, costs = units_graph(model, CLUSTER, SHARDED, ASSUMED)
        whole = stage_times(model, CLUSTER, replace(SHARDED, sharding="none"), ASSUMED)
        shared = stage_times(model, CLUSTER, SHARDED, ASSUMED)
        share = (shared.optimizers[0] + shared.step_us) / 2
        assert sum(graph.durations) == pytest.approx(sum(whole.passes[0]) + share, rel=1e-9)
        assert len(graph.collectives) == 3 * (9 if model.tied else 10) - 1
        simulated = 2 * iteration_time(graph, network_of(costs), wfbp)
        ranked = simulate_step(model, CLUSTER, SHARDED, ASSUMED).time_us
        assert simulated == pytest.approx(ranked, rel=0.05)  # rules of prefetching differ


def test_costs_between_sizes_are_those_of_the_levels() -> None:
    table = tuple((1 << k, 20.0 + (1 << k) / 1e4) for k in range(10, 30))
    measured = TrainingCluster(
        ACCELERATORS["a100"], (replace(NODE, table=table, table_ranks=8), CLUSTER.levels[1])
    )
    for cluster in (CLUSTER, measured):
        cost = cost_of(data_channel(cluster, REDUCED, ASSUMED, {ALL_REDUCE: 7.0}, 1 << 28))
        for size in (1 << 12, 3 << 20, 1 << 28):
            exact = 7.0 + group_us(cluster, 4, 2, ALL_REDUCE, size, ASSUMED, 0.0)
            assert cost.time(size) == pytest.approx(exact, rel=0.001)


def test_experts_are_summed_over_those_that_hold_the_same() -> None:
    shape = JobShape(pp=2, dp=8, ep=4, micro_batches=4)
    graph, costs = sums_graph(EXPERTS, CLUSTER, shape, ASSUMED)
    sent = [graph.ops[i] for i in graph.collectives]
    assert {op.channel for op in sent} == {"0/data", "0/experts", "1/data", "1/experts"}
    experts = [op for op in sent if op.channel.endswith("experts")]
    assert [op.id.endswith(".experts") for op in experts] == [True] * 8
    total = 4 * sum(dense + experts for dense, experts in stage_parameters(EXPERTS, shape))
    assert sum(op.bytes or 0 for op in sent) == total
    size = experts[0].bytes
    assert size is not None
    cost = cost_of(dict(costs.channels)["0/experts"])
    exact = ASSUMED.reduction_us + group_us(CLUSTER, 2, 4, ALL_REDUCE, size, ASSUMED, 0.0)
    assert cost.time(size) == pytest.approx(exact, rel=0.001)
    # nobody else holds them: nothing to sum
    alone, _ = sums_graph(EXPERTS, CLUSTER, replace(shape, ep=8), ASSUMED)
    assert {alone.ops[i].channel for i in alone.collectives} == {"0/data", "1/data"}
    found = shape_plan(EXPERTS, CLUSTER, shape, ASSUMED)
    assert found.headline is not None
    assert [gain.over for gain in found.headline.gains] == ["ddp", "ddp_tuned"]
    assert all(gain.lower_bound_us <= gain.plan_us for gain in found.headline.gains)


@pytest.mark.parametrize("shape", [SHARDED, REDUCED, replace(REDUCED, sharding="optimizer")])
def test_a_plan_is_between_its_bound_and_what_is_run(shape) -> None:
    found = shape_plan(MODEL, CLUSTER, shape, ASSUMED)
    assert found.why_not is None
    assert found.headline is not None
    over = {"none": ["ddp", "ddp_tuned"], "optimizer": ["fifo"], "parameters": ["fsdp2"]}
    assert [gain.over for gain in found.headline.gains] == over[shape.sharding]
    for gain in found.headline.gains:
        assert gain.lower_bound_us <= gain.plan_us * (1 + 1e-9)
        assert gain.plan_us <= gain.today_us * 1.001  # few launches are worth 0.1 %
        assert gain.gain_low <= gain.gain <= gain.gain_high
    assert found == shape_plan(MODEL, CLUSTER, shape, ASSUMED)
    names = {name for launch in found.launches for name in launch}
    assert {"embedding", *(f"layer{k}" for k in range(8))} <= names
    is_of_units = shape.sharding == "parameters"
    assert (found.forward_prefetch is not None) == is_of_units
    assert (found.backward_prefetch is not None) == is_of_units


def test_no_more_is_claimed_than_is_known() -> None:
    slow = replace(CLUSTER, levels=(NODE, replace(CLUSTER.levels[1], bandwidth_gbps=2.0)))
    shape = replace(REDUCED, tp=1, dp=8)
    claimed = shape_plan(UNTIED, slow, shape, ASSUMED).headline
    assert claimed is not None
    assert claimed.gains[0].gain is not None
    assumed = shape_plan(UNTIED, slow, shape, ASSUMED, unsound=["all is assumed."]).headline
    assert assumed is not None
    assert assumed.gains[0].verdict == "too_close"
    assert assumed.gains[0].why == "No gain is claimed: all is assumed."
    off = shape_plan(UNTIED, slow, shape, ASSUMED, trust_below=0.9).headline
    assert off is not None
    assert off.gains[0].verdict == "too_close"
    assert off.gains[0].gain == claimed.gains[0].gain


def test_a_step_longer_than_any_op_may_be_is_not_planned() -> None:
    slow = replace(CLUSTER, accelerator=replace(ACCELERATORS["a100"], tflops=(("bf16", 1e-9),)))
    found = shape_plan(MODEL, slow, REDUCED, replace(ASSUMED, matmul=1e-6))
    assert found.why_not is not None
    assert "duration_us must be 0 to" in found.why_not


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (JobShape(tp=8), "no data-parallel communication"),  # one data-parallel rank
        (replace(SHARDED, pp=2, dp=8), "inside a pipeline"),
        (replace(SHARDED, shard=8), "over some of the ranks"),
        (replace(SHARDED, reshard=False), "stay gathered"),
        (replace(REDUCED, schedule="dualpipe", vpp=2), "on two pipeline ranks"),
        (replace(SHARDED, ep=2), "experts are sharded"),  # over two groups
    ],
)
def test_what_is_not_planned_is_said(shape, said) -> None:
    model = replace(MODEL, experts=8, top_k=2) if shape.ep > 1 else MODEL
    assert not list(faults_of_shape(shape, model))
    found = shape_plan(model, CLUSTER, shape, ASSUMED)
    assert found.why_not is not None
    assert said in found.why_not
    assert (found.headline, found.launches) == (None, ())
