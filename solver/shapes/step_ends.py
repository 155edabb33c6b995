"""The end of a step: sums of gradients, the optimizer, the gather of what it updated."""

from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import ELEMENT, group_us
from solver.shapes.pipeline.orders import FORTH_AND_BACK
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
    sums: dict[tuple[float, float], tuple[float, float]] = {}  # of stages alike
    counts = shape.stage_layers(model.layers)
    for k, (dense, experts) in enumerate(stage_parameters(model, shape)):
        rank, count = shape.ranks[k], counts[k]
        if (dense, experts) not in sums:
            sums[dense, experts] = _reduction_us(model, cluster, shape, known, dense, experts)
        reduction, gather = sums[dense, experts]
        reductions.append(reduction)
        gathers[rank] += gather
        updated = dense + experts
        if shape.sharding != "none":
            updated = dense / shape.sharing + experts / max(1, shape.sharing // shape.ep)
        traffic = updated * ADAM_BYTES / (cluster.accelerator.memory_gbps * 1e3)
        optimizers[rank] += known.optimizer * traffic + known.optimizer_layer_us * count
    tied = 0.0
    if model.tied and shape.ranks[0] != shape.ranks[-1]:
        size = round(shape.gradient_bytes * model.embedding_parameters / shape.tp)
        stride = shape.tp * shape.cp * shape.dp * (shape.pp - 1)
        tied = known.reductions * group_us(cluster, 2, stride, ALL_REDUCE, size, known, 0.0)
    return tuple(reductions), tuple(gathers), tuple(optimizers), tied


def stage_parameters(model: Transformer, shape: JobShape) -> list[tuple[float, float]]:
    """Return the parameters on one rank of each virtual stage: those all share, and its experts.

    Most stages are alike, and are looked at once.
    """
    model = model.split(shape.tp)
    counts = shape.stage_layers(model.layers)
    firsts, lasts = shape.first_stages, shape.last_stages
    is_shared = model.tied and shape.schedule in FORTH_AND_BACK  # both ends are on one rank
    found: dict[tuple[int, int, bool, bool], tuple[float, float]] = {}
    stages = []
    for k, (first, count) in enumerate(zip(shape.firsts(model.layers), counts, strict=True)):
        is_first, is_last = k in firsts, k in lasts
        kind = count, model.dense_among(first, count), is_first, is_last
        if kind not in found:
            has_head = is_last and (is_first or not is_shared)
            found[kind] = _parameters(
                model, shape, first, count, is_first=is_first, is_last=has_head
            )
        stages.append(found[kind])
    return stages


def layer_parameters(model: Transformer, shape: JobShape) -> list[tuple[float, float]]:
    """Return the parameters on one rank of each layer: those all share, and its experts."""
    model = model.split(shape.tp)
    return [
        _parameters(model, shape, layer, 1, is_first=False, is_last=False)
        for layer in range(model.layers)
    ]


def _parameters(
    model: Transformer, shape: JobShape, first: int, count: int, *, is_first: bool, is_last: bool
) -> tuple[float, float]:
    dense = experts = 0.0
    for block, number in model.layer_counts(first, count):
        dense += number * (block.dense_weights / shape.tp + 2 * block.hidden)
        experts += number * block.expert_weights / shape.tp / shape.ep
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
    in the passes; over more ranks than share out, the shards are summed besides. A stage that two
    pipeline ranks hold is summed between these at last, each its own shard.
    """
    replicas = shape.cp * shape.dp
    reduction = gather = 0.0
    for parameters, ranks, stride, share in (
        (dense, replicas, shape.tp, shape.sharing),
        (experts, replicas // shape.ep, shape.tp * shape.ep, max(1, shape.sharing // shape.ep)),
    ):
        if not parameters:
            continue
        size = round(shape.gradient_bytes * parameters)
        if shape.ways > 1:
            shared = size if shape.sharding == "none" else round(size / share)
            far = shape.tp * replicas * (shape.pp - 1)
            reduction += group_us(cluster, 2, far, ALL_REDUCE, shared, known, 0.0)
        if ranks == 1:
            continue
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
