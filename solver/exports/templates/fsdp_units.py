"""The units of a plan for PyTorch's ``fully_shard`` (FSDP2), with what each one prefetches.

Call ``torch.distributed.init_process_group`` first, and make the optimizer afterwards::

    shard(model)  # mesh=..., mp_policy=... as for fully_shard
    optimizer = torch.optim.AdamW(model.parameters())

Where the plan's names are not the paths of modules, say which modules they are::

    shard(model, {"block 0": model.blocks[0], "block 1": model.blocks[1]})

The model's own unit, whose name is empty, has the parameters that are in no other unit.

Tested with PyTorch 2.13.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.distributed.fsdp import fully_shard

#: Modules by unit, in the order of the forward pass. A unit is gathered and reduced as one.
UNITS = [["module"]]
#: For each unit whether it is freed after the forward pass and gathered again.
RESHARD = [True]
#: Places in UNITS that each unit asks for before its forward pass.
FORWARD_PREFETCH = [[0]]
#: Places in UNITS that each unit asks for before its backward pass.
BACKWARD_PREFETCH = [[0]]

_NAMED = 5


def shard(
    model: nn.Module, modules: Mapping[str, nn.Module] | None = None, **options: Any
) -> nn.Module:
    """Apply ``fully_shard`` to the plan's units, then to the model; return the model.

    Parameters
    ----------
    model
        The module; each of its parameters is in exactly one unit.
    modules
        Modules by the names in UNITS; None means that the names are paths in the model.
    options
        Of ``fully_shard``, for all units: mesh, mp_policy, offload_policy and others.

    Raises
    ------
    ValueError
        When modules are missing, or parameters are in no unit or in several, with all of them.
    """
    known = dict(model.named_modules()) if modules is None else dict(modules)
    names = [name for unit in UNITS for name in unit]
    owners: dict[int, set[int]] = {}
    for place, unit in enumerate(UNITS):
        for name in unit:
            inner = name in known and known[name] is not model
            for parameter in known[name].parameters() if inner else ():
                owners.setdefault(id(parameter), set()).add(place)
    rest = {place for place, unit in enumerate(UNITS) if any(known.get(n) is model for n in unit)}
    parameters = [(n, owners.get(id(p), rest)) for n, p in model.named_parameters()]
    wrong = {
        "no modules": [name for name in names if name not in known],
        "parameters in no unit": [name for name, units in parameters if not units],
        "parameters in several units": [name for name, units in parameters if len(units) > 1],
    }
    if any(wrong.values()):
        faults = "; ".join(f"{rule}: {_some(found)}" for rule, found in wrong.items() if found)
        raise ValueError(f"The plan's units are not the model's. {faults}.")
    units = [[known[name] for name in unit] for unit in UNITS]
    inside_out = sorted(zip(units, RESHARD, strict=True), key=lambda pair: pair[0][0] is model)
    for unit, reshard in inside_out:
        whole = unit if len(unit) > 1 else unit[0]
        fully_shard(whole, reshard_after_forward=reshard, **options)
    if not any(module is model for unit in units for module in unit):
        fully_shard(model, **options)
    for (first, *_), ahead, back in zip(units, FORWARD_PREFETCH, BACKWARD_PREFETCH, strict=True):
        first.set_modules_to_forward_prefetch([units[place][0] for place in ahead])
        first.set_modules_to_backward_prefetch([units[place][0] for place in back])
    return model


def _some(names: list[str]) -> str:
    """Name the first few."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more
