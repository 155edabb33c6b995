"""Optimizers' steps: of all parameters at once, or bucket by bucket as they arrive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from interlace_client.torch.plans import some
from interlace_client.torch.runtime.arrivals import Arrivals
from interlace_client.torch.runtime.pending_state import class_in_waiting
from interlace_client.torch.runtime.updates import Pieces, override

_AS_UNDER_THE_BARRIER = (
    "such a step waits for all buckets, as under the barrier. A plan made with the barrier is then "
    "the better one."
)


class BucketUpdates:
    """What ``optimizer.step()`` does: it has the update of each bucket made when that is read.

    The first step of an optimizer is its own, of all parameters: it shows whether it is the sum of
    steps of its parts (:mod:`~interlace_client.torch.runtime.separable`).

    Parameters
    ----------
    optimizers
        The user's.
    arrivals
        What is on its way.
    stepped
        Called after each step.
    barrier
        Whether every step waits for all buckets; may be changed between two steps.
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        arrivals: Arrivals,
        stepped: Callable[[], None],
        *,
        barrier: bool,
    ) -> None:
        self._optimizers = optimizers
        self._arrivals = arrivals
        self.barrier = barrier
        self._stepped = stepped
        self._own = [optimizer.step for optimizer in optimizers]
        self._own_zero_grad = [optimizer.zero_grad for optimizer in optimizers]
        self._plain = [type(optimizer) for optimizer in optimizers]
        self._in_waiting = [class_in_waiting(plain, self._drain) for plain in self._plain]
        self._pieces = [Pieces(optimizer, {}) for optimizer in optimizers]
        self._said: set[str] = set()

    def use(self, homes: Mapping[int, int]) -> None:
        """Take a plan's buckets: that of each parameter by the parameter's id."""
        self._be_plain()
        self._pieces = [pieces.moved(homes) for pieces in self._pieces]

    def override(self) -> list[Callable[[], None]]:
        """Take the place of the optimizers' steps; return what gives it back."""
        removals = [self._be_plain]
        for k, optimizer in enumerate(self._optimizers):
            if type(optimizer).zero_grad is torch.optim.Optimizer.zero_grad:
                removals.append(override(optimizer, "zero_grad", partial(self._zero_grad, k)))
            removals.append(override(optimizer, "step", partial(self.step, k)))
            drain = lambda *_: self._drain()
            removals.append(optimizer.register_state_dict_pre_hook(drain).remove)
            removals.append(optimizer.register_load_state_dict_pre_hook(drain).remove)
        return removals

    def step(self, k: int, *args: Any, **kwargs: Any) -> Any:
        """Step an optimizer's parameters: what is there now, the rest when it is read."""
        arrivals = self._arrivals
        is_plain = all(each is None for each in (*args, *kwargs.values()))  # closure=None is none
        if self._pieces[k].is_stale:
            self._drain()
            self._pieces[k] = self._pieces[k].moved(arrivals.reduction.homes)
        pieces = self._pieces[k]
        result = None
        if not is_plain or self.barrier or not arrivals.is_begun or self._is_whole(pieces):
            self._drain()
            is_plain = is_plain and not (pieces.has_hooks or self.barrier)
            result = pieces.whole(partial(self._own[k], *args, **kwargs), is_plain=is_plain)
        else:
            arrivals.reduction.wait_launched()
            options = pieces.snapshot()
            arrivals.update_later(pieces, options)
            pieces.step(None, options)
            self._optimizers[k].__class__ = self._in_waiting[k]
            self._optimizers[k]._opt_called = True  # learning rate schedulers look for it
        self._stepped()
        return result

    def _zero_grad(self, k: int, *args: Any, **kwargs: Any) -> None:
        """Have gradients set to None without asking, for each, whether what is read has arrived."""
        if all((*args, *kwargs.values())):
            for group in self._optimizers[k].param_groups:
                self._arrivals.clear_gradients(group["params"])
        else:
            self._own_zero_grad[k](*args, **kwargs)

    def say_that_gradients_are_read(self) -> None:
        """Warn, once, of gradients that are read before they have arrived."""
        if self._optimizers and not self.barrier:
            self._say(
                "Gradients are read while they are on their way (by clipping, a gradient scaler, "
                "a log, zero_grad(set_to_none=False), an optimizer that PlannedDDP was not given): "
                f"{_AS_UNDER_THE_BARRIER}"
            )

    def _drain(self) -> None:
        """Have all updates made, so that the optimizers' states are theirs."""
        self._arrivals.drain()
        self._be_plain()

    def _be_plain(self) -> None:
        for optimizer, plain in zip(self._optimizers, self._plain):
            optimizer.__class__ = plain

    def _is_whole(self, pieces: Pieces) -> bool:
        """Tell whether a step must be made of all parameters at once."""
        if pieces.has_hooks:
            self._say(f"{pieces.name} has step hooks: {_AS_UNDER_THE_BARRIER}")
        if pieces.is_separable is False:
            self._say(f"{pieces.name} {pieces.fault}: {_AS_UNDER_THE_BARRIER}")
        return (
            not pieces.is_separable
            or pieces.has_hooks
            or self._arrivals.has_other_gradients(pieces)
        )

    def _say(self, sentence: str) -> None:
        """Warn of something once."""
        if sentence not in self._said:
            self._said.add(sentence)
            warnings.warn(sentence, stacklevel=5)


def warn_of_optimizers(
    optimizers: Sequence[torch.optim.Optimizer], parameters: Mapping[str, nn.Parameter]
) -> None:
    """Say which parameters none of the optimizers steps, where there are some optimizers."""
    held = {id(p) for each in optimizers for group in each.param_groups for p in group["params"]}
    others = [name for name, p in parameters.items() if id(p) not in held]
    if others and optimizers:
        warnings.warn(
            f"{len(others)} of {len(parameters)} parameters are in none of the optimizers given: "
            f"{some(others)}. Steps of an optimizer that was not given wait for all buckets.",
            stacklevel=4,
        )
