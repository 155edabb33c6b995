"""Backward passes: what becomes of each gradient, from its hook to the launch of its bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn

from interlace_client.torch.plans import some
from interlace_client.torch.runtime.arrivals import Arrivals
from interlace_client.torch.runtime.static_graph import GradientCounts, telling_of_its_pass
from interlace_client.torch.runtime.streams import refuse_capture

_HAS_GRAPH = (
    "backward(create_graph=True): gradients that have a graph are not averaged, as with "
    "DistributedDataParallel. Make them by torch.autograd.grad(..., create_graph=True), and call "
    "backward() without it on the loss that is made of them. After a pass that failed, detach() "
    "and wrap the module anew."
)


class BackwardPasses:
    """Hears of gradients; sends each bucket when the last of its gradients is ready.

    Parameters
    ----------
    parameters
        All that have gradients.
    arrivals
        What is on its way.
    begun
        Called when a pass begins whose gradients are sent.
    find_unused, static_graph
        As of PlannedDDP.

    Attributes
    ----------
    is_syncing
        Whether gradients are sent, and not only added up.
    kind
        ``find_unused`` and ``static_graph``.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        arrivals: Arrivals,
        begun: Callable[[], None],
        *,
        find_unused: bool,
        static_graph: bool,
    ) -> None:
        self._parameters = list(parameters)
        self._arrivals = arrivals
        self._begun = begun
        self._find_unused = find_unused
        self._counts = GradientCounts() if static_graph else None
        arrivals.is_static = static_graph
        self.is_syncing = True
        self.kind = find_unused, static_graph

    def hear(self) -> list[Callable[[], None]]:
        """Put hooks on all parameters; return what takes them off."""
        removals = []
        for p in self._parameters:
            removals.append(p.register_hook(self._before_gradient).remove)
            removals.append(p.register_post_accumulate_grad_hook(self._after_gradient).remove)
        return removals

    def watched(self, outputs: Any) -> Any:
        """Return what the module returned so that the end of a first pass is heard of."""
        if self._counts and not self._counts.is_known and torch.is_grad_enabled():
            return telling_of_its_pass(outputs, self._end_first)
        return outputs

    def _before_gradient(self, _: torch.Tensor) -> None:
        """Have the previous pass end before a gradient is added to what it may have left."""
        arrivals = self._arrivals
        if arrivals.reduction.is_launched or arrivals.lent:
            arrivals.drain()

    def _after_gradient(self, parameter: nn.Parameter) -> None:
        """Send a gradient that is ready."""
        key, counts = id(parameter), self._counts
        if not self.is_syncing:
            self._arrivals.used.add(key)
            return
        if torch.is_grad_enabled() and _has_graph(parameter):
            raise RuntimeError(_HAS_GRAPH)
        if counts is None:
            reduction = self._arrivals.reduction
            if not reduction.ready:
                self._begin()
            bucket = reduction.take(key)
            if bucket is not None:
                self._arrivals.used |= reduction.keys[bucket]
                self._arrivals.fill(bucket)
            return
        self._arrivals.used.add(key)
        if not counts.is_known:
            self._arrivals.is_counting = True
            counts.is_last(key)
            return
        if not counts.is_begun:
            self._begin()
        if counts.is_last(key):
            self._send(parameter)

    def _begin(self) -> None:
        """Begin a pass whose gradients are sent."""
        refuse_capture()
        self._arrivals.begin()
        self._begun()
        if self._counts and self._counts.is_known:
            self._counts.begin()
            for parameter in self._parameters:
                if self._counts.is_left_out(id(parameter)):
                    self._send(parameter)
        elif self._find_unused and self._counts is None:
            torch.autograd.Variable._execution_engine.queue_callback(self._end_unused)

    def _end_unused(self) -> None:
        """End a pass that may have left parameters out."""
        self._arrivals.used |= self._arrivals.reduction.ready
        self._arrivals.end_unused()

    def _end_first(self) -> None:
        """End the first pass of a static graph: send all that it has."""
        if self._counts and self._arrivals.is_counting:
            self._begin()
            self._arrivals.is_counting = False
            self._counts.is_known = True
            self._arrivals.end_unused()

    def _send(self, parameter: nn.Parameter) -> None:
        """Count a parameter as ready, and send its bucket when that is full."""
        bucket = self._arrivals.reduction.take(id(parameter))
        if bucket is not None:
            self._arrivals.fill(bucket)


def refuse_shared(parameters: Mapping[str, nn.Parameter]) -> None:
    """Refuse parameters whose gradients another run sends.

    Raises
    ------
    RuntimeError
        With their names.
    """
    shared = [name for name, p in parameters.items() if _is_heard(p)]
    if shared:
        raise RuntimeError(
            f"Another PlannedDDP sends the gradients of {some(shared)}: call its detach() first. "
            "Modules that share parameters go in one PlannedDDP, as of a module that holds both."
        )


def _has_graph(parameter: nn.Parameter) -> bool:
    return parameter.grad is not None and parameter.grad.requires_grad


def _is_heard(parameter: nn.Parameter) -> bool:
    hooks = parameter._post_accumulate_grad_hooks or {}
    return any(
        isinstance(getattr(hook, "__self__", None), BackwardPasses) for hook in hooks.values()
    )
