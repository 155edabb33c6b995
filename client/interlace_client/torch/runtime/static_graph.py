"""Graphs that are the same in each step: how many gradients each parameter gets in a pass.

A block that is checkpointed with ``use_reentrant=True`` and used twice gives its parameters two
gradients in one pass, and the backward passes inside end before that around them. The first pass
counts; it is over when the outermost backward pass is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map_only


class GradientCounts:
    """Counts the gradients of each parameter, in the first pass and in those that follow.

    Attributes
    ----------
    is_known
        Whether the first pass is over; its end is told by who uses this.
    """

    def __init__(self) -> None:
        self.is_known = False
        self._expected: Counter[int] = Counter()
        self._left: Counter[int] = Counter()
        self._open = 0

    def is_last(self, key: int) -> bool:
        """Count a gradient; tell whether it is the parameter's last in this pass."""
        if not self.is_known:
            self._expected[key] += 1
            return False
        self._left[key] -= 1
        self._open -= 1
        return self._left[key] <= 0

    def begin(self) -> None:
        """Begin a pass that is as the first."""
        self._left = self._expected.copy()
        self._open = sum(self._expected.values())

    @property
    def is_begun(self) -> bool:
        """Whether a pass has begun that has not all its gradients."""
        return self._open > 0

    def is_left_out(self, key: int) -> bool:
        """Tell whether a parameter got no gradient in the first pass."""
        return key not in self._expected


class _Sink(torch.autograd.Function):
    """Passes what a model returns on; its backward pass is the first of the outermost."""

    @staticmethod
    def forward(ctx: Any, told: Callable[[], None], tensor: torch.Tensor) -> torch.Tensor:
        ctx.told = told
        ctx.set_materialize_grads(False)
        return tensor

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        torch.autograd.Variable._execution_engine.queue_callback(ctx.told)
        return None, *gradients


def telling_of_its_pass(outputs: Any, told: Callable[[], None]) -> Any:
    """Return a model's outputs so that a function is called when their backward pass is over.

    It is called for each output that has a gradient.
    """
    return tree_map_only(
        torch.Tensor, lambda t: _Sink.apply(told, t) if t.grad_fn is not None else t, outputs
    )
