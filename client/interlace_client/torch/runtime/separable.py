"""Whether an optimizer's step is the sum of steps of its parts, found out on copies of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch

#: The step is tried in so many parts; each takes every so manyth parameter.
_PARTS = 3

#: The second try is with other gradients, so that what is clipped at a norm is clipped: times this,
#: and one more each.
_TIMES, _MORE = 4096.0, 1.0

#: Methods of an optimizer in whose place its run has others.
OVERRIDDEN = ("step", "zero_grad")

#: What an optimizer has that copies do without: its user's hooks, and its run's methods.
_LEFT_OUT = (*OVERRIDDEN, "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")

#: What PyTorch itself keeps in an optimizer, which says nothing of its updates.
_PRIVATE = (
    *("_optimizer_", "_zero_grad", "_opt_called", "_step_", "_warned", "_need_", "_hook", "_patch"),
)


class StepOnCopies:
    """An optimizer as it is before a step, to be compared with what the step makes of it.

    A step is separable where parts of the parameters, each stepped by an optimizer of its own that
    has the state of its parameters, come out as the whole does, bit for bit: by the gradients of
    the step, and by much larger ones. Copies of parameters, gradients and state are held for the
    time of the comparison.

    Parameters
    ----------
    optimizer
        Before its step.

    Notes
    -----
    An update that depends on other parameters only under conditions that neither step meets is not
    found out. Neither is a step that changes what the optimizer does not hold (a global counter, a
    model behind a weak reference), and the copies' steps change that, too: seven more.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._class_values = _class_values(type(optimizer))
        self.fault: str | None = None
        try:
            self._before = _copy(optimizer)
        except Exception as error:  # noqa: BLE001 - whatever cannot be copied, the step is whole
            self.fault = f"cannot be copied ({type(error).__name__}), so its step is not split"

    def compare(self) -> str | None:
        """Say after the step why it has no parts; None where it has."""
        if self.fault is None and _class_values(type(self._optimizer)) != self._class_values:
            self.fault = "changes values of its class in a step"
        if self.fault is None:
            with _randomness_kept(self._optimizer):
                try:
                    self.fault = self._differing()
                except Exception as error:  # noqa: BLE001 - a part that fails is no part
                    self.fault = f"cannot step parts of its parameters ({type(error).__name__})"
        return self.fault

    def _differing(self) -> str | None:
        if not _are_kept(self._before, self._optimizer):
            return "changes more than parameters and their state in a step"
        _step_parts(self._before)
        is_same = _are_same(self._optimizer, self._before)
        del self._before
        if is_same:
            whole, parts = _copy(self._optimizer), _copy(self._optimizer)
            for each in (whole, parts):
                for p in _parameters(each):
                    if p.grad is not None:
                        p.grad.mul_(_TIMES).add_(_MORE)
            type(whole).step(whole)
            _step_parts(parts)
            is_same = _are_same(whole, parts) and _are_kept(whole, self._optimizer)
        return None if is_same else "updates parameters by what others of them have"


def attributes_of(optimizer: Any) -> dict[str, Any]:
    """Return what an optimizer has besides parameters and their state."""
    known = {"state", "param_groups", *OVERRIDDEN}
    return {
        k: v for k, v in vars(optimizer).items() if k not in known and not k.startswith(_PRIVATE)
    }


def _class_values(of: type) -> dict[str, str]:
    """Write the values that an optimizer's classes have, but for PyTorch's own."""
    return {
        f"{each.__qualname__}.{name}": repr(value)
        for each in of.__mro__
        if not each.__module__.startswith("torch.") and each is not object
        for name, value in vars(each).items()
        if not name.startswith("__")
        and not isinstance(value, (FunctionType, property, classmethod, staticmethod))
        and not hasattr(value, "__wrapped__")
    }


def _copy(optimizer: torch.optim.Optimizer) -> Any:
    """Copy an optimizer with parameters, gradients and state, without its user's hooks."""
    own = {k: v for k, v in vars(optimizer).items() if k not in _LEFT_OUT}
    other = object.__new__(type(optimizer))
    other.__dict__.update(copy.deepcopy(own))
    other._optimizer_step_pre_hooks = {}
    other._optimizer_step_post_hooks = {}
    for p, theirs in zip(_parameters(optimizer), _parameters(other)):
        theirs.grad = None if p.grad is None else p.grad.detach().clone()
    return other


def _parameters(optimizer: Any) -> Iterator[torch.nn.Parameter]:
    return (p for group in optimizer.param_groups for p in group["params"])


def _step_parts(optimizer: Any) -> None:
    """Step parts of an optimizer's parameters, one part after another."""
    groups, step = optimizer.param_groups, type(optimizer).step
    number = {id(p): k for k, p in enumerate(_parameters(optimizer))}
    for part in range(_PARTS):
        piece = object.__new__(type(optimizer))
        piece.__dict__.update(vars(optimizer))
        piece.param_groups = [
            {**g, "params": [p for p in g["params"] if number[id(p)] % _PARTS == part]}
            for g in groups
        ]
        step(piece)


def _are_same(one: Any, other: Any) -> bool:
    """Tell whether two optimizers have the same parameters and state, bit for bit."""
    common = [
        {key: value for key, value in each.state.items() if not isinstance(key, torch.Tensor)}
        for each in (one, other)
    ]
    return _is_same(common[0], common[1], set()) and all(
        _is_same((p, one.state.get(p, {})), (q, other.state.get(q, {})), set())
        for p, q in zip(_parameters(one), _parameters(other))
    )


def _are_kept(one: Any, other: Any) -> bool:
    """Tell whether two optimizers have the same options and attributes, but for parameters."""
    options = [
        [{k: v for k, v in group.items() if k != "params"} for group in each.param_groups]
        for each in (one, other)
    ]
    seen = {(id(p), id(q)) for p, q in zip(_parameters(one), _parameters(other))}
    return _is_same(options[0], options[1], seen) and _is_same(
        attributes_of(one), attributes_of(other), seen
    )


def _is_same(one: Any, other: Any, seen: set[tuple[int, int]]) -> bool:
    """Compare values all the way down; pairs of ids that were ``seen`` are not looked at again."""
    if one is other or (id(one), id(other)) in seen:
        return True
    seen.add((id(one), id(other)))
    if isinstance(one, torch.Tensor):
        return (
            isinstance(other, torch.Tensor)
            and one.shape == other.shape
            and bool(((one == other) | (one.isnan() & other.isnan())).all())
        )
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(
            _is_same(one[key], other[key], seen) for key in one
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_is_same(*pair, seen) for pair in zip(one, other))
    if hasattr(one, "__dict__") and type(one) is type(other):
        return _is_same(vars(one), vars(other), seen)
    return type(one) is type(other) and bool(one == other)


@contextmanager
def _randomness_kept(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Leave the generators of random numbers as they are."""
    devices = {p.device.index for p in _parameters(optimizer) if p.is_cuda}
    with torch.random.fork_rng(sorted(d for d in devices if d is not None)):
        yield
