"""The layer lists of the testbed: shapes of published models, made small enough for its network."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from solver.models.layers import Layer
from solver.models.steps import ForwardStep, linear
from solver.models.vision import resnet, vgg

#: Bytes of a parameter.
ELEMENT = 4


@dataclass(frozen=True)
class Shape:
    """A model without its time.

    Attributes
    ----------
    steps
        Its layers in forward order.
    scale
        Share of the published model's parameters that it has.
    """

    steps: tuple[ForwardStep, ...]
    scale: float

    @property
    def bytes(self) -> int:
        """Size of all gradients [bytes]."""
        return ELEMENT * _parameters(self.steps)


def gpt2() -> Iterator[ForwardStep]:
    """GPT-2 of 124,439,808 parameters in 148 tensors; the head shares the embedding's weight."""
    width, tokens, vocabulary, depth = 768, 1024, 50257, 12
    embedding = (("tokens", vocabulary * width), ("positions", tokens * width))
    yield ForwardStep("embed", float(tokens * width), embedding)
    for i in range(depth):
        block = f"block{i}"
        yield _norm(f"{block}.norm1", width, tokens)
        yield linear(f"{block}.qkv", width, 3 * width, tokens, bias=True)
        yield ForwardStep(f"{block}.scores", 4.0 * tokens**2 * width)
        yield linear(f"{block}.out", width, width, tokens, bias=True)
        yield _norm(f"{block}.norm2", width, tokens)
        yield linear(f"{block}.up", width, 4 * width, tokens, bias=True)
        yield linear(f"{block}.down", 4 * width, width, tokens, bias=True)
    yield _norm("norm", width, tokens)
    yield ForwardStep("head", 2.0 * width * vocabulary * tokens)


#: The models by name, each a list of layers; add one here.
MODELS: dict[str, Callable[[], Iterator[ForwardStep]]] = {
    "resnet50": lambda: resnet(50),
    "vgg16": lambda: vgg(16),
    "gpt2": gpt2,
}


def shrunk(model: str, size: int) -> Shape:
    """Shrink every tensor of a model alike, so that all gradients together have ``size`` bytes.

    No tensor has less than one element, so a little more than ``size`` may come out.
    """
    steps = tuple(MODELS[model]())
    scale = size / ELEMENT / _parameters(steps)
    return Shape(
        tuple(
            ForwardStep(
                step.name,
                step.flops,
                tuple((name, max(1, round(count * scale))) for name, count in step.parameters),
            )
            for step in steps
        ),
        scale,
    )


def timed(shape: Shape, compute_us: float) -> tuple[Layer, ...]:
    """Give each layer its share of an iteration's compute time [us]: twice as much backward."""
    flops = sum(step.flops for step in shape.steps)
    return tuple(
        Layer(
            step.name,
            compute_us / 3 * step.flops / flops,
            compute_us * 2 / 3 * step.flops / flops,
            tuple((f"{step.name}.{name}", count * ELEMENT) for name, count in step.parameters),
        )
        for step in shape.steps
    )


def _parameters(steps: Sequence[ForwardStep]) -> int:
    return sum(count for step in steps for _, count in step.parameters)


def _norm(name: str, width: int, tokens: int) -> ForwardStep:
    return ForwardStep(name, 4.0 * width * tokens, (("weight", width), ("bias", width)))
