"""Times and bytes as models have them: most near the middle, some much larger."""

import math
import random
from collections.abc import Sequence

from solver.graph import COMPUTE, Op
from solver.models.layers import Layer

#: Forward pass of a layer in the middle [us], and how many times as long its backward pass takes.
FORWARD_US, BACKWARD = 2000.0, 2.0
#: The optimizer's step at the end [us].
STEP_US = 500.0
#: Gradients of a layer in the middle [bytes], and activations that are exchanged.
GRADIENT_BYTES, ACTIVATION_BYTES = 40_000_000, 30_000_000
GPU = "gpu"


def time_near(generator: random.Random, middle: float, spread: float) -> float:
    """Draw a time [us], lognormal around the middle, in nanoseconds."""
    return round(middle * math.exp(generator.gauss(0.0, spread)), 3)


def bytes_near(generator: random.Random, middle: int, spread: float) -> int:
    """Draw a size [bytes], lognormal around the middle, at least 1."""
    return max(1, round(middle * math.exp(generator.gauss(0.0, spread))))


def layers(generator: random.Random, count: int, *, even: bool = False) -> list[Layer]:
    """Draw layers in forward order, a gradient each; even ones are equal but for their times."""
    drawn = []
    for i in range(count):
        forward = time_near(generator, FORWARD_US, 0.05 if even else 0.3)
        size = GRADIENT_BYTES if even else bytes_near(generator, GRADIENT_BYTES, 0.9)
        drawn.append(Layer(f"{i}", forward, BACKWARD * forward, ((f"{i}", size),)))
    return drawn


def compute(name: str, time: float, *after: str, stream: str | None = GPU) -> Op:
    return Op(name, COMPUTE, time, None, after, stream=stream)


def collective(name: str, kind: str, size: int, *after: str, channel: str = "network") -> Op:
    return Op(name, kind, None, size, after, channel)


def step(after: Sequence[str], stream: str = GPU) -> Op:
    """The optimizer's step, behind all gradients."""
    return compute(f"step:{stream}", STEP_US, *after, stream=stream)
