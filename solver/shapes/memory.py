"""Memory of a shape by stage and time: what stays, what micro-batches hold, where the peak is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import ELEMENT
from solver.shapes.pipeline.orders import (
    BACKWARD,
    FORWARD,
    GPIPE,
    ORDERS,
    WEIGHTS,
    WEIGHTS_APART,
)
from solver.shapes.step_ends import stage_parameters
from solver.shapes.transformer import Transformer

#: Bytes of the optimizer's state for a parameter: a 32-bit weight and Adam's two moments.
OPTIMIZER_BYTES = 12

#: Bytes of a logit with a fused loss: one copy in 32 bit, as SimuMax counts it [3]_ of
#: :func:`rank_memories`, or itself and its gradient in 16 bit.
_LOGIT_BYTES = 4


@dataclass(frozen=True, slots=True)
class RankMemory:
    """Memory of the ranks of one pipeline position at their peak [bytes].

    Attributes
    ----------
    rank
        Position in the pipeline.
    weights_bytes, gradients_bytes, optimizer_bytes
        What stays through the step.
    activations_bytes
        What the micro-batches hold at the peak.
    buffers_bytes
        Stand-ins of gradients or gathered parameters, and what a backward pass needs for itself.
    at_pass
        The pass at which the peak is, counted from 0 in the rank's order.
    micro_batches
        Forward passes whose activations are held then.
    """

    rank: int
    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activations_bytes: float
    buffers_bytes: float
    at_pass: int
    micro_batches: int

    @property
    def peak_bytes(self) -> float:
        """All of it."""
        stays = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return stays + self.activations_bytes + self.buffers_bytes


def rank_memories(model: Transformer, shape: JobShape) -> tuple[RankMemory, ...]:
    """Return the memory of each pipeline rank at its peak.

    A forward pass leaves its activations until its backward pass, or that of its weights, ends;
    how many are held at once is counted along the rank's order. The loss is taken to be fused, at 4
    bytes a logit: a kernel that puts gradients in the logits' place needs 2, a loss that keeps
    copies in 16 and 32 bit 6 to 8. The allocator's fragments, and what libraries hold for
    themselves, are not counted.

    References
    ----------
    .. [1] V. Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models,
           MLSys 2023, equations 1 to 6, without dropout's masks.
    .. [2] NVIDIA, Transformer Engine, ``get_dummy_wgrad`` of ``pytorch/module/base.py``, and
           Megatron-LM, ``core/tensor_parallel/layers.py``: where gradients of weights are added to
           their sum as they are computed, autograd is given a stand-in. One is kept of each size.
    .. [3] MooreThreads, SimuMax, ``ParallelCE`` of ``core/transformer/dense_module.py``.
    """
    kept = activation_bytes(model, shape)
    parameters = stage_parameters(model, shape)
    memories = []
    moments = most_held(shape.schedule, shape.pp, shape.vpp, shape.micro_batches)
    for rank, of_rank in enumerate(moments):
        stages = shape.stages_of(rank)
        own = [kept[k] for k in stages]
        held = [sum(n * one for n, one in zip(each.held, own, strict=True)) for each in of_rank]
        peak = held.index(max(held))
        memories.append(
            RankMemory(
                rank,
                *_stays(shape, [parameters[k] for k in stages]),
                held[peak],
                _buffers(model, shape, rank, kept[0]),
                of_rank[peak].at_pass,
                sum(of_rank[peak].held),
            )
        )
    return tuple(memories)


class HeldMoment(NamedTuple):
    """A pass at which a rank holds most: its position, and what is held of each chunk."""

    at_pass: int
    held: tuple[int, ...]


@lru_cache(maxsize=1024)
def most_held(
    schedule: str, ranks: int, chunks: int, micro_batches: int
) -> tuple[tuple[HeldMoment, ...], ...]:
    """Return for each rank the passes of which no other holds as much of every chunk.

    Whatever a chunk's activations take, the peak is at one of them. All schedules but GPipe repeat
    themselves once the pipeline is full, so that four rounds of micro-batches show what they hold.
    """
    if schedule == GPIPE:
        return ((HeldMoment(micro_batches - 1, (micro_batches,)),),) * ranks
    micro_batches = min(micro_batches, 4 * ranks)
    frees = WEIGHTS if schedule in WEIGHTS_APART else BACKWARD
    moments = []
    for steps in ORDERS[schedule](ranks, chunks, micro_batches):
        held = [0] * chunks
        most: list[HeldMoment] = []
        seen: set[tuple[int, ...]] = set()
        for at, step in enumerate(steps):
            if step.kind == FORWARD:
                held[step.stage // ranks] += 1
                now = HeldMoment(at, tuple(held))
                if at + 1 < len(steps) and steps[at + 1].kind == FORWARD:
                    continue  # the next pass holds more
                if now.held in seen:
                    continue
                seen.add(now.held)
                if not any(_covers(each.held, now.held) for each in most):
                    most = [each for each in most if not _covers(now.held, each.held)] + [now]
            elif step.kind == frees:
                held[step.stage // ranks] -= 1
        moments.append(tuple(most))
    return tuple(moments)


def _covers(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    return all(a >= b for a, b in zip(one, two, strict=True))


def peak_memory(model: Transformer, shape: JobShape) -> RankMemory:
    """Return the memory of the pipeline rank that needs most; of equals the first."""
    return max(rank_memories(model, shape), key=lambda each: each.peak_bytes)


def _stays(
    shape: JobShape, parameters: Sequence[tuple[float, float]]
) -> tuple[float, float, float]:
    """Bytes of weights, gradients and the optimizer's state on a rank of these virtual stages."""
    weights = gradients = optimizer = 0.0
    for dense, experts in parameters:
        shared = dense / shape.sharing + experts / max(1, shape.sharing // shape.ep)
        whole = dense + experts
        is_shared = {"none": 0, "optimizer": 1, "gradients": 2, "parameters": 3}[shape.sharding]
        weights += ELEMENT * (shared if is_shared == 3 else whole)  # noqa: PLR2004 - ZeRO's stage
        gradients += shape.gradient_bytes * (shared if is_shared > 1 else whole)
        optimizer += OPTIMIZER_BYTES * (shared if is_shared else whole)
    return weights, gradients, optimizer


def activation_bytes(model: Transformer, shape: JobShape) -> list[float]:
    """Return what a micro-batch's forward pass of each virtual stage leaves [bytes].

    Of each layer: the inputs of both norms and what they give, queries, keys, values, what the
    projection reads, and the feed-forward block's inside; without flash attention its scores three
    times. With full recomputation the layer's input alone is left. Most stages are alike, and are
    looked at once.
    """
    model = model.split(shape.tp)
    tokens = shape.micro_batch * model.sequence / shape.cp
    whole = 1 / (shape.tp if shape.sequence_parallel else 1)
    counts = shape.stage_layers(model.layers)
    residual = tokens * ELEMENT * model.hidden * whole
    if shape.recomputation == "full":
        return [count * residual for count in counts]
    found: dict[tuple[int, int], float] = {}
    kept = []
    for first, count in zip(shape.firsts(model.layers), counts, strict=True):
        kind = count, model.dense_among(first, count)
        if kind not in found:
            found[kind] = sum(
                number * _layer_bytes(block, shape, tokens, whole)
                for block, number in model.layer_counts(first, count)
            )
        kept.append(found[kind])
    for stage in shape.last_stages:
        kept[stage] += 2 * residual  # what the last norm and the head read
    return kept


def _layer_bytes(model: Transformer, shape: JobShape, tokens: float, whole: float) -> float:
    residual = 4 * model.hidden * whole
    split = 2 * model.query_width + 2 * model.key_width
    if model.experts:
        split += model.top_k * (2 * model.hidden + model.matrices * model.feed_forward)
        split += model.matrices * model.shared_feed_forward
    else:
        split += model.matrices * model.feed_forward
    kept = ELEMENT * tokens * (residual + split / shape.tp)
    if not shape.flash_attention and shape.recomputation == "none":
        kept += 2.5 * ELEMENT * tokens * model.sequence * model.heads / shape.tp
    return kept


def _buffers(model: Transformer, shape: JobShape, rank: int, first: float) -> float:
    """Bytes that a rank's backward pass needs besides: the most of head, layer and embedding.

    When a layer is computed again the logits are gone; when the embedding's gradient is made, in 16
    bit, so are the ``first`` bytes that the first stage held of the micro-batch.
    """
    model = model.split(shape.tp)
    tokens = shape.micro_batch * model.sequence / shape.cp
    is_first, is_last = _has_ends(shape, rank)
    passes = [_layer_buffers(block, shape, tokens) for block in _blocks(model, shape, rank)]
    if is_last:
        passes.append(_head_buffers(model, shape, tokens))
    embedding = ELEMENT * model.embedding_parameters / shape.tp
    if shape.sharding != "parameters":
        if is_first:
            passes.append(embedding - first)
        return max(passes) + _stand_ins(model, shape, rank)
    layer = (model.dense_weights + model.expert_weights / shape.ep) / shape.tp
    gathered = (2 * ELEMENT + shape.gradient_bytes) * layer
    if is_first or is_last:  # the embedding or the head, and its gradients
        gathered += embedding * (1 + shape.gradient_bytes / ELEMENT)
    return max(passes) + gathered


def _has_ends(shape: JobShape, rank: int) -> tuple[bool, bool]:
    """Whether a rank has the embedding, and whether it has the head."""
    if shape.ways > 1:
        return rank in (0, shape.pp - 1), rank in (0, shape.pp - 1)
    return rank == 0, rank == shape.ranks[-1]


def _blocks(model: Transformer, shape: JobShape, rank: int) -> list[Transformer]:
    """Kinds of layers on a rank."""
    counts, firsts = shape.stage_layers(model.layers), shape.firsts(model.layers)
    found: list[Transformer] = []
    for k in shape.stages_of(rank):
        for block, count in model.layer_counts(firsts[k], counts[k]):
            if count and block not in found:
                found.append(block)
    return found or [model]


def _head_buffers(model: Transformer, shape: JobShape, tokens: float) -> float:
    """Logits with their gradient, the gradient of the head's input, and the input if gathered."""
    inputs = 2 if shape.sequence_parallel and shape.tp > 1 else 1
    logits = _LOGIT_BYTES * tokens * model.vocabulary / shape.tp
    return logits + inputs * ELEMENT * tokens * model.hidden


def _layer_buffers(model: Transformer, shape: JobShape, tokens: float) -> float:
    """Gradients about the activation function, the layer's own, and what is computed again.

    The gradient of what the function reads is made while what it gave is freed: it reads one
    matrix's outputs, or two.
    """
    whole = 1 / (shape.tp if shape.sequence_parallel else 1)
    width = model.feed_forward * max(1, model.top_k)
    made = ELEMENT * tokens * (model.hidden * whole + (model.matrices - 1) * width / shape.tp)
    if shape.recomputation == "full":
        made += _layer_bytes(model, shape, tokens, whole)
    return made


def _stand_ins(model: Transformer, shape: JobShape, rank: int) -> float:
    """Bytes of a stand-in, in 16 bit, for the gradient of each size of matrix on a rank.

    The embedding has none: its gradient is made, and added.
    """
    sizes: set[tuple[float, float]] = set()
    for block in _blocks(model, shape, rank):
        if block.attention_parameters is None:
            sizes.add(((block.query_width + 2 * block.key_width) / shape.tp, block.hidden))
            sizes.add((block.hidden, block.query_width / shape.tp))
        else:  # matrices of many sizes, of which no two are alike
            sizes.add((block.attention_parameters / shape.tp / block.hidden, block.hidden))
        for width in {block.feed_forward, block.shared_feed_forward} - {0}:
            sizes.add(((block.matrices - 1) * width / shape.tp, block.hidden))
            sizes.add((block.hidden, width / shape.tp))
    if _has_ends(shape, rank)[1]:
        sizes.add((model.vocabulary / shape.tp, model.hidden))
    return ELEMENT * sum(rows * columns for rows, columns in sorted(sizes))
