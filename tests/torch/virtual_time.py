"""Planned training on a clock of its own: what a plan takes when nothing takes real time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from interlace_client.torch import BucketPlan, PlannedDDP
from solver.models.layers import Layer

#: Of a number in a gradient [bytes].
ELEMENT = 4


class Clock:
    """The time [us]."""

    def __init__(self) -> None:
        self.now = 0.0

    def __deepcopy__(self, memo: Any) -> "Clock":
        """Be the clock of what is copied, too."""
        return self


@dataclass
class Channel:
    """A transport of one launch at a time, each for its cost; there is one rank."""

    clock: Clock
    cost: Callable[[int], float]
    free: float = 0.0
    launches: list[tuple[float, float, int]] = field(default_factory=list)

    def start(self, tensor: torch.Tensor) -> "Flight":
        size = tensor.numel() * tensor.element_size()
        begin = max(self.clock.now, self.free)
        self.free = begin + self.cost(size)
        self.launches.append((begin, self.free, size))
        return Flight(self.clock, self.free)

    def broadcast(self, tensor: torch.Tensor) -> "Flight":
        raise NotImplementedError  # of one rank


@dataclass
class Flight:
    """A launch that ends at a time; who waits for it is there then, or later."""

    clock: Clock
    end: float

    def wait(self) -> None:
        self.clock.now = max(self.clock.now, self.end)

    def is_completed(self) -> bool:
        return self.clock.now >= self.end


class _Taking(torch.autograd.Function):
    """Adds parameters up, in the time of a layer's passes."""

    @staticmethod
    def forward(ctx, hidden, clock, layer, *parameters):
        clock.now += layer.forward_us
        ctx.clock, ctx.layer, ctx.shapes = clock, layer, [p.shape for p in parameters]
        return hidden + sum(p.sum() for p in parameters)

    @staticmethod
    def backward(ctx, gradient):
        ctx.clock.now += ctx.layer.backward_us
        return gradient, None, None, *(gradient.expand(shape).clone() for shape in ctx.shapes)


class TimedLayer(nn.Module):
    """A layer whose passes take the clock's time and no other."""

    def __init__(self, clock: Clock, layer: Layer) -> None:
        super().__init__()
        self.clock, self.layer = clock, layer
        for name, size in layer.gradients:
            self.register_parameter(name, nn.Parameter(torch.zeros(size // ELEMENT)))

    def forward(self, hidden):
        parameters = [getattr(self, name) for name, _ in self.layer.gradients]
        return _Taking.apply(hidden, self.clock, self.layer, *parameters)


class TimedSGD(torch.optim.SGD):
    """An optimizer whose updates take the clock's time."""

    def __init__(
        self, parameters: Sequence[nn.Parameter], clock: Clock, times: Mapping[int, float]
    ) -> None:
        super().__init__(parameters, lr=0.1)
        self.clock, self.times = clock, times

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.clock.now += self.times.get(id(p), 0.0)  # copies take none
        return super().step(closure)


def step_times(
    layers: Sequence[Layer],
    updates: Mapping[str, float],
    plan: BucketPlan,
    cost: Callable[[int], float],
    *,
    barrier: bool,
    steps: int = 4,
) -> list[float]:
    """Train some steps, and say how long each took [us], from backward pass to backward pass.

    ``updates`` are the times of the parameters' updates [us], by the gradient's name.
    """
    clock = Clock()
    model = nn.Sequential(*(TimedLayer(clock, layer) for layer in layers))
    times = {id(p): updates[name.partition(".")[2]] for name, p in model.named_parameters()}
    optimizer = TimedSGD(list(model.parameters()), clock, times)
    channel = Channel(clock, cost)
    planned = PlannedDDP(model, optimizer, plan, barrier=barrier, transport=channel)
    starts = []
    loss = planned(torch.zeros((), requires_grad=True))
    for _ in range(steps + 1):
        starts.append(clock.now)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = planned(torch.zeros((), requires_grad=True))
    return [end - start for start, end in pairwise(starts)]
