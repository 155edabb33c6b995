"""Times of one layer's passes on one rank: roofline, the host's launches, collectives."""

from dataclasses import dataclass

from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster, collective_us
from solver.shapes.job_shape import BY_HEADS, JobShape
from solver.shapes.multiplications import MultiplicationTimes, multiplication_times
from solver.shapes.transformer import Transformer

#: Bytes of an activation or weight in the passes.
ELEMENT = 2

#: Power of the mean by which the larger of host and GPU decides: near 1 only where both are alike.
_SHARPNESS = 16.0


#: Sequences that the fused softmax takes: above the first, up to the second.
_FUSED = (16, 16384)

#: Times that an unfused softmax moves attention's scores over a fused one: each of its kernels
#: reads and writes them, most in 32 bit.
_UNFUSED_SCORES = 3.5


@dataclass(frozen=True, slots=True)
class LayerPasses:
    """Times of a layer's passes [us], with what of them is exposed communication.

    Attributes
    ----------
    forward_us
        The forward pass.
    backward_us
        The whole backward pass, with what is computed again.
    weights_us
        What of the backward pass are the gradients of weights, which nothing else waits for.
    tensor_us, context_us, expert_us, sharding_us
        Exposed communication of forward and backward pass, by group.
    """

    forward_us: float
    backward_us: float
    weights_us: float
    tensor_us: float
    context_us: float
    expert_us: float
    sharding_us: float


def layer_times(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> LayerPasses:
    """Return the times of a layer's passes.

    A pass takes what its matrix multiplications take
    (:func:`solver.shapes.multiplications.multiplication_times`), its activations and weights at
    ``memory`` of the bandwidth, its kernels' latencies and its exposed collectives; or what the
    host takes to launch it, if that is longer. The backward pass has twice the multiplications, of
    which half are the gradients of weights.
    """
    model = model.split(shape.tp)
    tokens = shape.micro_batch * model.sequence / shape.cp
    times = multiplication_times(model, cluster.accelerator, shape, known, tokens)
    per_us = cluster.accelerator.memory_gbps * 1e3 * known.memory
    moved, scores = _traffic(model, shape, tokens)
    weights = _weight_bytes(model, shape)
    move_us = (known.activations * moved + weights) / per_us
    scores_us = known.scores * scores / per_us
    device = times.outputs_us + times.attend_us + move_us + scores_us + known.kernels_us
    again = {
        "none": 0.0,
        "selective": times.attend_us + scores_us,
        "full": device,
    }[shape.recomputation]
    back = times.inputs_us + times.weights_us + times.attend_back_us + 2 * known.kernels_us
    back += 1.5 * (move_us + scores_us)
    tensor = _tensor_us(model, cluster, shape, known, tokens)
    expert = _expert_us(model, cluster, shape, known, tokens)
    context_in, context_out = _context_us(model, cluster, shape, known, tokens, times)
    host = known.host_us
    if shape.tp > 1:
        host += known.host_group_us + known.host_rank_us * (shape.tp - 1)
    if not has_fused_softmax(model, shape):
        host += known.host_unfused_us
    twice = 2 if shape.recomputation == "full" else 1  # of what communicates in a forward pass
    gather = _second_gather_us(model, cluster, shape, known, tokens, times.inputs_us)
    on_forward = tensor + expert + context_in
    on_backward = twice * (tensor + expert) + gather + context_out + (twice - 1) * context_in
    forward = _longer(device + on_forward, host)
    backward = _longer(back + again + on_backward, host * (known.host_backward + twice - 1))
    return LayerPasses(
        forward,
        backward,
        min(times.weights_us, backward / 2),
        (1 + twice) * tensor + gather,
        context_out + twice * context_in,
        (1 + twice) * expert,
        0.0,
    )


def has_fused_softmax(model: Transformer, shape: JobShape) -> bool:
    """Return whether one kernel scales, masks and normalises attention's scores.

    Megatron-LM's kernel takes sequences of 17 to 16,384 tokens, and needs the sequence, and the
    heads of a rank times the micro-batch, to be divisible by 4. Else five kernels do it, in 32 bit.

    References
    ----------
    .. [1] NVIDIA, Megatron-LM, ``megatron/core/fusions/fused_softmax.py``, ``is_kernel_available``.
    """
    tokens = model.sequence // shape.cp
    batches = model.heads // shape.tp * shape.micro_batch
    is_taken = _FUSED[0] < tokens <= _FUSED[1] and tokens % 4 == 0 and batches % 4 == 0
    return shape.flash_attention or is_taken


def _longer(device: float, host: float) -> float:
    most, least = max(device, host), min(device, host)
    return most * (1 + (least / most) ** _SHARPNESS) ** (1 / _SHARPNESS) if most else 0.0


def _traffic(model: Transformer, shape: JobShape, tokens: float) -> tuple[float, float]:
    """Bytes moved by a forward pass on one rank: activations, and attention's scores.

    Norms, residuals and dropouts read and write the residual stream seven times; what the tensor
    parallel ranks split is written and read once.
    """
    residual = 14 * tokens * model.hidden
    if shape.sequence_parallel:
        residual /= shape.tp
    width = 2 * model.query_width + 2 * model.key_width
    width += model.matrices * (model.top_k * model.feed_forward + model.shared_feed_forward)
    width += 0 if model.experts else model.matrices * model.feed_forward
    split = 2 * tokens * width / shape.tp
    if model.experts:
        split += 4 * tokens * model.top_k * model.hidden / shape.tp  # permuted to experts and back
    scores = 0.0
    if not shape.flash_attention:
        scores = 6 * tokens * model.sequence * model.heads / shape.tp
        scores *= 1.0 if has_fused_softmax(model, shape) else _UNFUSED_SCORES
    return ELEMENT * (residual + split), ELEMENT * scores


def _weight_bytes(model: Transformer, shape: JobShape) -> float:
    """Bytes of the weights that a pass reads."""
    return ELEMENT * (model.dense_weights + model.expert_weights / shape.ep) / shape.tp


def _tensor_us(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    tokens: float,
) -> float:
    """Time of a pass's two sums over tensor-parallel ranks [us].

    With sequence parallelism each is a reduce-scatter and an all-gather, of the same bytes.
    """
    if shape.tp == 1:
        return 0.0
    size = round(ELEMENT * tokens * model.hidden)
    if shape.sequence_parallel:
        one = group_us(cluster, shape.tp, 1, ALL_GATHER, size, known, known.launch_us)
        two = group_us(cluster, shape.tp, 1, REDUCE_SCATTER, size, known, known.launch_us)
        return 2 * (one + two)
    return 2 * group_us(cluster, shape.tp, 1, ALL_REDUCE, size, known, known.launch_us)


def _second_gather_us(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    tokens: float,
    multiply_us: float,
) -> float:
    """Exposed time of gathering the inputs of a layer's two blocks again, backward [us].

    Under sequence parallelism a rank keeps its part of them alone; their gather, for the gradients
    of weights, runs beside the multiplications for the gradients of inputs.

    References
    ----------
    .. [1] V. Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models,
           MLSys 2023, Section 4.2.2.
    """
    if shape.tp == 1 or not shape.sequence_parallel:
        return 0.0
    size = round(ELEMENT * tokens * model.hidden)
    gather = group_us(cluster, shape.tp, 1, ALL_GATHER, size, known, known.launch_us)
    first = model.hidden * (model.query_width + 2 * model.key_width)
    blocks = model.active_weights - model.attention_weights
    second = blocks * (model.matrices - 1) / model.matrices
    parts = (min(1.0, part / model.active_weights) * multiply_us for part in (first, second))
    return sum(max(0.0, gather - part) for part in parts)


def _expert_us(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    tokens: float,
) -> float:
    """Time of a pass's two exchanges with the experts [us], by the busiest rank."""
    if shape.ep == 1 or not model.experts:
        return 0.0
    size = ELEMENT * tokens * model.top_k * model.hidden * shape.expert_imbalance
    if shape.sequence_parallel:
        size /= shape.tp
    stride = shape.tp
    return 2 * group_us(cluster, shape.ep, stride, ALL_TO_ALL, round(size), known, known.launch_us)


def _context_us(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    tokens: float,
    times: MultiplicationTimes,
) -> tuple[float, float]:
    """Exposed time of exchanges between context-parallel ranks [us], forward and backward.

    On a ring each exchange of keys and values runs beside attention over what has come; backward,
    gradients go round as well. By heads, queries, keys and values are exchanged before attention
    and its outputs after it; backward, their gradients.

    References
    ----------
    .. [1] S. Jacobs et al., DeepSpeed Ulysses, 2023 (by heads).
    """
    if shape.cp == 1:
        return 0.0, 0.0
    if shape.context == BY_HEADS:
        into = round(ELEMENT * tokens * (model.query_width + 2 * model.key_width) / shape.tp)
        out = round(ELEMENT * tokens * model.query_width / shape.tp)
        exchange = sum(
            group_us(cluster, shape.cp, shape.tp, ALL_TO_ALL, size, known, known.launch_us)
            for size in (into, out)
        )
        return exchange, exchange
    size = round(ELEMENT * 2 * model.key_width / shape.tp * tokens * shape.cp)
    gather = group_us(cluster, shape.cp, shape.tp, ALL_GATHER, size, known, known.launch_us)
    if shape.context == "all_gather":
        return gather, 2 * gather
    hidden = times.attend_us * (shape.cp - 1) / shape.cp
    return max(0.0, gather - hidden), max(0.0, 2 * gather - 2 * hidden)


def group_us(
    cluster: TrainingCluster,
    ranks: int,
    stride: int,
    kind: str,
    size: int,
    known: Efficiencies,
    launch_us: float,
) -> float:
    """Time of a collective between ``ranks`` GPUs, each ``stride`` after the one before [us].

    Where several of them are in one node it goes level by level: within the node over all of the
    bytes, between nodes each GPU over its share of them, as hierarchical rings do; an all-to-all
    sends each byte over one of the two alone. Both levels' times add up.
    """
    if ranks == 1 or size == 0:
        return 0.0
    at = cluster.crossed(ranks * stride)
    outer = cluster.levels[at]
    if at == 0:
        return launch_us + known.links * collective_us(outer, ranks, kind, size)
    here = _in_a_node(cluster, at, ranks, stride)
    if here == 1:
        return launch_us + known.uplinks * collective_us(outer, ranks, kind, size)
    if kind == ALL_TO_ALL:
        inner = group_us(cluster, here, stride, kind, round(size * here / ranks), known, launch_us)
        share = (ranks - here) / (ranks - 1)
        return inner + known.uplinks * share * collective_us(outer, ranks, kind, size)
    inner = group_us(cluster, here, stride, kind, size, known, launch_us)
    return inner + known.uplinks * collective_us(outer, ranks // here, kind, -(-size // here))


def _in_a_node(cluster: TrainingCluster, at: int, ranks: int, stride: int) -> int:
    """Return how many of a group the largest level within ``at`` joins, as many in each."""
    for level in reversed(cluster.levels[:at]):
        here = level.gpus // stride
        if here > 1 and level.gpus % stride == 0 and ranks % here == 0:
            return here
    return 1
