"""Waiting where a parameter is read through its module.

``module.weight`` reads ``module._parameters``. A dict in its place has the parameter that is read
arrive first, while one of its parameters is on its way; then it reads as fast as any dict. So each
arrives at the first use, whichever module makes it (``MultiheadAttention`` uses
``out_proj``'s), and also where what follows is not PyTorch's Python, as in an extension. Modules
that are compiled or scripted read their parameters unseen: these arrive before the forward pass.
(What is read in neither way, from a list say, is waited for by its class, see
:mod:`~interlace_client.torch.runtime.pending`.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

#: Has parameters arrive.
Await = Callable[[Iterable["nn.Parameter | None"]], None]


class OpenParameters(dict):  # type: ignore[type-arg]
    """A module's parameters by name, none of which is on its way. Copies are plain dicts.

    Parameters
    ----------
    parameters
        By name.
    wait
        Has parameters arrive.
    """

    def __init__(self, parameters: dict[str, Any], wait: Await) -> None:
        super().__init__(parameters)
        self._wait = wait

    def __reduce__(self) -> Any:
        """Copy and pickle as a plain dict with all updates."""
        return dict, (dict(self.items()),)


class GuardedParameters(OpenParameters):
    """The same while some are on their way: what is read arrives first.

    A wait may make this an :class:`OpenParameters`, so that methods do not ask ``super()``.
    """

    def __getitem__(self, name: str) -> Any:
        """Return a parameter with its update."""
        parameter = dict.__getitem__(self, name)
        self._wait((parameter,))
        return parameter

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter with its update, or the default."""
        return self[name] if name in self else default  # noqa: SIM401 - not dict.get

    def pop(self, name: str, *default: Any) -> Any:
        """Take a parameter with its update out."""
        self._wait((dict.get(self, name),))
        return dict.pop(self, name, *default)

    def values(self) -> Any:
        """Return all parameters with their updates."""
        self._wait(dict.values(self))
        return dict.values(self)

    def items(self) -> Any:
        """Return all names and parameters with their updates."""
        self._wait(dict.values(self))
        return dict.items(self)


class _BeforeForward:
    """A forward pre-hook that has parameters arrive; a copy of it, in a copied module, has none."""

    def __init__(self, parameters: list[nn.Parameter], wait: Await) -> None:
        self._parameters = parameters
        self._wait = wait

    def __call__(self, *_: Any) -> None:
        self._wait(self._parameters)

    def __reduce__(self) -> Any:
        return _nothing_to_await, ()


def _nothing_to_await() -> _BeforeForward:
    return _BeforeForward([], lambda _: None)


class Guards:
    """Has every read of a model's parameters through their modules wait for their updates.

    Parameters
    ----------
    waiting
        Ids of parameters on their way.
    wait
        Has parameters arrive.

    Attributes
    ----------
    unseen
        Parameters that no guard sees: whoever calls the model has them arrive before.
    """

    def __init__(self, waiting: Collection[int], wait: Await) -> None:
        self._waiting, self._wait = waiting, wait
        self.unseen: list[nn.Parameter] = []
        self._removals: list[Callable[[], None]] = []
        self._held: list[OpenParameters] = []
        self._of: dict[frozenset[int], tuple[list[OpenParameters], list[OpenParameters]]] = {}

    def put(self, model: nn.Module) -> None:
        """Put guards on a model that has none."""
        opaque = list(_opaque(model, None))
        inside = {id(inner) for module, _ in opaque for inner in module.modules()}
        for module in model.modules():
            if id(module) not in inside and module._parameters:
                module._parameters = OpenParameters(module._parameters, self._wait)
                self._held.append(module._parameters)
                self._removals.append(partial(_unguard, module))
        for module, parent in opaque:
            # the hooks of some are compiled with them, or cannot be: then the parent has them
            caller = parent if _has_closed_hooks(module) else module
            if caller is None:
                self.unseen += module.parameters()
            else:
                hook = _BeforeForward(list(module.parameters()), self._wait)
                self._removals.append(caller.register_forward_pre_hook(hook).remove)

    def remove(self) -> None:
        """Take the guards off again."""
        for remove in self._removals:
            remove()
        for each in (self._removals, self._held, self._of, self.unseen):
            each.clear()

    def close(self) -> None:
        """Hear that parameters are on their way."""
        for each in self._held:
            each.__class__ = GuardedParameters

    def open(self, arrived: frozenset[int]) -> None:
        """Hear that parameters, by their ids, have arrived."""
        if not self._waiting:
            for each in self._held:
                each.__class__ = OpenParameters
            return
        if arrived not in self._of:
            ids = [(each, {id(p) for p in dict.values(each)}) for each in self._held]
            inside = [each for each, own in ids if own <= arrived]
            across = [each for each, own in ids if own & arrived and not own <= arrived]
            self._of[arrived] = inside, across
        inside, across = self._of[arrived]
        for each in inside:
            each.__class__ = OpenParameters
        for each in across:
            if not any(id(p) in self._waiting for p in dict.values(each)):
                each.__class__ = OpenParameters


def before_forward(module: nn.Module, do: Callable[[], None]) -> list[Callable[[], None]]:
    """Do something before each forward pass of a module; return what ends that.

    The hooks of scripted modules, and of those compiled in place, cannot be had.
    """
    if _has_closed_hooks(module):
        return []
    return [module.register_forward_pre_hook(_BeforeForward([], lambda _: do())).remove]


def is_guarded(model: nn.Module) -> bool:
    """Tell whether a part of a model has guards."""
    return any(isinstance(module._parameters, OpenParameters) for module in model.modules())


def _unguard(module: nn.Module) -> None:
    module._parameters = dict(dict.items(module._parameters))


def _opaque(
    model: nn.Module, parent: nn.Module | None
) -> Iterator[tuple[nn.Module, nn.Module | None]]:
    """Find the outermost modules whose forward pass is not Python's, and their parents."""
    if (
        _has_closed_hooks(model)
        or type(model).__name__ == "OptimizedModule"
        or hasattr(model.forward, "_torchdynamo_orig_callable")
    ):
        yield model, parent
    else:
        for module in model.children():
            yield from _opaque(module, model)


def _has_closed_hooks(module: nn.Module) -> bool:
    """Tell whether a module is scripted, or compiled in place with its hooks."""
    return (
        isinstance(module, torch.jit.ScriptModule)
        or getattr(module, "_compiled_call_impl", None) is not None
    )
