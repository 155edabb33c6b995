"""Ten small models of the kinds that people train, each with the loss of a batch."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import nn
from torch.nn import functional

from interlace_client.torch.proof.networks import Tied, of_convolutions, of_linears
from interlace_client.torch.proof.pair import Loss, Make, of_image, square
from interlace_client.torch.proof.site import DrawnBatch


class ResidualBlocks(nn.Module):
    """Convolutions whose input is added to their output."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
            for _ in range(3)
        )

    def forward(self, images: torch.Tensor) -> Any:
        """Add each block's output up."""
        hidden = self.stem(images)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return hidden


class Decoder(nn.Module):
    """A causal Transformer whose output layer is its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words: torch.Tensor) -> Any:
        """Return the loss of the words themselves."""
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1], device=words.device)
        hidden = self.layers(self.embedding(words), mask=mask, is_causal=True)
        return functional.cross_entropy(self.head(hidden).flatten(0, 1), words.flatten())


class Recurrent(nn.Module):
    """A recurrent layer of a kind, and what reads its last state."""

    def __init__(self, kind: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.layers = kind(16, 16, 2)
        self.head = nn.Linear(16, 4)

    def forward(self, rows: torch.Tensor) -> Any:
        """Read the rows one after another."""
        hidden, _ = self.layers(rows.unsqueeze(1))
        return self.head(hidden[-1])


class Experts(nn.Module):
    """Experts of which each row takes the one with the highest score, and is scaled by it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(4))

    def forward(self, rows: torch.Tensor) -> Any:
        """Send rows to experts; all of them run, so that each has a gradient."""
        share, chosen = self.gate(rows).softmax(-1).max(-1)
        outputs = torch.stack([expert(rows) for expert in self.experts])
        picked = functional.one_hot(chosen, 4).T.unsqueeze(-1)
        return (outputs * picked).sum(0) * share.unsqueeze(-1)


def _autoencoder() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1),
    )


def _attention() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _of_rows(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    return model(sample.normal(2, 4, 16)).square().mean()


def _of_words(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    return model(sample.words(2, 7))


#: By name.
MODELS: dict[str, tuple[Make, Loss]] = {
    "perceptron": (of_linears, square),
    "convolutions": (of_convolutions, of_image),
    "residual": (ResidualBlocks, of_image),
    "channels_last": (lambda: ResidualBlocks().to(memory_format=torch.channels_last), of_image),
    "autoencoder": (_autoencoder, of_image),
    "encoder": (_attention, _of_rows),
    "decoder": (Decoder, _of_words),
    "tied": (Tied, lambda model, sample: model(sample.words(6))),
    "lstm": (lambda: Recurrent(nn.LSTM), square),
    "experts": (Experts, square),
}
