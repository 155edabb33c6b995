"""The graph that is worked on: compact where it is large, changed for a what-if."""

from collections.abc import Sequence

from app.errors import InvalidRequest
from app.limits import MAX_UNMERGED
from app.schemas.graphs import ChangeBody, GraphOut
from app.schemas.problem import GRAPH_ID_LENGTH, graph_json, graph_sha256
from solver.errors import Fault, InvalidOptions
from solver.graph import Graph
from solver.graph.compact import compact
from solver.simulation.what_if import apply_changes
from solver.traces import Trace


def is_large(graph: Graph) -> bool:
    """Tell whether a graph has more ops and edges than are told apart."""
    return len(graph.ops) + sum(map(len, graph.preds)) > MAX_UNMERGED


def lightened(graph: Graph) -> Graph:
    """Merge the compute ops of a large graph; see :func:`solver.graph.compact.compact`."""
    return compact(graph) if is_large(graph) and graph.collectives else graph


def what_if(graph: Graph, changes: Sequence[ChangeBody]) -> Graph | None:
    """Return the changed graph, None when nothing is to be changed.

    Raises
    ------
    InvalidRequest
        When a pattern matches nothing, or a factor makes an op too long or too large.
    """
    if not changes:
        return None
    try:
        return apply_changes(graph, [change.to_change() for change in changes])
    except InvalidOptions as error:
        prefix = len("/changes")
        raise InvalidRequest(
            [Fault(f"/what_if{f.pointer[prefix:]}", f.code, f.detail) for f in error.faults]
        ) from error


def graph_out(trace: Trace) -> GraphOut:
    """Write what was read."""
    graph = trace.graph
    return GraphOut(
        id=None if graph is None else graph_sha256(graph)[:GRAPH_ID_LENGTH],
        graph=None if graph is None else graph_json(graph),
        report=trace.report,
    )
