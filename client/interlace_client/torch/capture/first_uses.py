"""Which module runs when a parameter is used for the first time in a step.

A parameter need not be used by the module that owns it: multi-head attention uses that of its
output projection itself, a tied embedding is used by the head. So every function that PyTorch is
asked for is looked at, and the module that runs is the innermost one that was entered. What a
module hands to functions that are not PyTorch's own (``torch.autograd.Function.apply``) is seen by
nobody: of its own parameters it is taken to be the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.overrides import TorchFunctionMode

from interlace_client.torch.capture.entrances import on_entry, on_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import nn

    from interlace_client.torch.capture.anatomy import Anatomy

#: Properties of a tensor that hand out its values; the others describe it.
_VALUES = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
#: Methods that describe a tensor.
_DESCRIPTIONS = frozenset(
    {
        "__hash__",
        "__len__",
        "__set__",
        "data_ptr",
        "dim",
        "element_size",
        "get_device",
        "is_complex",
        "is_contiguous",
        "is_floating_point",
        "is_signed",
        "ndimension",
        "nelement",
        "numel",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "requires_grad_",
        "size",
        "storage_offset",
        "stride",
    }
)


class FirstUses:
    """Watches forward passes; slows them, so it is for a few steps only.

    ``uses`` has of each parameter that was used the modules that first did so in a step, both by
    position, in the order in which they were seen.
    """

    def __init__(self, anatomy: Anatomy) -> None:
        self.uses: dict[int, list[int]] = {}
        self._anatomy = anatomy
        self._position = {id(p): i for i, (_, p) in enumerate(anatomy.parameters)}
        self._used: set[int] = set()
        self._running: list[int] = []
        self._mode: TorchFunctionMode | None = None
        self._is_forward = False
        self._removals: list[Callable[[], None]] = []
        for i, (_, module) in enumerate(anatomy.modules):
            self._removals += self._watch(i, module)

    def begin_step(self) -> None:
        """Let every parameter be unused again."""
        self._used.clear()

    def begin_forward(self) -> None:
        """Watch from here; called where the root begins, outside of the backward pass."""
        self._running.clear()
        self._is_forward = True
        self._look(on=True)

    def end_forward(self) -> None:
        """Watch no longer."""
        self._is_forward = False
        self._look(on=False)

    def remove(self) -> None:
        """Leave the model as it was."""
        self.end_forward()
        while self._removals:
            self._removals.pop()()

    def use(self, parameters: Iterable[int]) -> None:
        """Note that the module that runs uses parameters."""
        self._note(self._running[-1] if self._running else 0, parameters)

    def _note(self, module: int, parameters: Iterable[int]) -> None:
        for i in parameters:
            if i not in self._used:
                self._used.add(i)
                seen = self.uses.setdefault(i, [])
                if module not in seen:
                    seen.append(module)

    def _look(self, *, on: bool) -> None:
        if on and self._mode is None:
            self._mode = _Functions(self._position, self.use)
            self._mode.__enter__()
        elif not on and self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None

    def _watch(self, i: int, module: nn.Module) -> list[Callable[[], None]]:
        is_opaque = i in self._anatomy.opaque
        held = [self._position.get(id(p)) for p in module.parameters(recurse=False)]
        own = [position for position in held if position is not None]

        def enter(module: nn.Module, args: Any) -> None:
            if self._mode is not None:
                self._running.append(i)
                if is_opaque:  # the compiler shall not find the mode
                    self.use(self._anatomy.inside[i])
                    self._look(on=False)

        def leave(module: nn.Module, args: Any, output: Any) -> None:
            if i in self._running:
                while self._running.pop() != i:
                    pass
                if is_opaque and self._is_forward:
                    self._look(on=True)
                self._note(i, own)

        return [on_entry(module, enter), on_exit(module, leave)]


class _Functions(TorchFunctionMode):
    """Says which parameters the functions of PyTorch are called with.

    It is called thousands of times a step: most arguments are no parameters, and seen not to be by
    a look at their id.
    """

    def __init__(self, position: dict[int, int], use: Callable[[list[int]], None]) -> None:
        super().__init__()
        self._position = position
        self._use = use

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found: list[int] = []
        self._find(args, found)
        if kwargs:
            self._find(kwargs.values(), found)
        if found and not _describes(func):
            self._use(found)
        return func(*args, **(kwargs or {}))

    def _find(self, values: Iterable[Any], found: list[int]) -> None:
        position = self._position
        for value in values:
            i = position.get(id(value))
            if i is not None:
                found.append(i)
            elif isinstance(value, (list, tuple)):
                self._find(value, found)


def _describes(func: Any) -> bool:
    """Tell whether a function asks a tensor what it is, and not for its values."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return getattr(getattr(func, "__self__", None), "__name__", "") not in _VALUES
    return name in _DESCRIPTIONS
