"""A DistributedDataParallel that sends the gradients of a run which goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.runtime.buffer_copies import BufferCopies
from interlace_client.torch.runtime.compression import register


class StandIn:
    """A DistributedDataParallel in the place of a plan, from ``take`` until ``leave``.

    It is made of a module that has trained, and is alike on all ranks.

    Parameters
    ----------
    module
        What it sends the gradients of.
    process_group
        The ranks; None is the default group.
    buffers
        The run's copies of buffers; None where it makes none.
    find_unused, static_graph, broadcast_buffers
        As of DistributedDataParallel.

    Attributes
    ----------
    ddp
        The DistributedDataParallel; None while a plan sends the gradients.
    hook
        The communication hook of the run; None is none.
    """

    def __init__(
        self,
        module: nn.Module,
        process_group: Any,
        buffers: BufferCopies | None,
        *,
        find_unused: bool,
        static_graph: bool,
        broadcast_buffers: bool,
    ) -> None:
        self.ddp: DistributedDataParallel | None = None
        self.hook: Any = None
        self._module, self._process_group, self._buffers = module, process_group, buffers
        self._options: dict[str, Any] = {
            "process_group": process_group,
            "find_unused_parameters": find_unused,
            "static_graph": static_graph,
            **({} if broadcast_buffers else {"broadcast_buffers": False}),
        }

    def take(self, bucket_cap_mb: float | None) -> None:
        """Send gradients from here on, in buckets of this cap; None is the default."""
        if self._buffers:
            self._buffers.finish()
        with torch.inference_mode(mode=False):
            self.ddp = DistributedDataParallel(
                self._module,
                bucket_cap_mb=bucket_cap_mb,
                init_sync=False,  # the ranks are alike, but for buffers that are to differ
                **self._options,
            )
        if self.hook is not None:
            register(self.ddp, self._process_group, self.hook)
        self.ddp.require_forward_param_sync = False  # buffers are there until its first pass

    def leave(self) -> None:
        """Let go of it, if there is one.

        It must be gone: while there is one it counts gradients, and after a forward pass that had
        no backward pass it would send those of the next.
        """
        if self.ddp is not None and self._buffers:
            self._buffers.is_due = self.ddp.require_forward_param_sync
        self.ddp = None

    def compress(self, hook: Any) -> None:
        """Have the run's communication hook, now or when it takes."""
        self.hook = hook
        if self.ddp is not None:
            register(self.ddp, self._process_group, hook)

    def forward(self, inputs: Sequence[Any], kwargs: Mapping[str, Any], *, is_syncing: bool) -> Any:
        """Call the module; ``is_syncing`` is what the ``no_sync()`` of the run has set."""
        assert self.ddp is not None
        self.ddp.require_backward_grad_sync = is_syncing
        return self.ddp(*inputs, **kwargs)
