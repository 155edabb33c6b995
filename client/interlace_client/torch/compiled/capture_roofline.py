"""How long calls take at least on a GPU: by its FLOP/s and by the bandwidth of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from interlace_client.torch.compiled.capture_calls import TimedNode
from interlace_client.torch.compiled.capture_gpus import Gpu
from interlace_client.torch.compiled.capture_memory import number_of

#: Ops that read as much of their first input as they write, and not all of it.
_PICKS = {
    "aten::embedding",
    "aten::index",
    "aten::index_select",
    "aten::gather",
    "aten::slice_copy",
}


def roofline(
    calls: Sequence[TimedNode],
    kept: frozenset[str],
    gpu: Gpu,
    *,
    efficiency: float = 0.6,
    fused: bool = True,
    tf32: bool = False,
) -> dict[str, float]:
    r"""Return the time of each call of compute [us]: :math:`\max(F / (e R), B / M)`.

    F is from PyTorch's registry of FLOPs, where it has the op; B is what the call reads and
    writes.

    Parameters
    ----------
    calls
        In the order of the graph.
    kept
        Buffers that are results, so that they are written in any case.
    gpu
        Its rate R by the type of the call's first input, and its memory M.
    efficiency
        Share e of the rate that matrix products reach.
    fused
        Count chains of pointwise ops as compilers run them. A pointwise op belongs to the chain of
        the last pointwise op whose output it reads, where both have as many elements and only
        pointwise ops lie on the longest path between them. A chain reads each buffer from outside
        once, at its first reader, and writes only what others read. Each op stays an op of its
        own, with its share of the chain's bytes.
    tf32
        Whether products of fp32 are computed in tf32.

    Notes
    -----
    O(calls + edges).

    References
    ----------
    .. [1] S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance
           model for multicore architectures, 2009.
    """
    moved = _chained(calls, kept) if fused else {c.name: _bytes_of(c) for c in calls}
    times = {}
    for call in calls:
        if call.collective is None:
            rate = _rate(call, gpu, tf32=tf32) * efficiency
            times[call.name] = max(flops_of(call) / rate / 1e6, moved[call.name] / gpu.memory / 1e6)
    return times


def flops_of(call: TimedNode) -> float:
    """Floating-point operations of a call; 0 where PyTorch's registry does not know the op.

    Of sizes that differ from call to call it is those of the first. They are numbers here: the
    registry compares sizes, and of symbols that would compile a graph for each size.
    """
    target = call.node.target
    count = flop_registry.get(getattr(target, "overloadpacket", target))
    if count is None:
        return 0.0
    args = torch.fx.map_arg(call.node.args, _value)
    kwargs = torch.fx.map_arg(call.node.kwargs, _value)
    return float(count(*args, **kwargs, out_val=_value(call.node)))


def _value(node: torch.fx.Node) -> Any:
    return torch.utils._pytree.tree_map(_in_numbers, node.meta.get("val"))


def _in_numbers(value: Any) -> Any:
    """Return a size as a number, and a tensor of symbolic sizes as one of numbers."""
    if isinstance(value, torch.SymInt):
        return number_of(value)
    if not isinstance(value, torch.Tensor) or all(isinstance(size, int) for size in value.shape):
        return value
    sizes = [number_of(size) for size in value.shape]
    return torch.empty(sizes, dtype=value.dtype, device="meta")


def _rate(call: TimedNode, gpu: Gpu, *, tf32: bool) -> float:
    """Rate of products of the type of the first input [TFLOP/s]."""
    for node in call.node.all_input_nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            if value.element_size() <= 2:  # noqa: PLR2004  # types of 8 bits at the rate of 16
                return gpu.half
            return gpu.tf32 if tf32 and value.dtype == torch.float32 else gpu.single
    return gpu.half


def _bytes_of(call: TimedNode) -> int:
    """Bytes that a call reads and writes."""
    out = sum(call.writes.values())
    schema = getattr(call.node.target, "_schema", None)
    if schema is not None and schema.name in _PICKS and call.reads:
        first, *others = call.reads.values()
        return min(first, out) + sum(others) + out
    return sum(call.reads.values()) + out


def _chained(calls: Sequence[TimedNode], kept: frozenset[str]) -> dict[str, int]:
    """Bytes that each call moves where chains of pointwise ops are one kernel."""
    chain, origin = _chains(calls)
    readers: dict[str, list[str]] = {}
    for call in calls:
        for name in call.reads:
            readers.setdefault(name, []).append(call.name)
    moved = {}
    loaded: set[tuple[str, str]] = set()
    for call in calls:
        mine = chain.get(call.name)
        if mine is None:
            moved[call.name] = _bytes_of(call)
            continue
        size = 0
        for name, amount in call.reads.items():
            inside = chain.get(origin.get((call.name, name), "")) == mine
            if not inside and (mine, name) not in loaded:
                loaded.add((mine, name))
                size += amount
        for name, amount in call.writes.items():
            others = [reader for reader in readers.get(name, ()) if chain.get(reader) != mine]
            size += amount if others or name in kept else 0
        moved[call.name] = size
    return moved


def _chains(calls: Sequence[TimedNode]) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the first op of each pointwise op's chain, and who wrote what each call reads."""
    writer: dict[str, str] = {}
    origin: dict[tuple[str, str], str] = {}
    depth: dict[str, int] = {}
    chain: dict[str, str] = {}
    elements = {call.name: _elements(call) for call in calls if is_pointwise(call)}
    for call in calls:
        before = [depth[name] + (name not in elements) for name in call.after]
        depth[call.name] = max(before, default=0)
        for name in call.reads:
            origin[call.name, name] = writer.get(name, "")
        if call.name in elements:
            chain[call.name] = call.name
            for name in call.reads:
                maker = origin[call.name, name]
                is_next = maker in chain and depth[maker] == depth[call.name]
                if is_next and elements[maker] == elements[call.name]:
                    chain[call.name] = chain[maker]
        writer.update(dict.fromkeys(call.writes, call.name))
    return chain, origin


def is_pointwise(call: TimedNode) -> bool:
    """Tell whether compilers fuse a call with its neighbours, element by element."""
    name = getattr(getattr(call.node.target, "_schema", None), "name", "")
    copies = {"aten::clone", "aten::_to_copy", "prims::convert_element_type"}
    tags = getattr(call.node.target, "tags", ())
    return call.collective is None and (torch.Tag.pointwise in tags or name in copies)


def _elements(call: TimedNode) -> int:
    """How many elements a pointwise call gives."""
    value = call.node.meta.get("val")
    size = sum(call.writes.values())
    return size // value.element_size() if isinstance(value, torch.Tensor) else size
