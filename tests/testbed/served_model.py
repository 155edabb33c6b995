"""What is trained through servers: layer lists that sleep, and a network that computes."""

from collections.abc import Callable

import torch
from torch import nn

from tests.testbed.layers import shrunk, timed
from tests.testbed.sleeping import Rest, sleeping

#: A network that computes: its name, width and depth.
COMPUTING, _WIDTH, _DEPTH, _BATCH = "computing", 256, 8, 64


def served_model(name: str, size: int, compute_us: float) -> tuple[nn.Module, Callable[[], None]]:
    """Make a model, and a function that trains a step of it.

    Parameters
    ----------
    name
        A layer list of :data:`tests.testbed.layers.MODELS`, or :data:`COMPUTING`.
    size, compute_us
        Of a layer list: bytes of all gradients, and how long a step sleeps [us].
    """
    if name == COMPUTING:
        torch.manual_seed(0)
        layers = [m for _ in range(_DEPTH) for m in (nn.Linear(_WIDTH, _WIDTH), nn.Tanh())]
        network = nn.Sequential(*layers)
        inputs = torch.randn(_BATCH, _WIDTH)

        def train() -> None:
            network(inputs).square().mean().backward()

        return network, train
    model = sleeping(timed(shrunk(name, size), compute_us), 0, Rest())
    signal = torch.zeros(1, requires_grad=True)
    return model, lambda: model(signal).sum().backward()
