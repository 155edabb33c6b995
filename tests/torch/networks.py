"""Networks that several programs of workers train."""

import torch
from torch import nn


class Tied(nn.Module):
    """A language model whose output layer is its embedding, and a layer that runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layer = nn.Linear(8, 8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        hidden = self.layer(torch.tanh(self.layer(self.embedding(words))))
        return nn.functional.cross_entropy(self.head(hidden), words)


def words(step: int, rank: int) -> torch.Tensor:
    return torch.randint(0, 11, (6,), generator=torch.Generator().manual_seed(9 * step + rank))
