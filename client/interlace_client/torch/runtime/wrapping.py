"""Which modules a PlannedDDP takes, which of their tensors it shares, and who may not wrap it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.plans import some

#: Where a module names parameters and buffers that DistributedDataParallel leaves to each rank.
_IGNORED = "_ddp_params_and_buffers_to_ignore"

#: What is to be done instead of another wrapper.
UNWRAPPED = (
    "PlannedDDP sends the gradients already, and another wrapper would send them again. Call the "
    "PlannedDDP itself in the loop; with Accelerate, leave the model out of prepare()."
)


def refuse_module(module: nn.Module, senders: tuple[type[nn.Module], ...]) -> None:
    """Refuse a module whose gradients are sent by something else, or that has no shapes yet.

    ``senders`` are the classes of modules that send gradients.

    Raises
    ------
    TypeError
        When the module, or one inside, sends gradients itself; when parameters are sharded.
    ValueError
        When parameters have no shape yet.
    """
    for name, inner in module.named_modules():
        if isinstance(inner, senders):
            where = f" at {name!r}" if name else ""
            raise TypeError(
                f"Give the module itself: {type(inner).__name__}{where} sends gradients too."
            )
    sharded = [name for name, p in module.named_parameters() if hasattr(p, "device_mesh")]
    if sharded:
        raise TypeError(
            f"{len(sharded)} parameters are sharded (DTensor): {some(sharded)}. fully_shard and "
            "tensor parallelism send these themselves; PlannedDDP takes modules whose parameters "
            "each rank has whole. For fully_shard see docs/how-to/export-plans.md."
        )
    lazy = [n for n, p in module.named_parameters() if nn.parameter.is_lazy(p)]
    if lazy:
        raise ValueError(f"Parameters without a shape yet: {some(lazy)}. Run a forward pass first.")


def known_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters whose gradients are averaged, by the names that a plan has for them."""
    return {
        name.replace("_orig_mod.", ""): p
        for name, p in module.named_parameters()
        if p.requires_grad and name not in _ignored(module)
    }


def shared_buffers(module: nn.Module) -> list[torch.Tensor]:
    """Return the buffers that are the first rank's on all ranks."""
    return [b for name, b in module.named_buffers() if name not in _ignored(module)]


def shared_tensors(module: nn.Module) -> Iterator[torch.Tensor]:
    """Yield the parameters and buffers that all ranks have alike."""
    ignored = _ignored(module)
    yield from (p for name, p in module.named_parameters() if name not in ignored)
    yield from shared_buffers(module)


def refuse_wrapper() -> None:
    """Refuse to be called inside another wrapper that sends gradients.

    Raises
    ------
    TypeError
        While a DistributedDataParallel makes its forward pass.
    """
    if getattr(DistributedDataParallel, "_active_ddp_module", None) is not None:
        raise TypeError(UNWRAPPED)


def _ignored(module: nn.Module) -> frozenset[str]:
    return frozenset(getattr(module, _IGNORED, ()))
