"""What is trained: layer lists whose compute sleeps, and a small model that really computes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tests.testbed.layers import Shape, timed
from tests.testbed.sleeping import Rest, sleeping

#: Name of the model that computes.
REAL = "transformer"
#: Its size: tokens of a sample, samples of a worker, width, layers, words.
_TOKENS, _SAMPLES, _WIDTH, _DEPTH, _WORDS = 32, 8, 256, 4, 256


#: DistributedDataParallel's caps of the first and of the other buckets [MiB]; None for its own.
Caps = tuple[float, float] | None


@dataclass(frozen=True)
class Job:
    """What is trained.

    Attributes
    ----------
    model
        Makes it, the same each time.
    loss
        Calls a module on this worker's batch.
    optimizer
        Makes the optimizer of parameters.
    caps
        Its own are 1 and 25 MiB; a model that was made smaller has smaller ones.
    rest
        What its layers sleep by; None where they compute.
    """

    model: Callable[[], nn.Module]
    loss: Callable[[nn.Module], torch.Tensor]
    optimizer: Callable[[Any], torch.optim.Optimizer]
    caps: Caps = None
    rest: Rest | None = None


def sleeping_job(shape: Shape, compute_us: float, rank: int) -> Job:
    """Train a layer list that takes ``compute_us`` [us] without communication."""
    rest = Rest()
    layers = timed(shape, compute_us)
    return Job(
        model=lambda: sleeping(layers, rank, rest),
        loss=lambda module: module(torch.zeros(())),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=2.0**-10),
        caps=(shape.scale, 25 * shape.scale),
        rest=rest,
    )


def real_job(rank: int) -> Job:
    """Train a Transformer of 3.3 million parameters on a few words."""
    draw = torch.Generator().manual_seed(rank)
    words = torch.randint(_WORDS, (_SAMPLES, _TOKENS + 1), generator=draw)

    def model() -> nn.Module:
        torch.manual_seed(0)
        block = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        layers = (nn.TransformerEncoderLayer(_WIDTH, 4, 4 * _WIDTH, **block) for _ in range(_DEPTH))
        return nn.Sequential(nn.Embedding(_WORDS, _WIDTH), *layers, nn.Linear(_WIDTH, _WORDS))

    def loss(module: nn.Module) -> torch.Tensor:
        guesses = module(words[:, :-1])
        return nn.functional.cross_entropy(guesses.flatten(0, 1), words[:, 1:].flatten())

    return Job(model, loss, lambda parameters: torch.optim.SGD(parameters, lr=0.01))
