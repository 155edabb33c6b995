"""What DistributedDataParallel, or any module, can be asked for, and a run by a plan refuses."""

from __future__ import annotations

from typing import Any

from torch import nn

from interlace_client.torch.runtime.wrapping import UNWRAPPED


class RefusingModule(nn.Module):
    """A module that says what to do in the place of what would train otherwise, or never end."""

    @property
    def _ddp_params_and_buffers_to_ignore(self) -> Any:
        """What a DistributedDataParallel around this asks for first: refuse it there."""
        raise TypeError(UNWRAPPED)

    def compile(self, *_: Any, **__: Any) -> None:
        """Refuse: a module that is compiled reads parameters unseen, so it is known before."""
        raise TypeError(
            "Compile the model before it is wrapped: model.compile() or torch.compile(model), then "
            "PlannedDDP(model, ...)."
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be copied or pickled: a copy would send the same gradients again."""
        raise TypeError("Copy or save model.module: PlannedDDP holds the ranks' connections.")

    def join_hook(self, **_: Any) -> Any:
        """Refuse ``torch.distributed.algorithms.Join``, as :meth:`join`."""
        return self.join()

    def join(self, *_: Any, **__: Any) -> Any:
        """Refuse: ranks with more batches than others would wait for launches that never come."""
        raise NotImplementedError(
            "PlannedDDP takes the same number of steps on every rank: give all ranks as many "
            "batches (DistributedSampler with drop_last), or use DistributedDataParallel.join."
        )
