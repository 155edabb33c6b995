"""Steps of a forward pass: FLOPs and parameters, before a worker's speed makes them layers."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.graph import Graph
from solver.models.layers import Layer, iteration

#: Sustained FLOP/us of a worker in 32-bit (7 TFLOP/s) and in 16-bit (150 TFLOP/s).
SINGLE, HALF = 7e6, 150e6


@dataclass(frozen=True, slots=True)
class ForwardStep:
    """A layer's forward pass before its time is known.

    Attributes
    ----------
    name
        Unique in the model.
    flops
        FLOPs of one sample in the forward pass.
    parameters
        Name and number of parameters of each tensor.
    """

    name: str
    flops: float
    parameters: tuple[tuple[str, int], ...] = ()


def layers_of(
    steps: Sequence[ForwardStep], batch: int, flops_per_us: float, bytes_per_parameter: int
) -> list[Layer]:
    """Give each step its time on a worker of this sustained speed [FLOP/us], and its bytes."""
    return [
        Layer(
            step.name,
            step.flops * batch / flops_per_us,
            2 * step.flops * batch / flops_per_us,
            tuple(
                (f"{step.name}.{parameter}", count * bytes_per_parameter)
                for parameter, count in step.parameters
            ),
        )
        for step in steps
    ]


def graph_of(
    name: str,
    steps: Sequence[ForwardStep],
    batch: int,
    flops_per_us: float,
    bytes_per_parameter: int,
) -> Graph:
    """Build one iteration of steps given in forward order."""
    return iteration(name, layers_of(steps, batch, flops_per_us, bytes_per_parameter))


def linear(
    name: str, inputs: int, outputs: int, tokens: int = 1, *, bias: bool = False
) -> ForwardStep:
    """Matrix product of each token's ``inputs`` with the weight."""
    biases = (("bias", outputs),) if bias else ()
    return ForwardStep(
        name, 2.0 * inputs * outputs * tokens, (("weight", inputs * outputs), *biases)
    )


def convolution(
    name: str, inputs: int, outputs: int, kernel: int, pixels: int, *, bias: bool = False
) -> ForwardStep:
    """Square kernel between channels, at so many pixels of the output."""
    weight = inputs * outputs * kernel**2
    biases = (("bias", outputs),) if bias else ()
    return ForwardStep(name, 2.0 * weight * pixels, (("weight", weight), *biases))


def batch_norm(name: str, channels: int, pixels: int) -> ForwardStep:
    """Batch normalisation of the channels."""
    return ForwardStep(name, 4.0 * channels * pixels, (("weight", channels), ("bias", channels)))
