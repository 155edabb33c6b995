"""A graph in flat arrays, as compiled code reads it."""

from array import array
from itertools import accumulate, chain
from typing import NamedTuple

from solver.chain import chain_of
from solver.graph import Graph

_NONE = -1


class FlatGraph(NamedTuple):
    """A graph and its chain in flat arrays.

    Attributes
    ----------
    durations, waiting, tensor
        Of each op its duration [us], how many ops it comes after, and its chain index or -1.
    succ_from, succ
        Where the successors of each op begin, and the successors.
    position, channel
        Of each tensor its op and its channel.
    """

    durations: "array[float]"
    waiting: "array[int]"
    tensor: "array[int]"
    succ_from: "array[int]"
    succ: "array[int]"
    position: "array[int]"
    channel: "array[int]"


def flat_graph(graph: Graph) -> FlatGraph:
    """Return the arrays of a graph; O(ops + edges), computed once for a graph."""
    flat: FlatGraph | None = graph.memo.get("flat")
    if flat is None:
        tensors = chain_of(graph)
        position = array("i", tensors.positions.tolist())
        tensor = array("i", [_NONE]) * len(graph.durations)
        for i, op in enumerate(position):
            tensor[op] = i
        flat = graph.memo["flat"] = FlatGraph(
            array("d", graph.durations),
            array("i", map(len, graph.preds)),
            tensor,
            array("i", accumulate(map(len, graph.succs), initial=0)),
            array("i", chain.from_iterable(graph.succs)),
            position,
            array("i", tensors.channel),
        )
    return flat
