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

#: Bytes of a logit while the loss is computed: in 16 bit, in 32 bit, and its gradient.
_LOGIT_BYTES = 8


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
        Logits, gathered parameters and what a recomputed layer needs, at the peak.
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
    how many are held at once is counted along the rank's order. The allocator's fragments, and
    what libraries hold for themselves, are not counted.

    References
    ----------
    .. [1] V. Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models,
           MLSys 2023, equations 1 to 6, without dropout's masks.
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
                _buffers(model, shape, rank),
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
    kept[-1] += 2 * residual  # what the last norm and the head read
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


def _buffers(model: Transformer, shape: JobShape, rank: int) -> float:
    """Bytes that a pass needs for itself: logits, gathered layers, a layer computed again."""
    model = model.split(shape.tp)
    tokens = shape.micro_batch * model.sequence / shape.cp
    buffers = 0.0
    if rank == shape.ranks[-1]:
        buffers += _LOGIT_BYTES * tokens * model.vocabulary / shape.tp
    if shape.sharding == "parameters":
        layer = (model.dense_weights + model.expert_weights / shape.ep) / shape.tp
        buffers += 2 * ELEMENT * layer + shape.gradient_bytes * layer
        if rank in (0, shape.ranks[-1]):  # the embedding or the head, and its gradients
            end = model.embedding_parameters / shape.tp
            buffers += (ELEMENT + shape.gradient_bytes) * end
    if shape.recomputation == "full":
        whole = 1 / (shape.tp if shape.sequence_parallel else 1)
        buffers += _layer_bytes(model, shape, tokens, whole)
    return buffers
