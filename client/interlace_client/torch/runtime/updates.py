"""An optimizer's step in pieces, one for each bucket."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from interlace_client.torch.runtime.separable import OVERRIDDEN, StepOnCopies, attributes_of

#: What a step depends on besides parameters and their state: the options (learning rate, ...) of
#: all groups of an optimizer, and its own attributes.
Options = tuple[list[dict[str, Any]], dict[str, Any]]


class Pieces:
    """What steps the parameters of one bucket at a time, as the user's optimizer would.

    A piece is of the optimizer's class and shares its state, so that its state dict, its schedulers
    and its checkpoints stay the user's. It steps with the options (learning rate, ...) that
    ``snapshot`` took.

    Parameters
    ----------
    optimizer
        The user's.
    homes
        The bucket of each parameter, by the parameter's id.

    Attributes
    ----------
    is_separable
        Whether a step of all parameters is one of each bucket's; None before the first.
    fault
        Why it is not; None where it is, or that is not known.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, homes: Mapping[int, int]) -> None:
        self._optimizer = optimizer
        self._step = type(optimizer).step
        self._form = _form(optimizer)
        self.fault = None if _is_plain(optimizer) else "has another optimizer make its steps"
        self.is_separable: bool | None = None if self.fault is None else False
        self._state = _state_of(optimizer)
        self.members = {id(p) for group in optimizer.param_groups for p in group["params"]}
        self.name = type(optimizer).__name__
        self._pieces: dict[int | None, Any] = {}
        self._parameters: dict[int | None, list[nn.Parameter]] = {}
        if self.is_separable is False:
            return
        buckets = {homes.get(id(p)) for group in optimizer.param_groups for p in group["params"]}
        for bucket in buckets:
            members = [
                [p for p in group["params"] if homes.get(id(p)) == bucket]
                for group in optimizer.param_groups
            ]
            self._pieces[bucket] = _piece(optimizer, members)
            self._parameters[bucket] = [p for group in members for p in group]

    def moved(self, homes: Mapping[int, int]) -> Pieces:
        """Make the pieces of the same optimizer for other buckets, or as it is by now."""
        pieces = Pieces(self._optimizer, homes)
        pieces.is_separable, pieces.fault = self.is_separable, self.fault
        return pieces

    @property
    def is_stale(self) -> bool:
        """Whether the optimizer has got other groups or another state since."""
        return self._form != _form(self._optimizer) or self._state is not _state_of(self._optimizer)

    @property
    def has_hooks(self) -> bool:
        """Whether someone wants to know of each step as a whole."""
        return bool(
            self._optimizer._optimizer_step_pre_hooks
            or self._optimizer._optimizer_step_post_hooks
            or _global_optimizer_pre_hooks
            or _global_optimizer_post_hooks
        )

    def parameters(self, bucket: int) -> Sequence[nn.Parameter]:
        """Give the parameters of a bucket."""
        return self._parameters.get(bucket, ())

    def snapshot(self) -> Options:
        """Take the options of all groups, and the optimizer's attributes, as they are now."""
        groups = [
            {
                key: value.clone() if isinstance(value, torch.Tensor) else value
                for key, value in group.items()
                if key != "params"
            }
            for group in self._optimizer.param_groups
        ]
        return groups, attributes_of(self._optimizer)

    def whole(self, step: Callable[[], Any], *, is_plain: bool = True) -> Any:
        """Make the optimizer's own step, and learn from the first plain one whether it has pieces.

        ``is_plain`` says that the step was called without a closure or the like.
        """
        gradients = (p.grad for group in self._optimizer.param_groups for p in group["params"])
        if self.is_separable is not None or not is_plain or all(g is None for g in gradients):
            return step()
        copies = StepOnCopies(self._optimizer)
        result = step()
        self.fault = copies.compare()
        self.is_separable = self.fault is None
        return result

    def step(self, bucket: int | None, options: Options) -> None:
        """Step the parameters of a bucket that have a gradient, with a snapshot's options."""
        piece = self._pieces.get(bucket)
        if piece is None:
            return
        groups, attributes = options
        for group, taken in zip(piece.param_groups, groups):
            group.update(taken)
        vars(piece).update(attributes)
        self._step(piece)


def _is_plain(optimizer: torch.optim.Optimizer) -> bool:
    """Tell whether an optimizer makes its updates itself, of groups of its own.

    One that hands them to another optimizer, such as ZeroRedundancyOptimizer, has no pieces.
    """
    return "param_groups" in vars(optimizer) and not any(
        isinstance(value, torch.optim.Optimizer) for value in vars(optimizer).values()
    )


def _state_of(optimizer: torch.optim.Optimizer) -> Any:
    """Return an optimizer's state without waiting for updates on their way."""
    return vars(optimizer).get("state")


def _form(optimizer: torch.optim.Optimizer) -> list[list[int]]:
    return [[id(p) for p in group["params"]] for group in optimizer.param_groups]


def _piece(optimizer: torch.optim.Optimizer, members: Sequence[list[nn.Parameter]]) -> Any:
    """Make an optimizer of the same class, options and state, of some of the parameters."""
    piece = object.__new__(type(optimizer))
    piece.__dict__.update({k: v for k, v in vars(optimizer).items() if k not in OVERRIDDEN})
    piece.param_groups = [
        {**group, "params": params} for group, params in zip(optimizer.param_groups, members)
    ]
    piece._optimizer_step_pre_hooks = OrderedDict()  # the user's are called once
    piece._optimizer_step_post_hooks = OrderedDict()
    return piece


def override(
    optimizer: torch.optim.Optimizer, name: str, function: Callable[..., Any]
) -> Callable[[], None]:
    """Have a method of an optimizer call another function; return what undoes it."""
    before = vars(optimizer).get(name)

    def bound(_: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    vars(bound).update(getattr(before, "__dict__", {}))  # a scheduler's mark that it counts steps
    setattr(optimizer, name, MethodType(bound, optimizer))

    def restore() -> None:
        if before is None:
            vars(optimizer).pop(name, None)
        else:
            setattr(optimizer, name, before)

    return restore
