"""The order of nodes and edges, or the cycle that they form."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

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


def topological_order(
    nodes: Iterable[int], edges: Callable[[], Iterable[Edge]], name: str
) -> list[int]:
    """Sort nodes so that each comes after what leads to it; ties go to the smaller number.

    ``edges`` gives them anew whenever it is called: they need not be held.

    Raises
    ------
    InvalidTrace
        When an edge names a node that is not there (``unknown_op``, at the edge), or the nodes
        form a cycle. ``name`` is what the file calls a node: ``node`` makes ``node12``.
    """
    known = sorted(set(nodes))
    place = {node: i for i, node in enumerate(known)}
    faults = first_of(
        unknown_node(edge.pointer, f"{name}{end}")
        for edge in edges()
        for end in (edge.tail, edge.head)
        if end not in place
    )
    if faults:
        raise InvalidTrace(faults)
    preds = _neighbours(len(known), ((place[edge.head], place[edge.tail]) for edge in edges()))
    _, order = order_nodes(preds)
    if len(order) < len(known):
        succs = _neighbours(len(known), ((place[edge.tail], place[edge.head]) for edge in edges()))
        cycle = [known[i] for i in short_cycle(preds, succs, order)]
        raise InvalidTrace([_cycle_fault(cycle, name)])
    return [known[i] for i in order]


def unknown_node(pointer: str, name: str) -> Fault:
    """Return the fault of an edge, at its place, that names a node that is not there."""
    return Fault(pointer, FaultCode.UNKNOWN_OP, f"The edge names {name}: no such node.")


def _neighbours(count: int, pairs: Iterable[tuple[int, int]]) -> list[Sequence[int]]:
    """Return what each of so many is paired with, in the order of the pairs, without repeats."""
    none: list[int] = []
    found: list[Any] = [none] * count
    for one, other in pairs:
        if found[one] is none:
            found[one] = [other]
        else:
            found[one].append(other)
    for i, others in enumerate(found):
        found[i] = tuple(others) if len(others) < 2 else tuple(dict.fromkeys(others))  # noqa: PLR2004
    return found


def _cycle_fault(cycle: Sequence[int], name: str) -> Fault:
    """Name the nodes of a cycle, of a long one the first."""
    shown = [f"{name}{node}" for node in cycle]
    if len(shown) > _NAMED:
        shown = [*shown[: _NAMED - 1], "..."]
    steps = " -> ".join([*shown, f"{name}{cycle[0]}"])
    return Fault("", FaultCode.CYCLE, f"The nodes form a cycle of {len(cycle)}: {steps}.")
