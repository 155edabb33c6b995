"""Which rank a compute op runs on: streams of a graph of many ranks are named ``rank/stream``."""

from collections.abc import Container

from solver.graph.graph import Graph
from solver.graph.op import COMPUTE, Op


def rank_of(op: Op) -> str:
    """Return what stands before the first stroke of an op's stream; empty where there is none."""
    rank, stroke, _ = (op.stream or "").partition("/")
    return rank if stroke else ""


def ranks_of_channels(graph: Graph, channels: Container[str]) -> dict[str, frozenset[str]]:
    """Return the ranks that take part in the collectives of some channels.

    These are the ranks of the compute ops that come directly before or after one of them.
    O(collectives + edges).
    """
    found: dict[str, set[str]] = {}
    for position in graph.collectives:
        op = graph.ops[position]
        if op.channel in channels:
            near = (graph.ops[i] for i in (*graph.preds[position], *graph.succs[position]))
            ranks = {rank_of(each) for each in near if each.kind == COMPUTE}
            found.setdefault(op.channel, set()).update(ranks)
    return {channel: frozenset(ranks) for channel, ranks in found.items()}
