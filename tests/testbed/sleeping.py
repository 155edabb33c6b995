"""Modules that compute nothing and take the time that a layer takes.

A worker that sleeps leaves its cores to the network, as one does that computes on a GPU, and its
time is known. Gradients and updates are real: each layer's gradients are filled when its backward
pass ends, with values whose average every runtime must find, bit for bit.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from solver.models.layers import Layer
from tests.testbed.layers import ELEMENT


class Rest:
    """Sleeps whose sum is what was asked for: what one oversleeps, the next ones sleep less.

    Attributes
    ----------
    late_us
        By how much each sleep was too long [us].
    """

    def __init__(self) -> None:
        self._owed_us = 0.0
        self.late_us: list[float] = []

    def sleep(self, duration_us: float) -> None:
        """Sleep so long [us], less what was overslept before."""
        asked = duration_us - self._owed_us
        if asked <= 0:
            self._owed_us = -asked
            return
        begin = time.perf_counter()
        time.sleep(asked / 1e6)
        self._owed_us = (time.perf_counter() - begin) * 1e6 - asked
        self.late_us.append(self._owed_us)


class _Pass(torch.autograd.Function):
    """Takes a layer's time, and leaves gradients."""

    @staticmethod
    def forward(ctx: Any, signal: torch.Tensor, layer: Any, *weights: torch.Tensor) -> torch.Tensor:
        ctx.layer = layer
        layer.rest.sleep(layer.forward_us)
        return signal.clone()

    @staticmethod
    def backward(ctx: Any, signal: torch.Tensor) -> Any:
        layer = ctx.layer
        layer.rest.sleep(layer.backward_us)
        gradients = (
            torch.full((count,), layer.value * (1 + place % 7))
            for place, count in enumerate(layer.counts, layer.first)
        )
        return signal, None, *gradients


class SleepingLayer(nn.Module):
    """A layer of so many parameters that takes so long.

    Parameters
    ----------
    layer
        Its times, and the gradients that become its parameters.
    first
        How many parameters the layers before it have.
    value
        The gradient of the model's first parameter; the next ones have multiples of it.
    rest
        What it sleeps by.
    """

    def __init__(self, layer: Layer, first: int, value: float, rest: Rest) -> None:
        super().__init__()
        self.forward_us, self.backward_us = layer.forward_us, layer.backward_us
        self.first, self.value, self.rest = first, value, rest
        self.counts = [size // ELEMENT for _, size in layer.gradients]
        for (name, _), count in zip(layer.gradients, self.counts, strict=True):
            self.register_parameter(name.rpartition(".")[2], nn.Parameter(torch.zeros(count)))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        """Take the time of the forward pass; nothing becomes of the signal."""
        weights = tuple(self.parameters())
        for weight in weights:
            weight.detach()  # a capture sees who uses it by functions; apply is none
        return _Pass.apply(signal, self, *weights)


def sleeping(layers: Sequence[Layer], rank: int, rest: Rest) -> nn.Module:
    """Make a model of layers in forward order; a worker's gradients depend on its rank."""
    modules: OrderedDict[str, nn.Module] = OrderedDict()
    first = 0
    for layer in layers:
        modules[layer.name.replace(".", "_")] = SleepingLayer(layer, first, rank + 1.0, rest)
        first += len(layer.gradients)
    return nn.Sequential(modules)
