"""How large tensors are, and what a call writes."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

_SCALARS = (operator.add, operator.mul, operator.sub, operator.floordiv, operator.mod,
            operator.truediv, operator.neg, operator.pow, operator.eq, operator.ne, operator.lt,
            operator.le, operator.gt, operator.ge)  # fmt: skip
_SIZES = {"aten::sym_size", "aten::sym_stride", "aten::sym_numel", "aten::sym_storage_offset"}
_CHECKS = {
    "aten::_assert_tensor_metadata",
    "aten::_assert_scalar",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
}

#: Ops that the schema calls copies, and that are views.
_VIEWS = {"aten::_unsafe_view", "aten::lift_fresh"}
#: Ops that are views or copies, as the strides are.
_PERHAPS_VIEWS = {"aten::reshape", "aten::contiguous", "aten::to"}
#: Ops that write what they are given first without reading it.
_OVERWRITES = {"aten::copy_", "aten::fill_", "aten::zero_", "aten::_foreach_copy_"}


def number_of(size: Any) -> int | None:
    """Return a size as a number; of a symbol what it was traced with, None where nobody knows."""
    if isinstance(size, int):
        return size
    node = getattr(size, "node", None)
    for name in ("hint", "_hint"):
        hint = getattr(node, name, None)
        if isinstance(hint, int):
            return hint
    return None


def bytes_of(value: torch.Tensor) -> int | None:
    """Size of a tensor [bytes]: elements times their size; None where it is not known."""
    sizes = [number_of(size) for size in value.shape]
    known = [size for size in sizes if size is not None]
    return math.prod(known) * value.element_size() if len(known) == len(sizes) else None


def touched(node: torch.fx.Node) -> int:
    """Size of all tensors that a node gives [bytes]; what is not known counts as 0."""
    value = node.meta.get("val")
    parts = value if isinstance(value, (list, tuple)) else [value]
    return sum(bytes_of(part) or 0 for part in parts if isinstance(part, torch.Tensor))


def is_scalar(node: torch.fx.Node) -> bool:
    """Tell whether a node computes with sizes, on the host: it takes no time."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name in _SIZES | _CHECKS
    module = getattr(target, "__module__", None)
    is_sum = target in _SCALARS or module in {"math", "torch.utils._sympy.functions"}
    is_sum = is_sum or getattr(target, "__name__", "").startswith("sym_")
    return is_sum and not isinstance(node.meta.get("val"), torch.Tensor)


def written(node: torch.fx.Node) -> tuple[list[torch.fx.Node], bool]:
    """List the inputs that a call writes, and tell whether it has a schema that says so.

    A call without one that gives no tensor is taken to write all that it is given.
    """
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        gives = touched(node) > 0
        return ([] if gives else list(node.all_input_nodes)), False
    found: list[torch.fx.Node] = []
    for place, argument in enumerate(target._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.kwargs.get(argument.name)
        if place < len(node.args):
            given = node.args[place]
        torch.fx.map_arg(given, found.append)
    return found, True


def only_written(node: torch.fx.Node, changed: list[torch.fx.Node]) -> list[torch.fx.Node]:
    """List the inputs that a call writes without reading them."""
    name = node.target._schema.name if isinstance(node.target, torch._ops.OpOverload) else ""
    is_overwritten = is_out(node) or name in _OVERWRITES
    return changed if is_overwritten else []


def is_view(node: torch.fx.Node) -> bool:
    """Tell whether a node is a look at its first argument."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    schema = target._schema
    if schema.name in _VIEWS:
        return True
    if schema.is_mutable or not returns_aliases(node):
        return False
    if schema.name not in _PERHAPS_VIEWS:
        return True
    source = node.all_input_nodes[0].meta.get("val")
    return bool(torch._C._is_alias_of(source, node.meta["val"]))


def returns_aliases(node: torch.fx.Node) -> bool:
    """Tell whether all that a call gives is, by its schema, a look at what it is given."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    returns = node.target._schema.returns
    return bool(returns) and all(each.alias_info is not None for each in returns)


def is_out(node: torch.fx.Node) -> bool:
    """Tell whether a call writes what it gives into an argument ``out``."""
    return "out" in node.kwargs


def is_number(node: torch.fx.Node) -> bool:
    """Tell whether a node gives a number and no tensor."""
    return not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple, type(None)))
