"""How much longer compute takes beside communication.

On a CPU both share cores and memory; on a GPU kernels of the network take part of it. A plan that
hides communication behind compute makes compute that much longer.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from interlace_client.torch.capture.anatomy import anatomy_of
from interlace_client.torch.transport import group_beside, release

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

#: Bytes of each all-reduce that goes beside a step.
_BYTES = 4 * 2**20
#: Launches that are queued ahead of the first step; more where a step outlasts them.
_LAUNCHES = 8
_MAX_LAUNCHES = 4096


def measure_slowdown(
    model: nn.Module,
    step: Callable[[], object],
    steps: int = 5,
    process_group: Any = None,
) -> float:
    """Train some steps, alone and with all-reduces going beside them.

    These are queued before the step, in a process group of their own, and outlast it. All ranks of
    the group call this.

    Parameters
    ----------
    model
        What the step trains.
    step
        Trains one step and communicates nothing itself. Called ``2 * steps + 1`` times, and more
        often until what is queued outlasts it.
    steps
        How many to take the median of.
    process_group
        Of the ranks that train together; None for the default one.

    Returns
    -------
    float
        Median time of a step beside communication over that of a step alone, on the rank where
        that is largest; 1 where nothing is slowed.

    Raises
    ------
    ValueError
        There is no process group of two ranks, or the model communicates in its step.
    """
    if not dist.is_available() or not dist.is_initialized():
        raise ValueError(
            "The slowdown is measured beside an all-reduce: no process group is there."
        )
    if dist.get_world_size(process_group) == 1:
        raise ValueError("The slowdown is measured beside an all-reduce: that takes two ranks.")
    anatomy = anatomy_of(model)
    if anatomy.wrapper is not None:
        raise ValueError(
            f"The steps communicate themselves, in {type(anatomy.wrapper).__name__}: train the "
            "module within it."
        )
    device = anatomy.parameters[0][1].device
    group = group_beside(process_group)
    try:
        _timed(step, device)
        alone = [_timed(step, device) for _ in range(steps)]
        beside = _beside(step, steps, device, group)
        factor = torch.tensor([median(beside) / median(alone)], device=device)
        dist.all_reduce(factor, dist.ReduceOp.MAX, group=group)
    finally:
        release(group)
    return max(1.0, float(factor))


def _timed(step: Callable[[], object], device: torch.device) -> float:
    """Return how long a step takes [s]."""
    _settle(device)
    begin = perf_counter()
    step()
    _settle(device)
    return perf_counter() - begin


def _settle(device: torch.device) -> None:
    """Wait for what compute was queued on a GPU, but for no communication."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()


def _beside(
    step: Callable[[], object], steps: int, device: torch.device, group: Any
) -> list[float]:
    """Return how long steps take [s] with all-reduces under way from their start to their end."""
    sent = torch.zeros(_BYTES // 4, device=device)
    launches, times = _LAUNCHES, list[float]()
    while len(times) < steps:
        works = [dist.all_reduce(sent, group=group, async_op=True) for _ in range(launches)]
        time = _timed(step, device)
        outlasted = torch.tensor([int(not works[-1].is_completed())], device=device)
        for work in works:
            work.wait()
        # all ranks queue as many, or they would wait for each other
        dist.all_reduce(outlasted, dist.ReduceOp.MIN, group=group)
        if int(outlasted) or launches >= _MAX_LAUNCHES:
            times.append(time)
        else:
            launches *= 2
    return times
