"""What the host of a recorded step does between its launches."""

from solver.graph import COMPUTE, Graph
from solver.graph.names import HOST


def host_ops(graph: Graph) -> frozenset[str]:
    """Return what the host of a recorded step does before anything sent was waited for. O(n)."""
    early: set[int] = set()
    for i in graph.order:
        if graph.ops[i].kind == COMPUTE and early.issuperset(graph.preds[i]):
            early.add(i)
    return frozenset(graph.ops[i].id for i in early if graph.ops[i].stream == HOST)
