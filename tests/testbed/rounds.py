"""Interleaved measurement: each round has a few steps of every runtime, in turn.

What changes while a cell is measured - the machine's load, the network's queues - then changes for
all runtimes alike.
"""

import time
from collections.abc import Mapping
from statistics import fmean, median

import torch
import torch.distributed as dist

from tests.testbed.runtimes import Runtime

#: Steps of each runtime before the first round: DistributedDataParallel forms its buckets anew
#: after the first, and PlannedDDP looks for bypassed modules in its first three.
WARM_UP = 4

#: Time of a training step [us] in each round, by runtime: the mean over its steps and all workers.
Rounds = dict[str, list[float]]


def measure(runtimes: Mapping[str, Runtime], rounds: int, steps: int, *, is_exact: bool) -> Rounds:
    """Time every runtime: in each round ``steps`` steps, and one before that is dropped.

    A step lasts from one return of the optimizer's step to the next: in the steady state, with
    what is still on its way carried over from one step to the next. With ``is_exact`` all
    runtimes must have learned the same, bit for bit: no sum is rounded.

    Raises
    ------
    RuntimeError
        When the workers' parameters differ afterwards, or those of runtimes that are exact.
    """
    for runtime in runtimes.values():
        _train(runtime, WARM_UP)
    mine: dict[str, list[float]] = {name: [] for name in runtimes}
    for _ in range(rounds):
        for name, runtime in runtimes.items():
            mine[name].append(_train(runtime, steps))
    workers: list = [None] * dist.get_world_size()
    dist.all_gather_object(workers, mine)
    learned = {name: _learned(name, runtime) for name, runtime in runtimes.items()}
    first = next(iter(learned))
    if is_exact and (others := [name for name in learned if learned[name] != learned[first]]):
        raise RuntimeError(f"{', '.join(others)} learned other parameters than {first}.")
    return {
        name: [fmean(times) for times in zip(*(w[name] for w in workers), strict=True)]
        for name in runtimes
    }


def typical(times: list[float]) -> float:
    """Return what a step takes, all rounds considered [us]."""
    return median(times)


def _train(runtime: Runtime, steps: int) -> float:
    """Train, and return the mean time of the steps after the first [us]."""
    dist.barrier()
    runtime.step()
    begin = time.perf_counter()
    for _ in range(steps):
        runtime.step()
    end = time.perf_counter()
    runtime.drain()
    return (end - begin) / steps * 1e6


def _learned(name: str, runtime: Runtime) -> list[int]:
    """Sum the bits of each parameter, which must be the same on all workers."""
    parameters = [parameter.detach() for parameter in runtime.model.parameters()]
    mine = [int(p.view(torch.int32).sum(dtype=torch.int64)) for p in parameters]
    workers: list = [None] * dist.get_world_size()
    dist.all_gather_object(workers, mine)
    if others := [rank for rank, theirs in enumerate(workers) if theirs != workers[0]]:
        raise RuntimeError(f"{name}: workers {others} have other parameters than worker 0.")
    return mine
