"""Inception-v3 for images of 299 x 299, a step for each of its modules."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from solver.models.steps import ForwardStep, linear


class Convolution(NamedTuple):
    """Channels in and out, pixels of the kernel and of the output; normalised after it."""

    inputs: int
    outputs: int
    kernel: int
    pixels: int


def inception_v3() -> Iterator[ForwardStep]:
    """Yield modules without the auxiliary head: 23,817,352 parameters with shifts alone.

    A normalisation has a shift a channel and no scale, as in the published model; 94 convolutions.

    References
    ----------
    .. [1] C. Szegedy et al., Rethinking the Inception Architecture for Computer Vision, 2016.
    """
    for i, each in enumerate(
        (
            Convolution(3, 32, 9, 149**2),
            Convolution(32, 32, 9, 147**2),
            Convolution(32, 64, 9, 147**2),
            Convolution(64, 80, 1, 73**2),
            Convolution(80, 192, 9, 71**2),
        )
    ):
        yield _module(f"conv{i}", [each])
    for i, (inputs, pooled) in enumerate(((192, 32), (256, 64), (288, 64))):
        p = 35**2
        yield _module(
            f"a{i}",
            [
                Convolution(inputs, 64, 1, p),
                *_chain(p, (inputs, 48, 1), (48, 64, 25)),
                *_chain(p, (inputs, 64, 1), (64, 96, 9), (96, 96, 9)),
                Convolution(inputs, pooled, 1, p),
            ],
        )
    yield _module(
        "b",
        [
            Convolution(288, 384, 9, 17**2),
            *_chain(35**2, (288, 64, 1), (64, 96, 9)),
            Convolution(96, 96, 9, 17**2),
        ],
    )
    for i, c in enumerate((128, 160, 160, 192)):
        p = 17**2
        yield _module(
            f"c{i}",
            [
                Convolution(768, 192, 1, p),
                *_chain(p, (768, c, 1), (c, c, 7), (c, 192, 7)),
                *_chain(p, (768, c, 1), (c, c, 7), (c, c, 7), (c, c, 7), (c, 192, 7)),
                Convolution(768, 192, 1, p),
            ],
        )
    p = 17**2
    yield _module(
        "d",
        [
            Convolution(768, 192, 1, p),
            Convolution(192, 320, 9, 8**2),
            *_chain(p, (768, 192, 1), (192, 192, 7), (192, 192, 7)),
            Convolution(192, 192, 9, 8**2),
        ],
    )
    for i, inputs in enumerate((1280, 2048)):
        p = 8**2
        yield _module(
            f"e{i}",
            [
                Convolution(inputs, 320, 1, p),
                *_chain(p, (inputs, 384, 1), (384, 384, 3), (384, 384, 3)),
                *_chain(p, (inputs, 448, 1), (448, 384, 9), (384, 384, 3), (384, 384, 3)),
                Convolution(inputs, 192, 1, p),
            ],
        )
    yield linear("fc", 2048, 1000, bias=True)


def _chain(pixels: int, *layers: tuple[int, int, int]) -> list[Convolution]:
    return [Convolution(*layer, pixels) for layer in layers]


def _module(name: str, convolutions: Sequence[Convolution]) -> ForwardStep:
    """Join convolutions that are computed beside one another."""
    flops = sum(2.0 * c.inputs * c.outputs * c.kernel * c.pixels for c in convolutions)
    weights = [(f"weight{i}", c.inputs * c.outputs * c.kernel) for i, c in enumerate(convolutions)]
    shifts = [(f"shift{i}", c.outputs) for i, c in enumerate(convolutions)]
    return ForwardStep(name, flops, (*weights, *shifts))
