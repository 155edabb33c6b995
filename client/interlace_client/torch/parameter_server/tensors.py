"""The tensors of a server: what becomes of their gradients, at once or of several together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Condition

import torch
from torch import nn

from interlace_client.torch.parameter_server.frames import ServingFailed

OptimizerOf = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class ServedTensor:
    """A parameter that workers pull and push gradients of.

    Parameters
    ----------
    name, parameter
        Which.
    optimizer_of
        Makes the optimizer of it alone.
    needed
        How many gradients make an update, of which the mean is taken; those that come later for the
        same version are dropped. None: each makes its own.
    """

    def __init__(
        self, name: str, parameter: nn.Parameter, optimizer_of: OptimizerOf, needed: int | None
    ) -> None:
        self.name = name
        self.size = parameter.numel() * parameter.element_size()
        self._parameter = parameter
        self._optimizer = optimizer_of([parameter])
        self._needed = needed
        self._changed = Condition()
        self._version = 1
        self._sum: torch.Tensor | None = None
        self._count = 0
        self._failure: str | None = None
        #: Gradients that came too late.
        self.dropped = 0

    def blank(self) -> torch.Tensor:
        """Return memory for a gradient."""
        return torch.empty_like(self._parameter, device="cpu", requires_grad=False).contiguous()

    def snapshot(self, after: int) -> tuple[torch.Tensor, int]:
        """Copy the parameter when its version is above ``after``; return it and its version.

        Without ``needed`` it is what it is now. Others wait no longer than for the copy.
        """
        with self._changed:
            if self._needed is not None:
                self._changed.wait_for(lambda: self._version > after or self._failure)
                if self._version <= after and self._failure:
                    raise ServingFailed(self._failure)
            return self._parameter.detach().to("cpu", copy=True).contiguous(), self._version

    def take(self, gradient: torch.Tensor, version: int) -> None:
        """Use a gradient of a version of the parameter."""
        with self._changed:
            if self._needed is None:
                self._update(gradient)
            elif version < self._version:
                self.dropped += 1
            else:
                self._sum = gradient.clone() if self._sum is None else self._sum.add_(gradient)
                self._count += 1
                if self._count == self._needed:
                    self._update(self._sum.div_(self._needed))
                    self._sum, self._count = None, 0

    def fail(self, reason: str) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._failure = reason
            self._changed.notify_all()

    def _update(self, gradient: torch.Tensor) -> None:
        self._parameter.grad = gradient.to(self._parameter.device)
        self._optimizer.step()
        self._parameter.grad = None
        self._version += 1
        self._changed.notify_all()
