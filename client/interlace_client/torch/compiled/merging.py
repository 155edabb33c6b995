"""Collectives of a graph made one: packed, sent and unpacked by nodes of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import fx

from interlace_client.torch.compiled.collectives import KINDS, waits_of

_ATEN = torch.ops.aten
_OPS = torch.ops._c10d_functional


@dataclass(frozen=True)
class Merged:
    """The nodes of a bucket, in the order in which they were made."""

    packs: tuple[fx.Node, ...]
    launch: fx.Node
    wait: fx.Node
    unpacks: tuple[fx.Node, ...]


class _Writer:
    """Writes nodes before the end of a graph, and what they give."""

    def __init__(self, graph: fx.Graph, name: str) -> None:
        self.graph, self.name = graph, name
        self.end = next(node for node in reversed(graph.nodes) if node.op == "output")
        self.nodes: list[fx.Node] = []

    def __call__(self, part: str, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        with self.graph.inserting_before(self.end):
            node = self.graph.create_node(
                "call_function", target, args, kwargs, name=f"{self.name}_{part}"
            )
        values = [leaf.meta["val"] for leaf in node.all_input_nodes if isinstance(leaf, fx.Node)]
        mode = next(each.fake_mode for each in values if hasattr(each, "fake_mode"))
        given = fx.map_arg((args, kwargs), lambda other: other.meta["val"])
        with mode:
            node.meta["val"] = target(*given[0], **given[1])
        self.nodes.append(node)
        return node


def can_merge(node: fx.Node) -> bool:
    """Tell whether a collective can be one with others: its form is known, and so are its sizes."""
    return node.target in KINDS and _has_known_sizes(node)


def merge_faults(name: str, nodes: Sequence[fx.Node]) -> list[str]:
    """Say why collectives cannot be one.

    They must be the same collective of the same group, reduction and dtype, of known shapes, and
    none may need another.
    """
    strange = [node.name for node in nodes if node.target not in KINDS]
    if strange:
        return [f"bucket {name!r}: {strange[0]!r} is {nodes[0].target}, which is not merged"]
    forms = {(str(node.target), node.args[0].meta["val"].dtype, *_settings(node)) for node in nodes}
    if len(forms) > 1:
        return [f"bucket {name!r}: its collectives differ in kind, dtype, group or reduction"]
    if not all(map(_has_known_sizes, nodes)):
        return [f"bucket {name!r}: shapes that are not known are not merged"]
    return []


def merge(graph: fx.Graph, name: str, nodes: Sequence[fx.Node]) -> Merged:
    """Make one collective of several; whoever waited for one of them takes its piece.

    Gathers: the flat shards one after another, and of what is gathered the columns of each. Reduce-
    scatters: the rows of each rank side by side. All-reduces: flat, one after another. All-to-alls:
    what goes to each rank, from all of them. Nothing but copies is added, so each sum is of the
    same terms. New nodes stand before the output, and are in no order with what needs them.
    """
    write = _Writer(graph, name)
    inputs: list[fx.Node] = [node.args[0] for node in nodes]
    kind = KINDS[nodes[0].target]
    if kind == "all_to_all":
        return _merge_exchanges(write, nodes, inputs)
    ranks = _ranks(nodes[0])
    rows = 1 if kind in {"all_gather", "all_reduce"} else ranks
    flat = [
        write(f"flat{k}", _ATEN.reshape.default, x, [rows, -1] if rows > 1 else [-1])
        for k, x in enumerate(inputs)
    ]
    packed = write("packed", _ATEN.cat.default, flat, 1 if rows > 1 else 0)
    if rows > 1:
        packed = write("sent", _ATEN.reshape.default, packed, [-1])
    packs = tuple(write.nodes)
    launch = write("launch", nodes[0].target, packed, *nodes[0].args[1:])
    wait = write("wait", _OPS.wait_tensor.default, launch)
    before = len(write.nodes)
    sizes = [x.meta["val"].numel() // rows for x in inputs]
    whole = wait
    if kind == "all_gather":
        whole = write("rows", _ATEN.reshape.default, wait, [ranks, sum(sizes)])
    place = 0
    pieces = []
    for k, (node, size) in enumerate(zip(nodes, sizes)):
        dim = 1 if kind == "all_gather" else 0
        piece = write(f"part{k}", _ATEN.slice.Tensor, whole, dim, place, place + size)
        own = write(f"own{k}", _ATEN.clone.default, piece, memory_format=torch.contiguous_format)
        pieces.append(write(f"out{k}", _ATEN.reshape.default, own, list(node.meta["val"].shape)))
        place += size
    _replace(graph, nodes, pieces)
    return Merged(packs, launch, wait, tuple(write.nodes[before:]))


def _merge_exchanges(write: _Writer, nodes: Sequence[fx.Node], inputs: Sequence[fx.Node]) -> Merged:
    """Make one all-to-all of several, of rows of any width."""
    widths = [prod(x.meta["val"].shape[1:]) for x in inputs]
    outs = [[s * w for s in node.args[1]] for node, w in zip(nodes, widths)]
    ins = [[s * w for s in node.args[2]] for node, w in zip(nodes, widths)]
    ranks = range(len(ins[0]))
    flat = [write(f"flat{k}", _ATEN.reshape.default, x, [-1]) for k, x in enumerate(inputs)]
    cut = [
        [
            write(f"to{r}_{k}", _ATEN.slice.Tensor, x, 0, sum(ins[k][:r]), sum(ins[k][: r + 1]))
            for r in ranks
        ]
        for k, x in enumerate(flat)
    ]
    packed = write("packed", _ATEN.cat.default, [own[r] for r in ranks for own in cut], 0)
    packs = tuple(write.nodes)
    came, gone = ([sum(own[r] for own in sizes) for r in ranks] for sizes in (outs, ins))
    launch = write("launch", nodes[0].target, packed, came, gone, nodes[0].args[3])
    wait = write("wait", _OPS.wait_tensor.default, launch)
    before = len(write.nodes)
    pieces = []
    for k, node in enumerate(nodes):
        parts = []
        for r in ranks:
            begin = sum(came[:r]) + sum(own[r] for own in outs[:k])
            end = begin + outs[k][r]
            parts.append(write(f"from{r}_{k}", _ATEN.slice.Tensor, wait, 0, begin, end))
        own = write(f"own{k}", _ATEN.cat.default, parts, 0)
        pieces.append(write(f"out{k}", _ATEN.reshape.default, own, list(node.meta["val"].shape)))
    _replace(write.graph, nodes, pieces)
    return Merged(packs, launch, wait, tuple(write.nodes[before:]))


def _replace(graph: fx.Graph, nodes: Sequence[fx.Node], pieces: Sequence[fx.Node]) -> None:
    for node, piece in zip(nodes, pieces):
        for wait in waits_of(node):
            wait.replace_all_uses_with(piece)
            graph.erase_node(wait)
        graph.erase_node(node)


def _has_known_sizes(node: fx.Node) -> bool:
    """Tell whether all sizes that a collective takes and gives are numbers."""
    shapes = (node.meta["val"].shape, node.args[0].meta["val"].shape)
    are_numbers = all(isinstance(size, int) for shape in shapes for size in shape)
    return are_numbers and all(other is node.args[0] for other in node.all_input_nodes)


def _settings(node: fx.Node) -> tuple[Any, ...]:
    """Return what one collective says beside its sizes: reduction, ranks, group."""
    return node.args[3:] if KINDS[node.target] == "all_to_all" else node.args[1:]


def _ranks(node: fx.Node) -> int:
    """Return how many ranks a gather or reduce-scatter is of; 1 of an all-reduce."""
    numbers = [each for each in node.args[1:] if isinstance(each, int)]
    return numbers[0] if numbers else 1
