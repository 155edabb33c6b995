"""Hooks where a module begins and ends, from outside of what is compiled.

The hooks of a module that was compiled in place (``module.compile()``) are compiled with it: to add
one would have it compiled anew. These are put around the compiled call.
"""

from __future__ import annotations

from typing import Any, Callable

from torch import nn

Entry = Callable[[nn.Module, Any], None]
Exit = Callable[[nn.Module, Any, Any], None]


class _Around:
    """Stands in the place of a compiled call, as long as there are hooks."""

    def __init__(self, module: nn.Module) -> None:
        self.call = module._compiled_call_impl
        self.entries: list[Entry] = []
        self.exits: list[Exit] = []
        self._module = module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for entry in tuple(self.entries):
            entry(self._module, args)
        output = None
        try:
            output = self.call(*args, **kwargs)
        finally:
            for leave in tuple(self.exits):
                leave(self._module, args, output)
        return output


def on_entry(module: nn.Module, hook: Entry) -> Callable[[], None]:
    """Call a hook before a module runs; return what removes it."""
    if is_compiled_in_place(module):
        return _add(module, _around(module).entries, hook)
    return module.register_forward_pre_hook(hook).remove


def on_exit(module: nn.Module, hook: Exit) -> Callable[[], None]:
    """Call a hook after a module has run, an error or not; return what removes it."""
    if is_compiled_in_place(module):
        return _add(module, _around(module).exits, hook)
    return module.register_forward_hook(hook, always_call=True).remove


def is_compiled_in_place(module: nn.Module) -> bool:
    """Tell whether a module was compiled by ``module.compile()``."""
    return getattr(module, "_compiled_call_impl", None) is not None


def _around(module: nn.Module) -> _Around:
    if not isinstance(module._compiled_call_impl, _Around):
        module._compiled_call_impl = _Around(module)
    around: _Around = module._compiled_call_impl
    return around


def _add(module: nn.Module, hooks: list[Any], hook: Any) -> Callable[[], None]:
    hooks.append(hook)

    def remove() -> None:
        around = _around(module)
        hooks.remove(hook)
        if not around.entries and not around.exits:
            module._compiled_call_impl = around.call

    return remove
