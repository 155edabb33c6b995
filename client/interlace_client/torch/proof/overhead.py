"""What a step costs the host, beside DistributedDataParallel: there is nothing to gain."""

from __future__ import annotations

import time
from collections.abc import Generator
from statistics import median
from typing import Any, Callable

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.proof.site import DrawnBatch, Site
from interlace_client.torch.runtime.planned import PlannedDDP
from interlace_client.torch.trial.outcome import gain_interval

#: How many tensors the models have.
_TENSORS = (150, 1000)
#: Numbers in the rows of a layer, and rows in a batch.
_WIDTH, _ROWS = 32, 8
#: Steps that do not count, pairs of steps that do, and with --short.
_WARM, _PAIRS, _FEW = 5, 40, 5
#: How much more than DistributedDataParallel is too much.
_MOST = 0.02


def of_tensors(count: int) -> nn.Module:
    """Make a model of so many parameters, each of few numbers."""
    layers = [each for _ in range(count // 2) for each in (nn.Linear(_WIDTH, _WIDTH), nn.Tanh())]
    return nn.Sequential(*layers)


def host_time(count: int, site: Site) -> dict[str, Any]:
    """Train in turns, a step each, and compare the processor time of pairs of steps."""
    ways: dict[str, Callable[[nn.Module, Any], Any]] = {
        "per parameter": PlannedDDP,
        "barrier": lambda model, optimizer: PlannedDDP(model, optimizer, barrier=True),
    }
    figures: dict[str, Any] = {}
    too_much = []
    for name, wrap in ways.items():
        both = (
            _steps(wrap, count, site),
            _steps(lambda m, _: DistributedDataParallel(m), count, site),
        )
        for _ in range(_WARM):
            [next(each) for each in both]
        pairs = [(next(both[0]), next(both[1])) for _ in range(_FEW if site.is_short else _PAIRS)]
        more, low, high = gain_interval([ours / theirs for ours, theirs in pairs])
        figures["DDP [us a step]"] = round(median(theirs for _, theirs in pairs))
        figures[f"{name}, more [%]"] = round(100 * (more - 1), 2)
        figures[f"{name}, 90 % interval [%]"] = f"{100 * (low - 1):.2f} to {100 * (high - 1):.2f}"
        if low > 1 + _MOST:
            too_much.append(name)
        for each in both:
            each.close()
    if not site.is_short:  # few steps show nothing
        assert not too_much, f"more than {_MOST:.0%} above DistributedDataParallel: {figures}"
    return figures


def _steps(
    wrap: Callable[[nn.Module, Any], Any], count: int, site: Site
) -> Generator[float, None, None]:
    """Train without end, and give what each step took of the process's processors [us]."""
    torch.manual_seed(0)
    model = of_tensors(count).to(site.device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    wrapped = wrap(model, optimizer)
    rows = DrawnBatch(0, 0, site.device).normal(_ROWS, _WIDTH)
    while True:
        site.sync()
        began = time.process_time()
        wrapped(rows).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        yield (time.process_time() - began) * 1e6


def _with(count: int) -> Callable[[Site], dict[str, Any]]:
    return lambda site: host_time(count, site)


CHECKS: dict[str, Callable[[Site], Any]] = {
    f"host_time[{count} tensors]": _with(count) for count in _TENSORS
}
