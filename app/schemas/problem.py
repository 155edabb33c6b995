"""What is to be planned, checked: the one thing that the service and the command both solve."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Generic, TypeVar

from app.schemas.base import RequestModel
from solver.graph import COMPUTE, NETWORK, Buffer, Graph, Op, RecordedStep

Request = TypeVar("Request", bound=RequestModel)


@dataclass(frozen=True, slots=True)
class CheckedRequest(Generic[Request]):
    """A checked graph, and a request for it that fits the schema; its own graph does not count."""

    graph: Graph
    request: Request


def graph_json(graph: Graph) -> dict[str, Any]:
    """Return a graph as it is posted; what is at its default is left out, ``after`` is not."""
    found = ops_json(graph.name, graph.ops)
    if graph.buffers:
        found["buffers"] = list(map(_buffer_json, graph.buffers))
    if graph.free:
        found["streams"] = [{"name": name, "order": "free"} for name in graph.free]
    if graph.recorded is not None:
        found["recorded"] = _recorded_json(graph.recorded)
    return found


def ops_json(name: str, ops: Iterable[Op]) -> dict[str, Any]:
    """Return ops as a graph that is posted."""
    return {"name": name, "ops": [_op_json(op) for op in ops]}


def graph_sha256(graph: Graph) -> str:
    """Hash a graph: SHA-256 of its :func:`graph_text`."""
    return hashlib.sha256(graph_text(graph).encode()).hexdigest()


def graph_text(graph: Graph) -> str:
    """Return a graph as JSON text: keys sorted, no spaces, ASCII. Written once for a graph."""
    text: str | None = graph.memo.get("text")
    if text is None:
        ops = ",".join(map(_op_text, graph.ops))
        memory = ",".join(map(_buffer_text, graph.buffers))
        buffers = f'"buffers":[{memory}],' if graph.buffers else ""
        free = ",".join(f'{{"name":{_quoted(name)},"order":"free"}}' for name in graph.free)
        streams = f',"streams":[{free}]' if graph.free else ""
        recorded = _recorded_text(graph.recorded)
        text = f'{{{buffers}"name":{_quoted(graph.name)},"ops":[{ops}]{recorded}{streams}}}'
        graph.memo["text"] = text
    return text


def _op_json(op: Op) -> dict[str, Any]:
    if op.kind == COMPUTE:
        own: dict[str, Any] = {"duration_us": float(op.duration_us or 0)}
        if op.stream is not None:
            own["stream"] = op.stream
        if op.slowdown is not None:
            own["slowdown"] = {name: float(factor) for name, factor in op.slowdown}
    else:
        own = {"bytes": op.bytes}
        if op.channel != NETWORK:
            own["channel"] = op.channel
        if op.element_bytes != 1:
            own["element_bytes"] = op.element_bytes
        if op.fuse_key is not None:
            own["fuse_key"] = op.fuse_key
        if not op.cut:
            own["cut"] = False
        if op.source is not None:
            own |= {"source": op.source, "target": op.target}
    return {"id": op.id, "kind": op.kind, **own, "after": list(op.after)}


def _op_text(op: Op) -> str:
    """Write :func:`_op_json` of an op; ``json.dumps`` takes three times as long."""
    after, name = ",".join(map(_quoted, op.after)), _quoted(op.id)
    if op.kind == COMPUTE:
        stream = "" if op.stream is None else f',"stream":{_quoted(op.stream)}'
        slowdown = "" if op.slowdown is None else _slowdown_text(op.slowdown)
        return (
            f'{{"after":[{after}],"duration_us":{float(op.duration_us or 0)!r},"id":{name},'
            f'"kind":"compute"{slowdown}{stream}}}'
        )
    channel = "" if op.channel == NETWORK else f'"channel":{_quoted(op.channel)},'
    cut = "" if op.cut else '"cut":false,'
    element = "" if op.element_bytes == 1 else f'"element_bytes":{op.element_bytes},'
    key = "" if op.fuse_key is None else f'"fuse_key":{_quoted(op.fuse_key)},'
    pair = ""
    if op.source is not None and op.target is not None:
        pair = f',"source":{_quoted(op.source)},"target":{_quoted(op.target)}'
    return (
        f'{{"after":[{after}],"bytes":{op.bytes},{channel}{cut}{element}{key}"id":{name},'
        f'"kind":"{op.kind}"{pair}}}'
    )


def _recorded_json(recorded: RecordedStep) -> dict[str, Any]:
    times = {
        "late_us": recorded.late_us,
        "measured_us": recorded.measured_us,
        "replayed_us": recorded.replayed_us,
    }
    known: dict[str, Any] = {name: float(time) for name, time in times.items() if time is not None}
    if recorded.late_rank is not None:
        known = {"late_rank": recorded.late_rank, **known}
    if recorded.unsized:
        known |= {"unsized": recorded.unsized, "unsized_us": float(recorded.unsized_us)}
    return {**known, "unsound": list(recorded.unsound)} if recorded.unsound else known


def _recorded_text(recorded: RecordedStep | None) -> str:
    """Write :func:`_recorded_json` of a step as a field; empty where nothing was recorded."""
    if recorded is None:
        return ""
    return f',"recorded":{json.dumps(_recorded_json(recorded), separators=(",", ":"))}'


def _buffer_json(buffer: Buffer) -> dict[str, Any]:
    own: dict[str, Any] = {"id": buffer.id, "bytes": buffer.bytes}
    if buffer.written_by is not None:
        own["written_by"] = buffer.written_by
    own["read_by"] = list(buffer.read_by)
    return {**own, "kept": True} if buffer.kept else own


def _buffer_text(buffer: Buffer) -> str:
    """Write :func:`_buffer_json` of a buffer."""
    readers, name = ",".join(map(_quoted, buffer.read_by)), _quoted(buffer.id)
    kept = '"kept":true,' if buffer.kept else ""
    writer = "" if buffer.written_by is None else f',"written_by":{_quoted(buffer.written_by)}'
    return f'{{"bytes":{buffer.bytes},"id":{name},{kept}"read_by":[{readers}]{writer}}}'


def _slowdown_text(slowdown: tuple[tuple[str, float], ...]) -> str:
    factors = ",".join(f"{_quoted(name)}:{float(factor)!r}" for name, factor in sorted(slowdown))
    return f',"slowdown":{{{factors}}}'


#: Characters of an id.
GRAPH_ID_LENGTH = 32
