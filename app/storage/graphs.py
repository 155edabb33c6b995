"""Graphs that are kept, by their content and their owner."""

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Raw

from app.operations.callers import Caller
from app.schemas.lists import GraphList
from app.storage.clock import now
from app.storage.database import Store
from app.storage.idempotency import fingerprint
from app.storage.json_text import with_fields
from app.storage.tables import GraphRow

if TYPE_CHECKING:
    from app.schemas.imports import ImportAnswer
    from solver.graph import Graph


def id_of(content_id: str, caller: Caller | None) -> str:
    """Return the id of somebody's graph with a content, which tells nobody who else has it."""
    from app.schemas.problem import GRAPH_ID_LENGTH  # noqa: PLC0415 - for children alone

    return content_id if caller is None else fingerprint(caller.owner, content_id)[:GRAPH_ID_LENGTH]


class NewGraph(NamedTuple):
    """A graph to be kept: its content's id, name, count of ops, format, both JSON texts."""

    id: str
    name: str
    format: str
    ops: int
    graph: str
    report: str


def new_graph(graph: "Graph", made: "ImportAnswer") -> NewGraph:
    """Return the graph that an import made, ready to be kept."""
    from app.schemas.problem import graph_text  # noqa: PLC0415 - for children alone

    assert made.graph_id is not None, "there is a graph"
    text, report = graph_text(graph), _report_of(made)
    return NewGraph(made.graph_id, graph.name, made.report.format, len(graph.ops), text, report)


def create(store: Store, new: NewGraph) -> None:
    """Keep a graph under its content's id."""
    row = GraphRow(
        id=new.id,
        created_at=now(),
        name=new.name,
        format=new.format,
        ops=new.ops,
        request=new.graph,
        result=new.report,
    )
    store.put(row)


def find(store: Store, graph_id: str) -> bytes:
    """Return a graph as it is answered, with the report of the newest upload that made it."""
    row = store.get(GraphRow, graph_id)
    return _json_of(row, row.result)


def find_made(store: Store, made: "ImportAnswer") -> bytes:
    """Return the graph that an import made as :func:`find` does, with its own report."""
    assert made.graph_id is not None, "there is a graph"
    return _json_of(store.get(GraphRow, made.graph_id), _report_of(made))


def newest(store: Store, limit: int) -> GraphList:
    """Return the newest graphs, in brief."""
    return GraphList.of(graphs=store.newest(GraphRow, limit))


def _report_of(made: "ImportAnswer") -> str:
    """Return a JSON object with what was read beside the graph."""
    return made.model_dump_json(include={"cluster", "costs", "steps", "report"})


def _json_of(row: GraphRow, report: str) -> bytes:
    return with_fields({"id": row.id, "graph": Raw(row.request)}, report)
