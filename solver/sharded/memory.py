"""How much is gathered at once: by a graph's own gates, and by FSDP2."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from solver.graph import Graph
from solver.sharded.units import Form, Unit


class GatheredBytes(NamedTuple):
    """The most bytes that are gathered at once in each pass; None where nothing limits them."""

    forward: int | None
    backward: int | None


def gathered_in_graph(graph: Graph, units: Sequence[Unit]) -> GatheredBytes:
    """Return how much a graph gathers at once, as far as its gathers wait for units to be freed.

    A unit is freed after its ops of the pass. A gather that waits for none may hold all units
    before it. O(ops + edges).
    """
    count, sizes = len(units), _sizes(graph, units)
    freed = {op: k for k, unit in enumerate(units) for op in unit.forward}
    ended = {op: count - 1 - k for k, unit in enumerate(units) for op in unit.ends}
    forward = {each: k for k, unit in enumerate(units) for each in unit.gathers}
    again = {each: count - 1 - k for k, unit in enumerate(units) for each in unit.regathers}
    return GatheredBytes(
        _most(graph, freed, forward, sizes), _most(graph, ended, again, sizes[::-1])
    )


def gathered_by_form(graph: Graph, form: Form) -> tuple[int, int]:
    """Return the most bytes [bytes] that FSDP2 gathers at once in the forward and backward pass.

    A gather waits for the copy-out of the unit before the one that asks, so in the forward pass
    two units are there besides those asked for ahead, in the backward pass one. These are three
    in the forward pass at least: a unit that asks for none has its own asked for as early.
    """
    sizes = _sizes(graph, form.units)
    starts = range(len(sizes))
    return (
        max(sum(sizes[k : k + form.ahead + 2]) for k in starts),
        max(sum(sizes[k : k + form.back + 1]) for k in starts),
    )


def _sizes(graph: Graph, units: Sequence[Unit]) -> list[int]:
    sent = {op.id: op.bytes or 0 for op in graph.ops}
    return [sum(sent[each] for each in unit.gathers) for unit in units]


def _most(
    graph: Graph, freed: Mapping[str, int], gathers: Mapping[str, int], sizes: Sequence[int]
) -> int | None:
    """Sum the units after the last one that a gather waits for to its own, as they pass."""
    last = [-1] * len(graph.ops)  # the last unit that is freed before an op begins
    for i in graph.order:
        before = (max(last[p], freed.get(graph.ops[p].id, -1)) for p in graph.preds[i])
        last[i] = max(before, default=-1)
    gates = [(last[i], gathers[op.id]) for i, op in enumerate(graph.ops) if op.id in gathers]
    if all(gate < 0 for gate, _ in gates):
        return None
    return max(sum(sizes[gate + 1 : own + 1]) for gate, own in gates)
