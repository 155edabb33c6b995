"""Buffers that are the first rank's before each forward pass, on a group of their own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from interlace_client.torch.runtime.wrapping import shared_buffers
from interlace_client.torch.transport import PrivateGroup


class BufferCopies:
    """Copies the first rank's buffers to all ranks after each step.

    As DistributedDataParallel does before a forward pass that follows a backward pass; begun at the
    step already, and beside the launches, behind which it would have to wait for all of them.

    Attributes
    ----------
    is_due
        Whether a backward pass has been since the last copy.
    is_source
        Whether this is the first rank, whose copies are its own buffers.
    """

    def __init__(self, module: nn.Module, process_group: Any, timeout: timedelta | None) -> None:
        kinds: dict[Any, list[torch.Tensor]] = {}
        for buffer in shared_buffers(module):
            kinds.setdefault((buffer.dtype, buffer.device), []).append(buffer)
        self._kinds = [(buffers, *_flat(buffers)) for buffers in kinds.values()]
        self._group = PrivateGroup(process_group, timeout=timeout)
        self._started: list[tuple[list[int], Any]] = []
        self.is_source = dist.get_rank(process_group) == 0
        self.is_due = False

    def start(self) -> None:
        """Begin to copy, when it is due."""
        if not self.is_due:
            return
        self.place()
        self.is_due = False
        for buffers, flat, views in self._kinds:
            torch._foreach_copy_(views, buffers)
            versions = [buffer._version for buffer in buffers]
            self._started.append((versions, self._group.broadcast(flat)))

    def finish(self) -> None:
        """Put the copies in place; begin them first if nobody has since they became due.

        A buffer that was written since the copy began, as by loading a state dict, stays.
        """
        self.start()
        self.place()

    def place(self) -> None:
        """Wait for what has begun, and put it in place.

        The first rank does so before any forward pass: batch norm changes its statistics without a
        new version, and what a pass beside the run added would be overwritten.
        """
        for (buffers, _, views), (versions, work) in zip(self._kinds, self._started):
            work.wait()
            same = [k for k, buffer in enumerate(buffers) if buffer._version == versions[k]]
            if same:
                with torch.no_grad():
                    torch._foreach_copy_([buffers[k] for k in same], [views[k] for k in same])
        self._started.clear()


def _flat(buffers: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Make memory for buffers of one kind, and a view of it for each."""
    flat = buffers[0].new_empty(sum(buffer.numel() for buffer in buffers))
    parts = flat.split([buffer.numel() for buffer in buffers])
    return flat, [part.view(buffer.shape) for part, buffer in zip(parts, buffers)]
