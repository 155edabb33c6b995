"""The graph that is worked on: compact where it is large, changed for a what-if."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app.errors import InvalidRequest
from app.limits import MAX_UNMERGED
from app.schemas.changes import ChangeBody
from app.schemas.problem import GRAPH_ID_LENGTH, graph_json, graph_sha256
from solver.errors import Fault, InterlaceError, InvalidOptions
from solver.graph import Graph
from solver.graph.compact import compact
from solver.simulation.what_if import apply_changes

if TYPE_CHECKING:
    from app.schemas.imports import GraphOut, ImportAnswer
    from solver.traces import Trace, TraceOptions


def is_large(graph: Graph) -> bool:
    """Tell whether a graph has more ops and edges than are told apart."""
    return len(graph.ops) + sum(map(len, graph.preds)) > MAX_UNMERGED


def lightened(graph: Graph) -> Graph:
    """Merge the compute ops of a large graph; see :func:`solver.graph.compact.compact`."""
    return compact(graph) if is_large(graph) and graph.collectives else graph


def what_if(graph: Graph, changes: Sequence[ChangeBody], field: str = "what_if") -> Graph | None:
    """Return the graph with the changes of a field, None when nothing is to be changed.

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
            [Fault(f"/{field}{f.pointer[prefix:]}", f.code, f.detail) for f in error.faults]
        ) from error


def graph_out(
    trace: "Trace", options: "TraceOptions", cluster: dict[str, Any] | None = None
) -> "GraphOut":
    """Write what was read with these options, with the cluster and the steps that it tells of."""
    from app.schemas.imports import GraphOut  # noqa: PLC0415 - of traces alone

    made = import_answer(trace, options, cluster)
    graph = None if trace.graph is None else graph_json(trace.graph)
    return GraphOut.of(made, id=made.graph_id, graph=graph)


def import_answer(
    trace: "Trace", options: "TraceOptions", cluster: dict[str, Any] | None = None
) -> "ImportAnswer":
    """Write what was read with these options beside the graph, and the graph's id.

    ``cluster`` is that of a file of Interlace's own, None without one. That no steps can be made
    keeps nobody from the graph: a warning says so.
    """
    from app.schemas.imports import ImportAnswer  # noqa: PLC0415 - of traces alone, as all of these
    from app.services.trace_clusters import with_cluster  # noqa: PLC0415
    from app.services.trace_steps import StepsOut, steps_out  # noqa: PLC0415

    told, about = with_cluster(trace)
    if cluster is not None:
        about = about._replace(cluster=cluster)
    report = told.report
    try:
        made = steps_out(trace, options) or StepsOut(None, ())
        report = replace(report, assumed=(*report.assumed, *made.assumed))
    except InterlaceError as error:
        made = StepsOut(None, ())
        why = f"There are no steps for parameter servers: {error.faults[0].detail}"
        report = replace(report, warnings=(*report.warnings, why))
    graph_id = None if trace.graph is None else graph_sha256(trace.graph)[:GRAPH_ID_LENGTH]
    return ImportAnswer.of(about, graph_id=graph_id, report=report, steps=made.steps)
