"""What is to be planned, checked: the one thing that the service and the command both solve."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Generic, TypeVar

from app.schemas.base import RequestModel
from solver.graph import COMPUTE, NETWORK, Graph, Op

Request = TypeVar("Request", bound=RequestModel)


@dataclass(frozen=True, slots=True)
class Problem(Generic[Request]):
    """A checked graph, and a request for it that fits the schema; its own graph does not count."""

    graph: Graph
    request: Request


def graph_json(graph: Graph) -> dict[str, Any]:
    """Return a graph as it is posted; what is at its default is left out, ``after`` is not."""
    return ops_json(graph.name, graph.ops)


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
        text = graph.memo["text"] = f'{{"name":{_quoted(graph.name)},"ops":[{ops}]}}'
    return text


def _op_json(op: Op) -> dict[str, Any]:
    if op.kind == COMPUTE:
        own: dict[str, Any] = {"duration_us": float(op.duration_us or 0)}
        if op.stream is not None:
            own["stream"] = op.stream
    else:
        own = {"bytes": op.bytes}
        if op.channel != NETWORK:
            own["channel"] = op.channel
        if op.element_bytes != 1:
            own["element_bytes"] = op.element_bytes
        if op.fuse_key is not None:
            own["fuse_key"] = op.fuse_key
    return {"id": op.id, "kind": op.kind, **own, "after": list(op.after)}


def _op_text(op: Op) -> str:
    """Write :func:`_op_json` of an op; ``json.dumps`` takes three times as long."""
    after, name = ",".join(map(_quoted, op.after)), _quoted(op.id)
    if op.kind == COMPUTE:
        stream = "" if op.stream is None else f',"stream":{_quoted(op.stream)}'
        return (
            f'{{"after":[{after}],"duration_us":{float(op.duration_us or 0)!r},"id":{name},'
            f'"kind":"compute"{stream}}}'
        )
    channel = "" if op.channel == NETWORK else f'"channel":{_quoted(op.channel)},'
    element = "" if op.element_bytes == 1 else f'"element_bytes":{op.element_bytes},'
    key = "" if op.fuse_key is None else f'"fuse_key":{_quoted(op.fuse_key)},'
    return (
        f'{{"after":[{after}],"bytes":{op.bytes},{channel}{element}{key}"id":{name},'
        f'"kind":"{op.kind}"}}'
    )


#: Characters of an id.
GRAPH_ID_LENGTH = 32
