"""Times of the passes of each virtual stage, of messages, and of the end of a step."""

from dataclasses import dataclass
from functools import lru_cache

from solver.graph import ALL_GATHER, REDUCE_SCATTER
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import ELEMENT, LayerPasses, group_us, layer_times
from solver.shapes.multiplications import head_times
from solver.shapes.pipeline.orders import WEIGHTS_APART
from solver.shapes.step_ends import step_ends
from solver.shapes.transformer import Transformer

#: Groups whose communication may be exposed in the passes.
GROUPS = ("tensor", "context", "expert", "sharding")


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Times [us] that make a step of a shape.

    Attributes
    ----------
    passes
        Of each virtual stage its forward pass, its backward pass (of inputs alone, where weights
        have a pass of their own) and its weights' pass.
    messages
        Of each pair of neighbouring ranks, and of the last and the first, a message.
    reductions
        Of each virtual stage the sum of its gradients.
    gathers
        Of each rank the gather of its updated parameters.
    optimizers
        Of each rank its optimizer.
    tied_us
        The sum of the embedding's gradients between first and last rank, where they share it.
    step_us
        What a step takes besides.
    exposed
        Exposed communication of a micro-batch's passes on the busiest virtual stage, by group:
        (name, us).
    """

    passes: tuple[tuple[float, float, float], ...]
    messages: tuple[float, ...]
    reductions: tuple[float, ...]
    gathers: tuple[float, ...]
    optimizers: tuple[float, ...]
    tied_us: float
    step_us: float
    exposed: tuple[tuple[str, float], ...]


def stage_times(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> StageTimes:
    """Return the times of a shape's passes, messages, sums and optimizers.

    The first virtual stage has the embedding besides its layers, the last the head and its loss.
    With ``parameters`` sharded a layer's weights are gathered while the layer before runs, and its
    gradients scattered while the next one runs: n layers of compute c and communication g take
    g + (n - 1) max(g, c) + c. Embedding and head are gathered once a micro-batch and stay for its
    backward pass: the embedding before the first layer, the head beside the last one.
    """
    has_weights = shape.schedule in WEIGHTS_APART
    passes = []
    exposed = []
    found: dict[tuple[bool, int], tuple[float, float, float, tuple[float, ...]]] = {}
    for first, count in zip(
        shape.firsts(model.layers), shape.stage_layers(model.layers), strict=True
    ):
        forward, backward, weights, groups = 0.0, 0.0, 0.0, [0.0] * len(GROUPS)
        for block, number in model.layer_counts(first, count):
            if number:
                kind = block is model, number  # most stages are alike
                if kind not in found:
                    found[kind] = _block_times(block, cluster, shape, known, number)
                times = found[kind]
                forward, backward = forward + times[0], backward + times[1]
                weights += times[2] if has_weights else 0.0
                groups = [one + two for one, two in zip(groups, times[3], strict=True)]
        passes.append([forward, backward - weights, weights])
        exposed.append(groups)
    _gather_ends(model, cluster, shape, known, passes, exposed)
    ends = end_passes(model, cluster, shape, known)
    for stages, end in zip((shape.first_stages, shape.last_stages), ends, strict=True):
        for stage in stages:
            passes[stage][0] += end[0]
            passes[stage][1] += end[1]
    if shape.pp > 1:
        for each in passes:
            each[0] += known.send_us
            each[1] += known.send_us
    return StageTimes(
        tuple((forward, backward, weights) for forward, backward, weights in passes),
        _messages(model, cluster, shape, known),
        *step_ends(model, cluster, shape, known),
        known.step_us,
        tuple(zip(GROUPS, max(exposed, key=sum), strict=True)),
    )


def _block_times(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies, count: int
) -> tuple[float, float, float, tuple[float, ...]]:
    """Return forward, backward and weights' pass of so many layers, and what is exposed [us]."""
    layer = _layer_times(model, cluster, _of_layer(shape), known)
    gather_us, scatter_us = _sharding_us(model, cluster, shape, known)
    back_us = (gather_us if shape.reshard else 0.0) + scatter_us
    forward = _overlapped(count, layer.forward_us, gather_us)
    backward = _overlapped(count, layer.backward_us, back_us)
    exposed = (
        count * layer.tensor_us,
        count * layer.context_us,
        count * layer.expert_us,
        forward + backward - count * (layer.forward_us + layer.backward_us),
    )
    return forward, backward, count * layer.weights_us, exposed


#: The fields that a layer's times depend on; the rest is put to its default to find them again.
_OF_LAYER = (
    "tp",
    "cp",
    "ep",
    "micro_batch",
    "sequence_parallel",
    "recomputation",
    "context",
    "flash_attention",
    "precision",
    "expert_imbalance",
)


def _of_layer(shape: JobShape) -> JobShape:
    return JobShape(**{field: getattr(shape, field) for field in _OF_LAYER})


@lru_cache(maxsize=8192)
def _layer_times(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> LayerPasses:
    return layer_times(model, cluster, shape, known)


def _overlapped(count: int, compute_us: float, communicate_us: float) -> float:
    """Time of a pass whose layers' communication runs one layer ahead of, or behind, compute."""
    if count == 0:
        return 0.0
    return communicate_us + (count - 1) * max(compute_us, communicate_us) + compute_us


def _sharding_us(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[float, float]:
    """Time of a layer's gather and of the scatter of its gradients, where they are sharded [us].

    Experts are shared out among the ranks that hold the same ones.
    """
    if shape.sharding != "parameters":
        return 0.0, 0.0
    model = model.split(shape.tp)
    dense = round((model.dense_weights + 2 * model.hidden) / shape.tp)
    experts = round(model.expert_weights / shape.tp / shape.ep)
    same = max(1, shape.sharing // shape.ep)
    gather = scatter = 0.0
    for weights, ranks, stride in (
        (dense, shape.sharing, shape.tp),
        (experts, same, shape.tp * shape.ep),
    ):
        if ranks > 1 and weights:
            size = ELEMENT * weights
            gather += group_us(cluster, ranks, stride, ALL_GATHER, size, known, known.launch_us)
            size = shape.gradient_bytes * weights
            scatter += group_us(
                cluster, ranks, stride, REDUCE_SCATTER, size, known, known.launch_us
            )
    return gather, scatter


def _gather_ends(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    passes: list[list[float]],
    exposed: list[list[float]],
) -> None:
    """Add what sharded parameters of embedding and head leave exposed [us].

    The embedding's gather and the scatter of its gradients have nothing beside them; of those of
    the head one layer's compute hides its part. A tied head on the same rank is gathered already.
    """
    if shape.sharding != "parameters" or shape.sharing == 1:
        return
    weights = round(model.embedding_parameters / shape.tp)
    launch = known.launch_us
    sizes = ((ALL_GATHER, ELEMENT * weights), (REDUCE_SCATTER, shape.gradient_bytes * weights))
    parts = [
        group_us(cluster, shape.sharing, shape.tp, kind, size, known, launch)
        for kind, size in sizes
    ]
    layer = _layer_times(model, cluster, _of_layer(shape), known)
    hides = (layer.forward_us, layer.backward_us)
    busy = _sharding_us(model, cluster, shape, known)
    has_one = model.tied and shape.ranks[0] == shape.ranks[-1]
    for k, part in enumerate(parts):
        left = 0.0 if has_one else max(0.0, part - max(0.0, hides[k] - busy[k]))
        for stages, us in ((shape.first_stages, part), (shape.last_stages, left)):
            for stage in stages:
                passes[stage][k] += us
                exposed[stage][GROUPS.index("sharding")] += us


def end_passes(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the times of the embedding, and of the head and its loss, forward and backward [us].

    With them is what the host takes for a micro-batch besides its layers.
    """
    tokens = shape.micro_batch * model.sequence / shape.cp
    per_us = cluster.accelerator.memory_gbps * 1e3 * known.memory
    multiplied = head_times(model, cluster.accelerator, shape, known, tokens)
    enter = 6 * ELEMENT * tokens * model.hidden / per_us
    logits = tokens * model.vocabulary / shape.tp
    moved = 6 * ELEMENT * logits / per_us
    host = 0.4 * known.batch_us
    return (
        (enter + 0.1 * known.batch_us, enter),
        (
            known.head * (multiplied[0] + moved) + host,
            known.head * (multiplied[1] + 2 * moved) + host,
        ),
    )


def _messages(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[float, ...]:
    """Time of a message from each rank to the next, and from the last to the first [us]."""
    if shape.pp == 1:
        return (0.0,)
    size = message_bytes(model, shape)
    stride = shape.tp * shape.cp * shape.dp
    messages = []
    for rank in range(shape.pp):
        other = (rank + 1) % shape.pp
        at = _between(cluster, stride, min(rank, other), max(rank, other))
        level = cluster.levels[at]
        slower = known.uplinks if at else known.links
        us = level.startup_us + level.hop_us + size / (level.bandwidth_gbps * 125.0)
        messages.append(known.message_us + slower * us)
    return tuple(messages)


def message_bytes(model: Transformer, shape: JobShape) -> int:
    """Return the bytes of a message between stages: the residual stream of a micro-batch."""
    size = ELEMENT * shape.micro_batch * (model.sequence // shape.cp) * model.hidden
    return -(-size // shape.tp) if shape.sequence_parallel else size


def _between(cluster: TrainingCluster, stride: int, one: int, two: int) -> int:
    """Position of the level that joins all GPUs of two pipeline ranks, pair by pair."""
    for i, level in enumerate(cluster.levels):
        inside = (
            level.gpus % stride == 0 and one * stride // level.gpus == two * stride // level.gpus
        )
        if inside:
            return i
    return len(cluster.levels) - 1
