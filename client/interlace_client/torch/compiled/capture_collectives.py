"""Which nodes of a compiled graph are collectives, and of what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

#: Kind of a functional collective, and whether its whole tensor is what it takes or what it gives.
_KINDS: dict[str, tuple[str, str]] = {
    "all_gather_into_tensor": ("all_gather", "gives"),
    "reduce_scatter_tensor": ("reduce_scatter", "takes"),
    "all_reduce": ("all_reduce", "takes"),
    "all_to_all_single": ("all_to_all", "takes"),
    "broadcast": ("broadcast", "takes"),
    "shard_dim_alltoall": ("all_to_all", "takes"),
}
#: What follows the name of a collective of several tensors, of one into a tensor that is given, and
#: of one in place.
_FORMS = ("_coalesced_", "_coalesced", "_out", "_")
#: Namespaces in which each op communicates.
_NAMESPACES = ("_c10d_functional", "c10d", "c10d_functional", "_dtensor", "symm_mem")
_WAIT = "wait_tensor"


@dataclass(frozen=True)
class CapturedGroup:
    """A process group.

    Attributes
    ----------
    name
        Its name in PyTorch, which is the channel's.
    ranks
        Its ranks in the whole job, ascending.
    """

    name: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class CapturedCollective:
    """What a node communicates.

    Attributes
    ----------
    kind
        ``all_gather``, ``reduce_scatter``, ``all_reduce``, ``all_to_all`` or ``broadcast``.
    whole
        ``takes`` where the whole tensor is what it takes, ``gives`` where it is the output.
    group
        Who takes part.
    reduction
        ``sum``, ``avg`` ...; None where nothing is reduced.
    """

    kind: str
    whole: str
    group: CapturedGroup
    reduction: str | None


class UnknownCollective(ValueError):
    """A node that communicates in a way, or between ranks, that is not known."""


def is_wait(node: torch.fx.Node) -> bool:
    """Tell whether a node waits for a collective; it gives what the collective gave."""
    target = node.target
    return (
        isinstance(target, torch._ops.OpOverload)
        and target.namespace in _NAMESPACES
        and target._opname == _WAIT
    )


def collective_of(node: torch.fx.Node) -> CapturedCollective | None:
    """Return what a node communicates, or None where it does not.

    Raises
    ------
    UnknownCollective
        If it communicates, but kind or group is not known here.
    """
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace not in _NAMESPACES:
        return None
    name = target._opname
    stem = next((name[: -len(f)] for f in _FORMS if name.endswith(f) and name not in _KINDS), name)
    if stem not in _KINDS:
        raise UnknownCollective(f"Node {node.name!r}: no rule for the collective {target}.")
    given = arguments_of(node)
    kind, whole = _KINDS[stem]
    return CapturedCollective(
        kind, whole, _group(node, given.get("group_name")), given.get("reduce_op")
    )


def arguments_of(node: torch.fx.Node) -> dict[str, Any]:
    """Return the arguments of an op of PyTorch by the names of its schema."""
    assert isinstance(node.target, torch._ops.OpOverload)
    names = [argument.name for argument in node.target._schema.arguments]
    return {**dict(zip(names, node.args)), **node.kwargs}


def _group(node: torch.fx.Node, given: Any) -> CapturedGroup:
    """Return the group that an argument names or is."""
    if isinstance(given, str):
        try:
            group = dist.distributed_c10d._resolve_process_group(given)
        except (RuntimeError, ValueError, KeyError) as error:
            raise UnknownCollective(
                f"Node {node.name!r}: no process group {given!r} here; capture where the groups "
                f"are, or in fake_ranks(...)."
            ) from error
        return CapturedGroup(given, tuple(sorted(dist.get_process_group_ranks(group))))
    name = getattr(given, "group_name", None)
    if name is None:
        raise UnknownCollective(
            f"Node {node.name!r}: its process group must be a name or a group, got {given!r}."
        )
    return CapturedGroup(str(name), tuple(sorted(dist.get_process_group_ranks(given))))
