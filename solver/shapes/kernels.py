"""Kernels that were measured: what share of the GPU's rate sizes of multiplications reach."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from solver.codes import FaultCode
from solver.errors import Fault
from solver.units import FloatArray

#: What a multiplication of weights computes.
OUTPUTS, INPUT_GRADIENTS, WEIGHT_GRADIENTS = "outputs", "input_gradients", "weight_gradients"
MATMULS: Final = (OUTPUTS, INPUT_GRADIENTS, WEIGHT_GRADIENTS)

#: What attention computes: outputs, or gradients of queries, keys and values.
GRADIENTS = "gradients"
ATTENTIONS: Final = (OUTPUTS, GRADIENTS)

#: A kernel that is faster than this was not measured, or against another rate.
MOST_SHARE: Final = 1.05

#: Measured sizes that an unmeasured one is read from.
_NEAREST = 4


@dataclass(frozen=True, slots=True)
class MeasuredMatmul:
    """A multiplication of activations with weights.

    Attributes
    ----------
    computes
        One of :data:`MATMULS`.
    tokens, inputs, outputs
        Rows of the activations, and rows and columns of the weights, as in the forward pass.
    share
        Operations per second over the GPU's rate.
    groups
        Multiplications of this size at once, each by weights of its own: experts of a rank.
    """

    computes: str
    tokens: int
    inputs: int
    outputs: int
    share: float
    groups: int = 1


@dataclass(frozen=True, slots=True)
class MeasuredAttention:
    """Attention of one layer, whose scores are not written to memory.

    Attributes
    ----------
    computes
        One of :data:`ATTENTIONS`.
    sequence
        Tokens of a sequence.
    heads, kv_heads
        Heads of queries, and of keys and values, of all sequences of a micro-batch.
    share
        Operations that the mask leaves per second, over the GPU's rate. Gradients take 2.5 times
        those of outputs.
    """

    computes: str
    sequence: int
    heads: int
    kv_heads: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)  # a key of caches: thousands of sizes hash slowly
class MeasuredKernels:
    """What sizes of multiplications reach on a GPU.

    Attributes
    ----------
    matmuls
        Multiplications of weights, some of each of :data:`MATMULS`.
    attention
        Some of each of :data:`ATTENTIONS`, or none.
    precision
        The precision that they were measured at.
    """

    matmuls: tuple[MeasuredMatmul, ...]
    attention: tuple[MeasuredAttention, ...] = ()
    precision: str = "bf16"


def matmul_share(
    kernels: MeasuredKernels,
    computes: str,
    tokens: float,
    inputs: float,
    outputs: float,
    groups: float = 1.0,
) -> float:
    r"""Return what share of the GPU's rate a multiplication reaches.

    A size that was measured has its own share, a mean of several. Another has the geometric mean of
    the four nearest, each weighed by :math:`1 / d^2`, where d is the distance of the logarithms of
    tokens, inputs, outputs and groups.
    """
    return _share(_matmuls_of(kernels, computes), (tokens, inputs, outputs, groups))


def attention_share(
    kernels: MeasuredKernels, computes: str, sequence: float, heads: float, kv_heads: float
) -> float:
    """Return what share of the GPU's rate attention reaches, as :func:`matmul_share` does."""
    return _share(_attention_of(kernels, computes), (sequence, heads, kv_heads))


@lru_cache(maxsize=64)
def _matmuls_of(kernels: MeasuredKernels, computes: str) -> "_Measured":
    return _measured(
        ((m.tokens, m.inputs, m.outputs, m.groups), m.share)
        for m in kernels.matmuls
        if m.computes == computes
    )


@lru_cache(maxsize=64)
def _attention_of(kernels: MeasuredKernels, computes: str) -> "_Measured":
    return _measured(
        ((a.sequence, a.heads, a.kv_heads), a.share)
        for a in kernels.attention
        if a.computes == computes
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """Logarithms of sizes, a row each, and of their shares."""

    sizes: FloatArray
    shares: FloatArray


def _measured(of_sizes: Iterable[tuple[tuple[int, ...], float]]) -> _Measured:
    shares: dict[tuple[int, ...], list[float]] = {}
    for size, share in of_sizes:
        shares.setdefault(size, []).append(share)
    means = [np.mean(np.log(some)) for some in shares.values()]
    return _Measured(np.log(list(shares), dtype=float), np.array(means))


@lru_cache(maxsize=65536)
def _share(measured: _Measured, size: tuple[float, ...]) -> float:
    squares = ((measured.sizes - np.log(size)) ** 2).sum(1)
    nearest = np.argsort(squares, kind="stable")[:_NEAREST]
    if squares[nearest[0]] < 1e-12:  # noqa: PLR2004 - the same size
        return float(np.exp(measured.shares[nearest[0]]))
    weights = 1 / squares[nearest]
    return float(np.exp(weights @ measured.shares[nearest] / weights.sum()))


def faults_of_kernels(kernels: MeasuredKernels, precisions: Iterable[str]) -> Iterator[Fault]:
    """Yield what is wrong with measured kernels of a GPU that has rates at these precisions."""
    named = tuple(precisions)
    if kernels.precision not in named:
        detail = f"Kernels: precision must be one of the GPU's, {', '.join(named)}."
        yield Fault("/precision", FaultCode.OUT_OF_RANGE, detail)
    sizes = [(m.tokens, m.inputs, m.outputs, m.groups) for m in kernels.matmuls]
    yield from _faults_of("matmuls", MATMULS, kernels.matmuls, sizes)
    if kernels.attention:
        sizes_of_attention = [(a.sequence, a.heads, a.kv_heads) for a in kernels.attention]
        yield from _faults_of("attention", ATTENTIONS, kernels.attention, sizes_of_attention)


def _faults_of(
    field: str,
    kinds: tuple[str, ...],
    measured: Sequence[MeasuredMatmul | MeasuredAttention],
    sizes: Sequence[tuple[int, ...]],
) -> Iterator[Fault]:
    """Yield what is wrong with the kernels of one field: some of each kind are needed."""
    for kind in kinds:
        if all(kernel.computes != kind for kernel in measured):
            detail = f"Kernels: {field} must have some that compute {kind}."
            yield Fault(f"/{field}", FaultCode.MISSING_FIELD, detail)
    for i, (kernel, size) in enumerate(zip(measured, sizes, strict=True)):
        if kernel.computes not in kinds:
            detail = f"Kernels: computes must be one of {', '.join(kinds)}; got {kernel.computes}."
            yield Fault(f"/{field}/{i}/computes", FaultCode.OUT_OF_RANGE, detail)
        if min(size) < 1:
            detail = f"Kernels: sizes must be at least 1, got {min(size)}."
            yield Fault(f"/{field}/{i}", FaultCode.OUT_OF_RANGE, detail)
        if not 0 < kernel.share <= MOST_SHARE:
            detail = (
                f"Kernels: share must be of the GPU's rate, above 0 and at most {MOST_SHARE:g}; "
                f"got {kernel.share:g}."
            )
            yield Fault(f"/{field}/{i}/share", FaultCode.OUT_OF_RANGE, detail)
