"""The order of nodes and edges, or the cycle that they form."""

from collections.abc import Sequence
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.graph.links import short_cycle
from solver.traces.contraction import order_nodes

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
    nodes = sorted(known)
    place = {node: i for i, node in enumerate(nodes)}
    preds: list[list[int]] = [[] for _ in nodes]
    succs: list[list[int]] = [[] for _ in nodes]
    for tail, head in dict.fromkeys((place[edge.tail], place[edge.head]) for edge in edges):
        preds[head].append(tail)
        succs[tail].append(head)
    _, order = order_nodes(preds)
    if len(order) < len(nodes):
        cycle = [nodes[i] for i in short_cycle(preds, succs, order)]
        raise InvalidTrace([_cycle_fault(cycle, name)])
    return [nodes[i] for i in order]


def _cycle_fault(cycle: Sequence[int], name: str) -> Fault:
    """Name the nodes of a cycle, of a long one the first."""
    shown = [f"{name}{node}" for node in cycle]
    if len(shown) > _NAMED:
        shown = [*shown[: _NAMED - 1], "..."]
    steps = " -> ".join([*shown, f"{name}{cycle[0]}"])
    return Fault("", FaultCode.CYCLE, f"The nodes form a cycle of {len(cycle)}: {steps}.")
