"""What is sent outside of compiled graphs, where no pass of a compiler sees it."""

from __future__ import annotations

import torch
import torch.distributed as dist

#: Why a graph of several ranks may have no collective, and what to do.
OUTSIDE = (
    "fully_shard of FSDP2, FullyShardedDataParallel and DistributedDataParallel send from hooks "
    "outside of compiled graphs, and are planned the eager way: record a step, then `interlace "
    "export --format fsdp` for fully_shard, PlannedDDP or `--format ddp` for data parallelism "
    "(docs/how-to/export-plans.md, docs/how-to/run-a-plan.md). To plan the graph itself, shard by "
    "functional collectives or DTensors inside of the model (docs/how-to/run-a-compiled-plan.md)."
)

#: Classes whose modules send from hooks, by name: importing them costs a process seconds.
_HOOKED = {
    "FSDPModule": "fully_shard",
    "FullyShardedDataParallel": "FullyShardedDataParallel",
    "DistributedDataParallel": "DistributedDataParallel",
}


def ranks_here() -> int:
    """Return how many ranks train; 1 without process groups."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def hooked(model: torch.nn.Module) -> list[str]:
    """Name the modules that send from hooks, each with what made it so, in the order of modules."""
    found = []
    for name, module in model.named_modules():
        makers = [_HOOKED[c.__name__] for c in type(module).__mro__ if c.__name__ in _HOOKED]
        if makers:
            found.append(f"{name or 'the model itself'} ({makers[0]})")
    return found
