"""What nodes of a post-grad graph are: collectives, waits, views, and what they do to memory."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

_OPS = torch.ops._c10d_functional

#: Collectives of one tensor that buckets are made of, with their kind in a plan.
KINDS: dict[Any, str] = {
    _OPS.all_gather_into_tensor.default: "all_gather",
    _OPS.reduce_scatter_tensor.default: "reduce_scatter",
    _OPS.all_reduce.default: "all_reduce",
    _OPS.all_to_all_single.default: "all_to_all",
}
#: Namespaces of what launches; that of DTensors has waited when it returns.
_SENDING = {"_c10d_functional", "c10d_functional", "_dtensor"}
#: What makes its kind's whole tensor: what goes in or what comes out.
_WHOLE_GOES_IN = {"reduce_scatter"}


def is_wait(node: fx.Node) -> bool:
    """Tell whether a node waits for a collective."""
    return node.op == "call_function" and node.target is _OPS.wait_tensor.default


def is_collective(node: fx.Node) -> bool:
    """Tell whether a node launches a collective, of whatever form."""
    target = node.target
    return (
        node.op == "call_function"
        and isinstance(target, torch._ops.OpOverload)
        and target.namespace in _SENDING
        and not is_wait(node)
    )


def waits_of(node: fx.Node) -> list[fx.Node]:
    """Return the waits for a collective."""
    return [user for user in node.users if is_wait(user)]


def is_view(node: fx.Node) -> bool:
    """Tell whether a node only looks at, or is one output of, another: it takes no time."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return True
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable:
        return False
    returned = target._schema.returns
    return bool(returned) and all(each.alias_info is not None for each in returned)


def is_mutation(node: fx.Node) -> bool:
    """Tell whether a node writes into what another made."""
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable


def is_work(node: fx.Node) -> bool:
    """Tell whether a node computes a tensor of tensors."""
    if node.op != "call_function" or is_view(node) or is_wait(node) or is_collective(node):
        return False
    tensors = torch.utils._pytree.tree_leaves(node.meta.get("val"))
    return bool(node.all_input_nodes) and any(isinstance(t, torch.Tensor) for t in tensors)


def written_by(node: fx.Node) -> list[fx.Node]:
    """Return the nodes into whose tensors a node writes."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return []
    found: list[fx.Node] = []
    for k, argument in enumerate(target._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[k] if k < len(node.args) else node.kwargs.get(argument.name)
        leaves = torch.utils._pytree.tree_leaves(given)
        found += [leaf for leaf in leaves if isinstance(leaf, fx.Node)]
    return found


def whole_bytes(node: fx.Node) -> int | None:
    """Return the bytes of a collective, the whole tensor; None where that is not known."""
    kind = KINDS.get(node.target)
    if kind is None:
        return None
    of = node.args[0] if kind in _WHOLE_GOES_IN else node
    value = of.meta.get("val") if isinstance(of, fx.Node) else None
    if not isinstance(value, torch.Tensor) or not isinstance(value.numel(), int):
        return None
    return value.numel() * value.element_size()
