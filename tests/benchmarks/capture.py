"""What a capture costs a training step while it is on.

``python -m tests.benchmarks.capture`` trains a small conv net and a small transformer on one
thread, blocks of steps with a capture and without in turn, and prints the median step of each:
without, in the two steps that watch which module uses what, in the timed steps, and after the last.
Needs PyTorch. The time is that of the thread, which other processes lengthen less than the clock's.
"""

import argparse
from statistics import median
from time import thread_time

import torch
from torch import nn

from interlace_client.torch.capture import Capture

_WATCHED, _TIMED, _AFTER = 2, 6, 2


def conv_net(size: int = 32) -> tuple[nn.Module, torch.Tensor]:
    """Ten convolutions with batch norm, and their batch."""
    layers: list[nn.Module] = []
    width = 3
    for wider in (16, 16, 32, 32, 32, 64, 64, 64, 64, 64):
        layers += [nn.Conv2d(width, wider, 3, padding=1, bias=False), nn.BatchNorm2d(wider)]
        layers += [nn.ReLU(), *([nn.MaxPool2d(2)] if wider > width > 3 else [])]
        width = wider
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)]
    return nn.Sequential(*layers), torch.randn(16, 3, size, size)


def transformer(width: int = 128) -> tuple[nn.Module, torch.Tensor]:
    """Four encoder layers, and their batch."""
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(8, 32, width)


def timed(model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> float:
    """Return the time of a step [s]."""
    begin = thread_time()
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    return thread_time() - begin


def compare(blocks: int, model: nn.Module, batch: torch.Tensor) -> dict[str, float]:
    """Return the median step of each kind [s]."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    times: dict[str, list[float]] = {"without": [], "watched": [], "timed": [], "after": []}
    for _ in range(3):
        timed(model, optimizer, batch)
    for _ in range(blocks):
        times["without"] += [timed(model, optimizer, batch) for _ in range(_TIMED)]
        Capture(model, optimizer, steps=_WATCHED + _TIMED)
        for kind, count in (("watched", _WATCHED), ("timed", _TIMED), ("after", _AFTER)):
            times[kind] += [timed(model, optimizer, batch) for _ in range(count)]
    return {kind: median(found) for kind, found in times.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=20)
    blocks = parser.parse_args().blocks
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{'model':12}{'step':>10}{'watched':>10}{'timed':>10}{'after':>10}")
    for name, make in (("conv net", conv_net), ("transformer", transformer)):
        found = compare(blocks, *make())
        more = [f"{found[kind] / found['without'] - 1:+10.1%}" for kind in list(found)[1:]]
        print(f"{name:12}{found['without'] * 1e3:7.1f} ms{''.join(more)}")


if __name__ == "__main__":
    main()
