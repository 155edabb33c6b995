"""The same iteration with fewer ops: compute that nothing tells apart counts as one op."""

from collections.abc import Sequence

from solver.graph.graph import Graph, build
from solver.graph.links import Positions
from solver.graph.op import COMPUTE, Op


def compact(graph: Graph) -> Graph:
    """Merge compute ops that stand side by side or one behind the other.

    Of compute ops with the same predecessors, the same successors and the same slowdowns only the
    longest counts, the first of equals. Then compute ops of the same slowdowns of which each has
    but the next as successor, and the next but it as predecessor, become one op of all their time,
    called "first .. last". No release, tail or time of a collective changes, but for rounding. A
    graph that would keep more than half of its ops is returned as it is.

    Notes
    -----
    O(ops + edges). Streams become edges.
    """
    longest = _longest_twins(graph)
    preds = _among(longest, graph.preds)
    succs = _among(longest, graph.succs)
    rows: list[list[int]] = []
    inside: set[int] = set()
    for i in graph.order:
        if longest[i] and i not in inside:
            rows.append(_row(i, graph, preds, succs))
            inside.update(rows[-1])
    rows.sort()  # ties still go by position
    if 2 * len(rows) > len(graph.ops):
        return graph
    taken = {op.id for op in graph.ops}
    names = {row[-1]: _name(graph, row, taken) for row in rows}
    ops = [_merge(graph, row, names, preds) for row in rows]
    return build(graph.name, ops, recorded=graph.recorded)


def _longest_twins(graph: Graph) -> list[bool]:
    """Tell which ops count: of compute ops with the same neighbours and slowdowns the longest."""
    best: dict[tuple[object, ...], int] = {}
    for i, op in enumerate(graph.ops):
        if op.kind == COMPUTE:
            twins = (graph.preds[i], graph.succs[i], op.slowdown)
            other = best.get(twins)
            if other is None or graph.durations[i] > graph.durations[other]:
                best[twins] = i
    counts = [op.kind != COMPUTE for op in graph.ops]
    for i in best.values():
        counts[i] = True
    return counts


def _among(counts: Sequence[bool], edges: Positions) -> Sequence[Sequence[int]]:
    """Keep edges to ops that count."""
    if all(counts):
        return edges
    return [[j for j in found if counts[j]] for found in edges]


def _row(
    first: int, graph: Graph, preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]]
) -> list[int]:
    """Follow compute ops from one on as long as nothing else meets them."""
    row = [first]
    if graph.ops[first].kind != COMPUTE:
        return row
    while len(succs[row[-1]]) == 1:
        (after,) = succs[row[-1]]
        other = graph.ops[after]
        if len(preds[after]) > 1 or other.kind != COMPUTE:
            break
        if other.slowdown != graph.ops[first].slowdown:
            break
        row.append(after)
    return row


def _name(graph: Graph, row: Sequence[int], taken: set[str]) -> str:
    """Call a row after its ends, by a name that is free."""
    name = graph.ops[row[0]].id
    if len(row) > 1:
        name = f"{name} .. {graph.ops[row[-1]].id}"
        while name in taken:
            name += "'"
        taken.add(name)
    return name


def _merge(
    graph: Graph, row: Sequence[int], names: dict[int, str], preds: Sequence[Sequence[int]]
) -> Op:
    op = graph.ops[row[0]]
    after = tuple(names[j] for j in preds[row[0]])
    if op.kind != COMPUTE:
        return op._replace(after=after)
    time = sum(graph.durations[i] for i in row)
    return Op(names[row[-1]], COMPUTE, time, None, after, slowdown=op.slowdown)
