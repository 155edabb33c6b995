"""Small networks that the loops train."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


def of_linears(width: int = 16) -> nn.Module:
    """Make four layers."""
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(4)))


def of_convolutions() -> nn.Module:
    """Make two convolutions with buffers."""
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4)
    )


class Tied(nn.Module):
    """A language model whose output layer is its embedding, and a layer that runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layer = nn.Linear(8, 8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        hidden = self.layer(torch.tanh(self.layer(self.embedding(words))))
        return functional.cross_entropy(self.head(hidden), words)


class Branches(nn.Module):
    """A first layer, one of two branches, and a layer that is never used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.a, self.b, self.never = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, batch: torch.Tensor, branch: str) -> torch.Tensor:
        """Go through a branch: a, b or none."""
        branches = {"a": self.a, "b": self.b, "no": nn.Identity()}
        return branches[branch](self.first(batch))


class Bypassing(nn.Module):
    """Uses of parameters that do not go through the forward pass of their own modules."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, dropout=0.0)
        self.recurrent = nn.LSTM(16, 16)
        self.listed = nn.ParameterList([nn.Parameter(torch.randn(16)) for _ in range(2)])
        self.inner = nn.Linear(16, 16)
        self.seldom = nn.Linear(16, 16)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(16, 16))
        self.later = nn.Linear(16, 16)
        self.held = {"out of sight": [self.later.weight, self.later.bias]}

    def forward(self, batch: torch.Tensor, step: int) -> Any:
        """Use all in all ways; some in some steps only."""
        hidden = batch.unsqueeze(1) * self.listed[0]
        hidden, _ = self.attention(hidden, hidden, hidden)
        hidden, _ = self.recurrent(hidden)
        hidden = self.normed(hidden) * self.listed[1]
        others = {name: 2 * p for name, p in self.inner.named_parameters()}
        hidden = torch.func.functional_call(self.inner, others, (hidden,))
        weight, bias = HELD[id(self)] if step % 3 == 1 else self.held["out of sight"]
        hidden = functional.linear(hidden, weight, bias)
        return self.seldom(hidden) if step % 2 else hidden


class Checkpointed(nn.Module):
    """Layers whose activations are computed again in the backward pass."""

    def __init__(self, *, use_reentrant: bool) -> None:
        super().__init__()
        self.layers = of_linears()
        self.use_reentrant = use_reentrant

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Go through all layers."""
        hidden = batch.requires_grad_()
        for layer in self.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=self.use_reentrant)
        return hidden


#: Parameters of networks by the ids of these, where no module has them.
HELD: dict[int, list[nn.Parameter]] = {}


class SumOfTypes(nn.Module):
    """Layers of several types of numbers."""

    def __init__(self) -> None:
        super().__init__()
        layers = [nn.Linear(8, 8), nn.Linear(8, 8).double(), nn.Linear(8, 8).bfloat16()]
        self.layers = nn.ModuleList(layers)

    def forward(self, batch: torch.Tensor) -> Any:
        """Add all up."""
        outputs = (layer(batch.to(layer.weight.dtype)) for layer in self.layers)
        return sum(each.float().square().mean() for each in outputs)
