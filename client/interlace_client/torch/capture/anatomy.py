"""What a model is made of: its wrappers, its modules, its parameters, and what cannot be seen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.capture.entrances import is_compiled_in_place
from interlace_client.torch.runtime.planned import PlannedDDP

_COMPILED = "_orig_mod"


@dataclass(frozen=True)
class Anatomy:
    """A model as hooks see it.

    Parameters
    ----------
    outer
        What the training loop calls: a wrapper, or the root.
    root
        The model within the wrappers; compiled, if it is.
    modules
        Name and module of all that can be seen to run, the root first, which has the name ''.
    opaque
        Positions of modules that run as one: compiled ones and scripts.
    parameters
        Name and parameter of each that is trained and has elements, in order of registration, one
        that is shared once.
    inside
        Of each opaque module the positions of the parameters that it holds.
    wrapper
        What holds the model and communicates for it, None where nothing does.
    """

    outer: nn.Module
    root: nn.Module
    modules: tuple[tuple[str, nn.Module], ...]
    opaque: frozenset[int]
    parameters: tuple[tuple[str, nn.Parameter], ...]
    inside: dict[int, tuple[int, ...]]
    wrapper: DistributedDataParallel | PlannedDDP | None


def anatomy_of(model: nn.Module) -> Anatomy:
    """Take a model apart.

    Raises
    ------
    ValueError
        It has no parameter that is trained, or some that are not initialized yet.
    """
    chain = _chain(model)
    wrappers = [one for one in chain if isinstance(one, (DistributedDataParallel, PlannedDDP))]
    root = next((one for one in chain if _is_opaque(one)), chain[-1])
    found = list(chain[-1].named_parameters())
    lazy = [name for name, p in found if isinstance(p, nn.parameter.UninitializedParameter)]
    if lazy:
        raise ValueError(
            f"Parameters are not initialized: {', '.join(map(repr, lazy))}. Call the model once."
        )
    parameters = tuple(
        (_plain(name), parameter)
        for name, parameter in found
        if parameter.requires_grad and parameter.numel()
    )
    if not parameters:
        raise ValueError("The model has no parameter that requires a gradient.")
    position = {id(parameter): i for i, (_, parameter) in enumerate(parameters)}
    modules: list[tuple[str, nn.Module]] = []
    inside: dict[int, tuple[int, ...]] = {}
    _walk("", root, modules, inside, position)
    return Anatomy(
        outer=model,
        root=root,
        modules=tuple(modules),
        opaque=frozenset(inside),
        parameters=parameters,
        inside=inside,
        wrapper=wrappers[0] if wrappers else None,
    )


def _chain(model: nn.Module) -> list[nn.Module]:
    """Return a model and what is within its wrappers and its compiled form, inwards."""
    chain = [model]
    while True:
        if isinstance(chain[-1], (DistributedDataParallel, PlannedDDP)):
            chain.append(chain[-1].module)
        elif hasattr(chain[-1], _COMPILED):
            chain.append(getattr(chain[-1], _COMPILED))
        else:
            return chain


def _is_opaque(module: nn.Module) -> bool:
    is_compiled = is_compiled_in_place(module) or hasattr(module, _COMPILED)
    return is_compiled or isinstance(module, torch.jit.ScriptModule)


def _plain(name: str) -> str:
    return ".".join(word for word in name.split(".") if word != _COMPILED)


def _walk(
    name: str,
    module: nn.Module,
    modules: list[tuple[str, nn.Module]],
    inside: dict[int, tuple[int, ...]],
    position: dict[int, int],
) -> None:
    """List a module and those within it, but nothing within an opaque one."""
    if any(module is other for _, other in modules):
        return
    modules.append((name, module))
    if _is_opaque(module):
        held = (position.get(id(parameter)) for parameter in module.parameters())
        inside[len(modules) - 1] = tuple(i for i in held if i is not None)
        return
    for child, within in module.named_children():
        _walk(f"{name}.{child}" if name else child, within, modules, inside, position)
