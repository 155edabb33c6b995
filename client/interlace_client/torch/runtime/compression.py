"""Gradients that travel in fewer bits, as PyTorch's communication hooks have them."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

#: The type of what is sent, by the hook; None is each gradient's own.
_WIRES: dict[Any, torch.dtype | None] = {
    default_hooks.allreduce_hook: None,
    default_hooks.fp16_compress_hook: torch.float16,
    default_hooks.bf16_compress_hook: torch.bfloat16,
}


def wire_of(state: Any, hook: Any, process_group: Any) -> torch.dtype | None:
    """Return the type of numbers in which a communication hook sends gradients.

    Parameters
    ----------
    state, hook
        As DistributedDataParallel's ``register_comm_hook`` has them; the state of these hooks is a
        process group, or None.
    process_group
        Whose ranks sum; None is the default group.

    Raises
    ------
    NotImplementedError
        When it is another hook.
    ValueError
        When the state is another group.
    """
    if hook not in _WIRES:
        known = ", ".join(each.__name__ for each in _WIRES)
        name = getattr(hook, "__name__", repr(hook))
        raise NotImplementedError(
            f"{name} would send other bytes than planned. PlannedDDP has PyTorch's {known} "
            "(torch.distributed.algorithms.ddp_comm_hooks.default_hooks); use "
            "DistributedDataParallel for other hooks."
        )
    own = process_group if process_group is not None else dist.group.WORLD
    if state is not None and state is not own:
        raise ValueError("The hook's state is another process group than that of PlannedDDP.")
    return _WIRES[hook]


def register(ddp: DistributedDataParallel, process_group: Any, hook: Any) -> None:
    """Register a hook over the ranks of a group; without one it would sum over all there are.

    Not by its name: DistributedDataParallel refuses some by name over gloo.
    """
    called = lambda state, bucket: hook(state, bucket)  # noqa: PLW0108 - it has no name
    ddp.register_comm_hook(process_group, called)
