"""Graphs read from files of other tools: unpacked, recognised, kept by content."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from app.body import PLAIN, Name
from app.clock import now
from app.door import MAX_VALUES, check_limits, read_json
from app.errors import InvalidRequest, Refusal, within
from app.faults import MAX_NAME, shown
from app.graph_answer import GraphList, GraphOut, ImportAnswer
from app.own_graph import read_own
from app.problem import graph_json, graph_sha256, graph_text
from app.requests import MAX_COLLECTIVES
from app.storage import Store, Stored
from app.tables import GraphRow
from app.unpacked import unpacked
from solver.errors import Fault, InvalidTrace
from solver.graph import MAX_BYTES, Graph
from solver.traces import READERS, Asked, Trace, detect

#: Most bytes that all files unpack to.
MAX_UNPACKED = 2**29
#: Most lines of a text.
MAX_LINES = 1_000_000
_OF_LINES = {"pipedream", "astra_text"}
_OF_VALUES = {"kineto", "pytorch_et", "dnn_partitioning"}
#: Characters of an id.
_ID = 32
_PARAMETERS: TypeAdapter[list[tuple[str, int]]] = TypeAdapter(
    Annotated[
        list[tuple[Name, Annotated[int, Field(ge=1, le=MAX_BYTES)]]],
        Field(max_length=100 * MAX_COLLECTIVES),
    ]
)


def read_files(files: Sequence[bytes], form: str | None, asked: Asked) -> Trace:
    """Unpack files and read them in a format of :data:`solver.traces.READERS`, or as they are.

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
    plain = list(dict.fromkeys(plain))  # a file given twice is one
    own = read_own(plain[0], asked) if form is None and len(plain) == 1 else None
    if own is not None:
        return own
    name = detect(plain) if form is None else form
    if faults := list(_content_faults(plain, name)):
        raise InvalidTrace(faults)
    trace = READERS[name](plain, asked)
    if trace.graph is not None and (broken := list(_graph_faults(trace.graph))):
        raise InvalidRequest(within("graph", broken))
    return trace


def _content_faults(files: Sequence[bytes], form: str) -> Iterator[Fault]:
    """Bound the work and the memory of a reader by what is plain to see."""
    for content in files:
        values = sum(map(content.count, (b",", b"[", b"{"))) if form in _OF_VALUES else 0
        if values > MAX_VALUES:
            detail = f"The file has more than {MAX_VALUES:,} values."
            yield Fault("", "too_large", detail)
        if form in _OF_LINES and content.count(b"\n") > MAX_LINES:
            yield Fault("", "too_large", f"The file has more than {MAX_LINES:,} lines.")


def _graph_faults(graph: Graph) -> Iterator[Fault]:
    """List what no request could name, and the limits that are broken."""
    yield from check_limits(list(graph.ops))
    names = {graph.name, *(n for op in graph.ops for n in (op.id, op.channel, op.stream or ""))}
    for name in sorted(names):
        if len(name) > MAX_NAME or not re.fullmatch(PLAIN, name):
            detail = f"{shown(name)}: a name has at most {MAX_NAME} characters, no control ones."
            yield Fault("/ops", "out_of_range", detail)
            return


def recognised(content: bytes) -> str | None:
    """Return the format of an unpacked file; None when it is none of another tool."""
    try:
        return detect([content])
    except InvalidTrace:
        return None


def graph_out(trace: Trace) -> GraphOut:
    """Write what was read."""
    graph = trace.graph
    return GraphOut(
        id=None if graph is None else graph_sha256(graph)[:_ID],
        graph=None if graph is None else graph_json(graph),
        report=trace.report,
    )


def create(store: Store, trace: Trace) -> ImportAnswer:
    """Keep a graph, if there is one, under its content's id."""
    began, graph = now(), trace.graph
    if graph is None:
        return ImportAnswer(graph_id=None, report=trace.report)
    made = ImportAnswer(graph_id=graph_sha256(graph)[:_ID], report=trace.report)
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
