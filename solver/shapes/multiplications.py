"""Times of a layer's matrix multiplications: at the GPU's rate, or as kernels were measured."""

from collections.abc import Iterator
from dataclasses import dataclass

from solver.shapes.efficiency import ASSUMED, Efficiencies
from solver.shapes.hardware import Accelerator
from solver.shapes.job_shape import BY_HEADS, JobShape
from solver.shapes.kernels import (
    GRADIENTS,
    MATMULS,
    OUTPUTS,
    MeasuredKernels,
    attention_share,
    matmul_share,
)
from solver.shapes.transformer import Transformer

#: Operations of the gradients of attention, whose scores are computed again, over its own.
_BACKWARD_ATTENTION = 2.5


@dataclass(frozen=True, slots=True)
class MultiplicationTimes:
    """Times of a layer's multiplications on one rank [us].

    Attributes
    ----------
    outputs_us, inputs_us, weights_us
        Of weights: the forward pass, the gradients of inputs, those of weights.
    attend_us, attend_back_us
        Of attention: the forward pass and the backward pass.
    """

    outputs_us: float
    inputs_us: float
    weights_us: float
    attend_us: float
    attend_back_us: float


@dataclass(frozen=True, slots=True)
class _Matmul:
    """Multiplications of one size by weights, ``groups`` at once; operations of a forward pass."""

    tokens: float
    inputs: float
    outputs: float
    groups: float = 1.0

    @property
    def operations(self) -> float:
        return 2 * self.tokens * self.inputs * self.outputs * self.groups


def multiplication_times(
    model: Transformer, gpu: Accelerator, shape: JobShape, known: Efficiencies, tokens: float
) -> MultiplicationTimes:
    """Return the times of the multiplications of a layer for so many tokens on a rank.

    They run at ``matmul`` of the GPU's rate, backward twice as many. With kernels of the shape's
    precision each size has its measured share of the rate, times ``matmul`` over what is assumed.
    """
    dense, attention = _operations(model, shape, tokens)
    rate = gpu.flops_per_us(shape.precision) * known.matmul
    kernels = kernels_of(gpu, shape)
    outputs = inputs = weights = dense / rate
    attend = attention / rate
    attend_back = 2 * attend
    if kernels is None:
        return MultiplicationTimes(outputs, inputs, weights, attend, attend_back)
    rate /= ASSUMED.matmul
    matmuls = list(_matmuls(model, shape, tokens))
    outputs, inputs, weights = (
        sum(_matmul_us(kernels, computes, matmul, rate) for matmul in matmuls)
        for computes in MATMULS
    )
    if kernels.attention and shape.flash_attention:
        sequence, heads, kv_heads = _attention_size(model, shape)
        share = attention_share(kernels, OUTPUTS, sequence, heads, kv_heads)
        back_share = attention_share(kernels, GRADIENTS, sequence, heads, kv_heads)
        attend = attention / (rate * share)
        attend_back = _BACKWARD_ATTENTION * attention / (rate * back_share)
    return MultiplicationTimes(outputs, inputs, weights, attend, attend_back)


def head_times(
    model: Transformer, gpu: Accelerator, shape: JobShape, known: Efficiencies, tokens: float
) -> tuple[float, float]:
    """Return the times of the head's multiplications, forward and backward [us]."""
    matmul = _Matmul(tokens, model.hidden, model.vocabulary / shape.tp)
    rate = gpu.flops_per_us("bf16") * known.matmul
    kernels = gpu.kernels
    if kernels is None or kernels.precision != "bf16":
        return matmul.operations / rate, 2 * matmul.operations / rate
    forward, *backward = (
        _matmul_us(kernels, computes, matmul, rate / ASSUMED.matmul) for computes in MATMULS
    )
    return forward, sum(backward)


def kernels_of(gpu: Accelerator, shape: JobShape) -> MeasuredKernels | None:
    """Return the kernels that a shape's multiplications run as; None where none were measured."""
    kernels = gpu.kernels
    return kernels if kernels is not None and kernels.precision == shape.precision else None


def _matmul_us(kernels: MeasuredKernels, computes: str, matmul: _Matmul, rate: float) -> float:
    share = matmul_share(
        kernels, computes, matmul.tokens, matmul.inputs, matmul.outputs, matmul.groups
    )
    return matmul.operations / (rate * share)


def _operations(model: Transformer, shape: JobShape, tokens: float) -> tuple[float, float]:
    """Operations of a forward pass on one rank: of weights, and of attention."""
    routed = model.active_weights - model.dense_weights
    dense = 2 * tokens * (model.dense_weights + routed * shape.expert_imbalance) / shape.tp
    causal = 2 if shape.flash_attention else 1
    return dense, 4 * tokens * model.sequence * model.query_width / shape.tp / causal


def _matmuls(model: Transformer, shape: JobShape, tokens: float) -> Iterator[_Matmul]:
    """Yield the multiplications by weights of a layer on one rank.

    Of attention whose weights are told as a sum, one multiplication of so many weights.
    """
    hidden, query = model.hidden, model.query_width / shape.tp
    if model.attention_parameters is not None:
        yield _Matmul(tokens, hidden, model.attention_parameters / hidden / shape.tp)
    else:
        yield _Matmul(tokens, hidden, query + 2 * model.key_width / shape.tp)
        yield _Matmul(tokens, query, hidden)
    into = model.matrices - 1  # of which one multiplies: gate and up are one kernel
    wide = (model.shared_feed_forward if model.experts else model.feed_forward) / shape.tp
    if wide:
        yield _Matmul(tokens, hidden, into * wide)
        yield _Matmul(tokens, wide, hidden)
    if model.experts:
        yield _Matmul(tokens, hidden, model.experts / shape.tp)
        groups, wide = model.experts / shape.ep, model.feed_forward / shape.tp
        each = tokens * model.top_k * shape.expert_imbalance / groups
        yield _Matmul(each, hidden, into * wide, groups)
        yield _Matmul(each, wide, hidden, groups)


def _attention_size(model: Transformer, shape: JobShape) -> tuple[float, float, float]:
    """Return the sequence, heads and key heads that a rank's attention kernels see."""
    kv_heads = model.kv_heads or model.heads
    heads = shape.micro_batch / shape.tp
    if shape.context == BY_HEADS:
        heads /= shape.cp
        return model.sequence, model.heads * heads, kv_heads * heads
    return model.sequence / shape.cp, model.heads * heads, kv_heads * heads
