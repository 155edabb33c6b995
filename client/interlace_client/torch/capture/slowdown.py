"""How much longer compute and launches take beside each other.

On a CPU both share cores and memory; on a GPU kernels of the network take part of it. A plan that
hides communication behind compute makes both that much longer.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from interlace_client.torch.capture.anatomy import anatomy_of
from interlace_client.torch.overlap import Overlap
from interlace_client.torch.transport import own_group, release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn

#: Bytes of each all-reduce that goes beside the steps.
_BYTES = 2**20
#: Launches that are timed alone, and queued ahead of the steps; more where steps outlast them.
_LAUNCHES = 32
_MAX_LAUNCHES = 8192


def measure_slowdown(
    model: nn.Module,
    step: Callable[[], object],
    steps: int = 5,
    process_group: Any = None,
) -> float:
    """Return how many times longer steps take beside launches.

    As :func:`measure_overlap`, of which it is ``compute``.
    """
    return measure_overlap(model, step, steps, process_group).compute


def measure_overlap(
    model: nn.Module,
    step: Callable[[], object],
    steps: int = 5,
    process_group: Any = None,
    *,
    window: int = 1,
) -> Overlap:
    """Train some steps alone, send some all-reduces alone, and both at once.

    These are queued before the steps, in a process group of their own, and outlast them. All ranks
    of the group call this.

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
    window
        How many all-reduces may be under way at once (gloo): as many as in the run.

    Returns
    -------
    Overlap
        Median time of a step beside launches over that of a step alone, and mean time of a launch
        beside steps over that of a launch alone; each of the rank where it is largest, and no less
        than 1.

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
    own = own_group(process_group, window=window)
    try:
        _timed(step, device)
        alone = median(_timed(step, device) for _ in range(steps))
        launch = _launch_alone(own, device)
        beside, slowed = _both(step, steps, own, process_group, device)
        factors = _largest([beside / alone, slowed / launch], process_group, device)
    finally:
        if isinstance(own, dist.ProcessGroup):  # gloo's own is no one's but ours, and ends with it
            release(own)
    return Overlap(*(max(1.0, factor) for factor in factors))


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


def _queue(own: Any, device: torch.device, launches: int) -> list[Any]:
    """Start all-reduces, each of a tensor of its own while there are as many."""
    sent = torch.zeros(_LAUNCHES, _BYTES // 4, device=device)
    return [own.allreduce([sent[k % _LAUNCHES]]) for k in range(launches)]


def _launch_alone(own: Any, device: torch.device) -> float:
    """Return what a launch takes while nothing else is done [s]: after a warm-up, the mean."""
    for work in _queue(own, device, _LAUNCHES):
        work.wait()
    _settle(device)
    begin = perf_counter()
    for work in _queue(own, device, _LAUNCHES):
        work.wait()
    _settle(device)
    return (perf_counter() - begin) / _LAUNCHES


def _both(
    step: Callable[[], object], steps: int, own: Any, process_group: Any, device: torch.device
) -> tuple[float, float]:
    """Return what a step takes with launches under way, and what a launch takes meanwhile [s]."""
    launches = _LAUNCHES
    while True:
        works = _queue(own, device, launches)
        begin = perf_counter()
        times = [_timed(step, device) for _ in range(steps)]
        took = perf_counter() - begin
        done = sum(work.is_completed() for work in works)
        for work in works:
            work.wait()
        # all ranks queue as many, or they would wait for each other
        (short,) = _largest([float(done == launches)], process_group, device)
        if not short or launches >= _MAX_LAUNCHES:
            return median(times), took / max(done, 1)
        launches *= 2


def _largest(values: Sequence[float], process_group: Any, device: torch.device) -> list[float]:
    """Return the largest of each value over the ranks."""
    told = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(told, dist.ReduceOp.MAX, group=process_group)
    return [float(value) for value in told]
