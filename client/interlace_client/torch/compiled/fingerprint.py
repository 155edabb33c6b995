"""Whether two compiled graphs are the same graph."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch


def fingerprint(gm: torch.fx.GraphModule) -> str:
    """Return the SHA-256 of a graph, in hexadecimal digits.

    It is over all nodes in their order: name, kind of node, target, names of the nodes that it
    takes, and shape and type of what it gives. Weights, other constants and the names of process
    groups, which differ between ranks, are no part of it; nor are inputs that are neither tensors
    nor numbers. A model with DTensors has one for each mesh, and which of these equal meshes a
    graph keeps for its backward pass differs between two compilations of the same model.

    Parameters
    ----------
    gm
        A graph whose nodes have metas (``val``), as after ``torch.compile`` or ``make_fx``.

    Notes
    -----
    O(nodes + edges). Shapes with symbols count by the text of their expression.
    """
    digest = hashlib.sha256()
    for node in gm.graph.nodes:
        if _is_opaque(node):
            continue
        inputs = [other.name for other in node.all_input_nodes if not _is_opaque(other)]
        line = [node.name, node.op, target_of(node), inputs, _described(node.meta.get("val"))]
        digest.update(json.dumps(line, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()


def target_of(node: torch.fx.Node) -> str:
    """Name what a node calls, the same in each process: ``aten.mm.default``."""
    target = node.target
    if isinstance(target, (str, torch._ops.OpOverload)):
        return str(target)
    name = getattr(target, "__name__", type(target).__name__)
    return f"{getattr(target, '__module__', '')}.{name}"


def _is_opaque(node: torch.fx.Node) -> bool:
    """Tell whether a node is an input that is neither a tensor nor a number, such as a mesh."""
    value = node.meta.get("val")
    of_numbers = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, int, float)
    return node.op == "placeholder" and value is not None and not isinstance(value, of_numbers)


def _described(value: Any) -> Any:
    """Return shape and type of a tensor, or of each in a sequence; None of anything else."""
    if isinstance(value, torch.Tensor):
        return [[str(size) for size in value.shape], str(value.dtype)]
    if isinstance(value, (list, tuple)):
        return [_described(part) for part in value]
    return None
