"""The order of nodes and edges, or the cycle that they form."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.graph.links import short_cycle

if TYPE_CHECKING:
    import networkx as nx

#: How many ids of a cycle a fault names.
_NAMED = 8


class Edge(NamedTuple):
    """One thing after another, and where the file says so."""

    tail: int
    head: int
    pointer: str


def topological_order(nodes: Sequence[int], edges: Sequence[Edge], name: str) -> list[int]:
    """Sort nodes so that each comes after what leads to it; ties go to the smaller number.

    Raises
    ------
    InvalidTrace
        When an edge names a node that is not there (``unknown_op``, at the edge), or the nodes
        form a cycle. ``name`` is what the file calls a node: ``node`` makes ``node12``.
    """
    known = set(nodes)
    faults = first_of(
        Fault(edge.pointer, FaultCode.UNKNOWN_OP, f"The edge names {name}{end}: no such node.")
        for edge in edges
        for end in (edge.tail, edge.head)
        if end not in known
    )
    if faults:
        raise InvalidTrace(faults)
    import networkx as nx  # noqa: PLC0415 - takes time

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(sorted(known))
    graph.add_edges_from((edge.tail, edge.head) for edge in edges)
    order: list[int] = []
    try:
        order.extend(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible:
        raise InvalidTrace([_cycle_fault(graph, order, name)]) from None
    return order


def _cycle_fault(graph: "nx.DiGraph[int]", order: Sequence[int], name: str) -> Fault:
    """Name a cycle among the nodes that are not in the order."""
    nodes = list(graph)
    place = {node: i for i, node in enumerate(nodes)}
    preds = [[place[other] for other in graph.pred[node]] for node in nodes]
    succs = [[place[other] for other in graph.succ[node]] for node in nodes]
    cycle = short_cycle(preds, succs, [place[node] for node in order])
    shown = [f"{name}{nodes[i]}" for i in cycle]
    if len(shown) > _NAMED:
        shown = [*shown[: _NAMED - 1], "..."]
    steps = " -> ".join([*shown, f"{name}{nodes[cycle[0]]}"])
    return Fault("", FaultCode.CYCLE, f"The nodes form a cycle of {len(cycle)}: {steps}.")
