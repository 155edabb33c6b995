"""Waiting where a parameter is read through its module.

``module.weight`` reads ``module._parameters``. A dict in its place has the parameter that is read
arrive first: at the first use, whichever module makes it (``MultiheadAttention`` uses
``out_proj``'s), and also where what follows is not PyTorch's Python, as in an extension. Modules
that are compiled or scripted read their parameters unseen: these arrive before the forward pass.
(What is read in neither way, from a list say, is waited for by its class, see
:mod:`~interlace_client.torch.runtime.pending`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

#: Has parameters arrive.
Await = Callable[[Iterable["nn.Parameter | None"]], None]


class GuardedParameters(dict):  # type: ignore[type-arg]
    """A module's parameters by name: what is read arrives first. Copies are plain dicts.

    Parameters
    ----------
    parameters
        By name.
    waiting
        By the ids of parameters that are on their way; empty when none is.
    wait
        Has them arrive.
    """

    def __init__(self, parameters: dict[str, Any], waiting: dict[int, int], wait: Await) -> None:
        super().__init__(parameters)
        self._waiting = waiting
        self._wait = wait

    def __getitem__(self, name: str) -> Any:
        """Return a parameter with its update."""
        parameter = dict.__getitem__(self, name)
        if self._waiting:
            self._wait((parameter,))
        return parameter

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter with its update, or the default."""
        return self[name] if name in self else default  # noqa: SIM401 - not dict.get

    def pop(self, name: str, *default: Any) -> Any:
        """Take a parameter with its update out."""
        self._wait((super().get(name),))
        return super().pop(name, *default)

    def values(self) -> Any:
        """Return all parameters with their updates."""
        self._wait(super().values())
        return super().values()

    def items(self) -> Any:
        """Return all names and parameters with their updates."""
        self._wait(super().values())
        return super().items()

    def __reduce__(self) -> Any:
        """Copy and pickle as a plain dict with all updates."""
        return dict, (dict(self.items()),)


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


def guard(
    model: nn.Module, waiting: dict[int, int], wait: Await
) -> tuple[list[Callable[[], None]], list[nn.Parameter]]:
    """Have every read of a model's parameters through their modules wait for their updates.

    Parameters
    ----------
    model
        The model.
    waiting
        Filled by ids of parameters on their way.
    wait
        Has parameters arrive.

    Returns
    -------
    removals
        What takes the guards off again.
    unseen
        Parameters that no guard sees: whoever calls the model has them arrive before.
    """
    removals: list[Callable[[], None]] = []
    unseen: list[nn.Parameter] = []
    opaque = list(_opaque(model, None))
    inside = {id(inner) for module, _ in opaque for inner in module.modules()}
    for module in model.modules():
        if id(module) not in inside and module._parameters:
            module._parameters = GuardedParameters(module._parameters, waiting, wait)
            removals.append(partial(_unguard, module))
    for module, parent in opaque:
        # the hooks of some are compiled with them, or cannot be: then the parent has them
        caller = parent if _has_closed_hooks(module) else module
        if caller is None:
            unseen += module.parameters()
        else:
            hook = _BeforeForward(list(module.parameters()), wait)
            removals.append(caller.register_forward_pre_hook(hook).remove)
    return removals, unseen


def before_forward(module: nn.Module, do: Callable[[], None]) -> list[Callable[[], None]]:
    """Do something before each forward pass of a module; return what ends that.

    The hooks of scripted modules, and of those compiled in place, cannot be had.
    """
    if _has_closed_hooks(module):
        return []
    return [module.register_forward_pre_hook(_BeforeForward([], lambda _: do())).remove]


def is_guarded(model: nn.Module) -> bool:
    """Tell whether a part of a model has guards."""
    return any(isinstance(module._parameters, GuardedParameters) for module in model.modules())


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
