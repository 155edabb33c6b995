"""Graphs read from files of other tools: unpacked, recognised, kept by content."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from app.body import Name
from app.door import check_limits, read_json, within
from app.errors import InvalidRequest, Refusal
from app.faults import shown
from app.graph_answer import GraphList, GraphOut
from app.jobs import now
from app.problem import graph_json, graph_sha256, graph_text
from app.requests import MAX_COLLECTIVES
from app.storage import GraphRow, Store, Stored
from app.unpacked import unpacked
from solver.errors import Fault, InvalidTrace
from solver.graph import MAX_BYTES
from solver.traces import READERS, Asked, Trace, detect

#: Most bytes that all files unpack to.
MAX_UNPACKED = 2**29
#: Characters of an id.
_ID = 32
_PARAMETERS: TypeAdapter[list[tuple[str, int]]] = TypeAdapter(
    Annotated[
        list[tuple[Name, Annotated[int, Field(ge=1, le=MAX_BYTES)]]],
        Field(max_length=100 * MAX_COLLECTIVES),
    ]
)


def read(files: Sequence[bytes], form: str | None, asked: Asked) -> Trace:
    """Unpack files and read them in a format of :data:`solver.traces.READERS`.

    Parameters
    ----------
    files
        As they arrived: plain or gzipped.
    form
        The format; None looks at the files.
    asked
        What to read of them.

    Raises
    ------
    InvalidTrace, InvalidRequest
        When a file cannot be unpacked or read, or the graph is over the limits.
    """
    plain, left = [], MAX_UNPACKED
    for file in files:
        plain.append(unpacked(file, left))
        left -= len(plain[-1])
    trace = READERS[detect(plain) if form is None else form](plain, asked)
    if trace.graph is not None and (broken := list(check_limits(list(trace.graph.ops)))):
        raise InvalidRequest(within("graph", broken))
    return trace


def recognised(content: bytes) -> str | None:
    """Return the format of an unpacked file; None when it is none of another tool."""
    try:
        return detect([content])
    except InvalidTrace:
        return None


def answer_of(trace: Trace) -> GraphOut:
    """Write what was read."""
    graph = trace.graph
    return GraphOut(
        id=None if graph is None else graph_sha256(graph)[:_ID],
        graph=None if graph is None else graph_json(graph),
        report=trace.report,
    )


def create(store: Store, trace: Trace) -> GraphOut:
    """Keep a graph, if there is one, under its content's id."""
    began, answer = now(), answer_of(trace)
    if trace.graph is None or answer.id is None:
        return answer
    job = {"id": answer.id, "state": "succeeded", "created_at": began, "finished_at": now()}
    light = {
        "name": trace.graph.name,
        "format": trace.report.format,
        "ops": len(trace.graph.ops),
    }
    report = answer.model_dump_json(include={"report"})
    store.put(GraphRow, Stored(job, light, graph_text(trace.graph), report))
    return answer


def find(store: Store, graph_id: str) -> str:
    """Return the JSON text that answered the POST."""
    stored = store.get(GraphRow, graph_id)
    return f'{{"id":{json.dumps(graph_id)},"graph":{stored.request},{stored.result[1:]}'


def newest(store: Store, limit: int) -> GraphList:
    """Return the newest graphs, in brief."""
    return GraphList.model_validate({"graphs": store.newest(GraphRow, limit)})


def parameters_of(text: str | None) -> tuple[tuple[str, int], ...] | None:
    """Read a JSON list of pairs, or an object, of names and bytes in the order of registration.

    Raises
    ------
    InvalidRequest
        When it is neither, or a size is none.
    """
    if text is None:
        return None
    try:
        found: Any = read_json(text.encode())
    except Refusal as error:
        raise _wrong(str(error)) from None
    pairs = list(found.items()) if isinstance(found, dict) else found
    try:
        return tuple(_PARAMETERS.validate_python(pairs))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"/{step}" for step in first["loc"])
        raise _wrong(f"at {place or '/'}: {first['msg']}, got {shown(first['input'])}.") from None


def _wrong(why: str) -> InvalidRequest:
    detail = f"Parameters: a JSON list of [name, bytes] in the order of registration; {why}"
    return InvalidRequest([Fault("/query/parameters", "wrong_type", detail)])
