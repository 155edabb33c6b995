"""Graphs that are kept, by their content."""

import json

from app.schemas.graphs import GraphList, ImportAnswer
from app.schemas.problem import GRAPH_ID_LENGTH, graph_sha256, graph_text
from app.storage.clock import now
from app.storage.database import Store, Stored
from app.storage.tables import GraphRow
from solver.traces import Trace


def create(store: Store, trace: Trace) -> ImportAnswer:
    """Keep a graph, if there is one, under its content's id."""
    began, graph = now(), trace.graph
    if graph is None:
        return ImportAnswer(graph_id=None, report=trace.report)
    made = ImportAnswer(graph_id=graph_sha256(graph)[:GRAPH_ID_LENGTH], report=trace.report)
    job = {"id": made.graph_id, "state": "succeeded", "created_at": began, "finished_at": now()}
    light = {"name": graph.name, "format": trace.report.format, "ops": len(graph.ops)}
    report = made.model_dump_json(include={"report"})
    store.put(GraphRow, Stored(job, light, graph_text(graph), report))
    return made


def find(store: Store, graph_id: str) -> str:
    """Return the JSON text that answered the POST."""
    stored = store.get(GraphRow, graph_id)
    return f'{{"id":{json.dumps(graph_id)},"graph":{stored.request},{stored.result[1:]}'


def found(store: Store, made: ImportAnswer) -> str:
    """Return the graph that an import made as :func:`find` does, with its own report."""
    assert made.graph_id is not None, "there is a graph"
    stored = store.get(GraphRow, made.graph_id)
    report = made.model_dump_json(include={"report"})
    return f'{{"id":{json.dumps(made.graph_id)},"graph":{stored.request},{report[1:]}'


def newest(store: Store, limit: int) -> GraphList:
    """Return the newest graphs, in brief."""
    return GraphList.model_validate({"graphs": store.newest(GraphRow, limit)})
