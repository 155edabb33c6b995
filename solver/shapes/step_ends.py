"""The end of a step: sums of gradients, the optimizer, the gather of what it updated."""

from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import ELEMENT, group_us
from solver.shapes.transformer import Transformer

#: Memory traffic of Adam [bytes per parameter]: weight, gradient and two moments in 32 bit are
#: read, all but the gradient written, and the weight in 16 bit.
ADAM_BYTES = 30


def step_ends(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], float]:
    """Return the times of sums of gradients, gathers, optimizers and the tied sum [us]."""
    reductions = []
    gathers = [0.0] * shape.pp
    optimizers = [0.0] * shape.pp
    for k, count in enumerate(shape.stage_layers(model.layers)):
        dense, experts = stage_parameters(model, shape, k)
        rank = k % shape.pp
        reduction, gather = _reduction_us(model, cluster, shape, known, dense, experts)
        reductions.append(reduction)
        gathers[rank] += gather
        updated = dense + experts
        if shape.sharding != "none":
            updated = dense / shape.sharing + experts / max(1, shape.sharing // shape.ep)
        traffic = updated * ADAM_BYTES / (cluster.accelerator.memory_gbps * 1e3)
        optimizers[rank] += known.optimizer * traffic + known.optimizer_layer_us * count
    tied = 0.0
    if model.tied and shape.pp > 1:
        size = round(shape.gradient_bytes * model.embedding_parameters / shape.tp)
        stride = shape.tp * shape.cp * shape.dp * (shape.pp - 1)
        tied = known.reductions * group_us(cluster, 2, stride, ALL_REDUCE, size, known, 0.0)
    return tuple(reductions), tuple(gathers), tuple(optimizers), tied


def stage_parameters(model: Transformer, shape: JobShape, stage: int) -> tuple[float, float]:
    """Return the parameters on one rank of a virtual stage: those all share, and its experts."""
    model = model.split(shape.tp)
    dense = experts = 0.0
    first, count = shape.firsts(model.layers)[stage], shape.stage_layers(model.layers)[stage]
    for block, number in model.layer_counts(first, count):
        dense += number * (block.dense_weights / shape.tp + 2 * block.hidden)
        experts += number * block.expert_weights / shape.tp / shape.ep
    stages = shape.pp * shape.vpp
    is_first, is_last = stage == 0, stage == stages - 1
    ends = is_first + (is_last and not (model.tied and is_first))
    dense += ends * model.embedding_parameters / shape.tp
    return dense, experts


def _reduction_us(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    dense: float,
    experts: float,
) -> tuple[float, float]:
    """Time of the sum of a virtual stage's gradients, and of the gather after its update [us].

    With the optimizer sharded the sum is a reduce-scatter, with parameters sharded it has been done
    in the passes; over more ranks than share out, the shards are summed besides.
    """
    replicas = shape.cp * shape.dp
    reduction = gather = 0.0
    for parameters, ranks, stride, share in (
        (dense, replicas, shape.tp, shape.sharing),
        (experts, replicas // shape.ep, shape.tp * shape.ep, max(1, shape.sharing // shape.ep)),
    ):
        if ranks == 1 or not parameters:
            continue
        size = round(shape.gradient_bytes * parameters)
        weights = round(ELEMENT * parameters)
        if shape.sharding == "none":
            reduction += group_us(cluster, ranks, stride, ALL_REDUCE, size, known, 0.0)
            continue
        if shape.sharding != "parameters":
            reduction += group_us(cluster, share, stride, REDUCE_SCATTER, size, known, 0.0)
            gather += group_us(cluster, share, stride, ALL_GATHER, weights, known, 0.0)
        if share < ranks:
            outer = ranks // share
            part = round(size / share)
            reduction += group_us(cluster, outer, stride * share, ALL_REDUCE, part, known, 0.0)
    if reduction:
        reduction = known.reduction_us + known.reductions * reduction
    return reduction, known.reductions * gather
