"""How much of a large graph is told.

Ops that nobody can look at one by one are merged where nothing tells them apart, so that a million
of them are planned in seconds, and an answer does not repeat them.
"""

from solver.graph import Graph
from solver.graph.compact import compact

#: Up to so many ops and edges, each op is told apart.
DETAIL = 200_000


def is_large(graph: Graph) -> bool:
    """Tell whether a graph has more ops and edges than are told apart."""
    return len(graph.ops) + sum(map(len, graph.preds)) > DETAIL


def lightened(graph: Graph) -> Graph:
    """Merge the compute ops of a large graph; see :func:`solver.graph.compact.compact`."""
    return compact(graph) if is_large(graph) and graph.collectives else graph
