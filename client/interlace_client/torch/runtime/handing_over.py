"""A DistributedDataParallel that sends the gradients of a run which goes on."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.runtime.compression import register


def successor(
    module: nn.Module,
    process_group: Any,
    bucket_cap_mb: float | None,
    hook: Any,
    *,
    find_unused: bool,
    static_graph: bool,
    broadcast_buffers: bool,
) -> DistributedDataParallel:
    """Return a DistributedDataParallel of a module that has trained, and is alike on all ranks.

    Parameters
    ----------
    module
        What it sends the gradients of.
    process_group
        The ranks; None is the default group.
    bucket_cap_mb, find_unused, static_graph, broadcast_buffers
        As of DistributedDataParallel.
    hook
        The communication hook of the run; None is none.
    """
    with torch.inference_mode(mode=False):
        ddp = DistributedDataParallel(
            module,
            process_group=process_group,
            bucket_cap_mb=bucket_cap_mb,
            find_unused_parameters=find_unused,
            static_graph=static_graph,
            init_sync=False,  # the ranks are alike, but for buffers that are to differ
            **({} if broadcast_buffers else {"broadcast_buffers": False}),
        )
    if hook is not None:
        register(ddp, process_group, hook)
    ddp.require_forward_param_sync = False  # buffers are there until its first pass
    return ddp
