"""A stored graph in the place of its id, before a request is checked."""

from codecs import BOM_UTF8
from collections.abc import Callable
from typing import Any

import msgspec

from app.faults import shown
from solver.errors import Fault

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
#: Stands for a graph that nobody knows while the rest of the request is checked.
_ANY: dict[str, Any] = {
    "ops": [
        {"id": "b", "kind": "compute", "duration_us": 1},
        {"id": "g", "kind": "all_reduce", "bytes": 1, "after": ["b"]},
    ]
}
Graphs = Callable[[str], str | None]


def with_graph(body: bytes | bytearray, graphs: Graphs) -> tuple[bytes | bytearray, list[Fault]]:
    """Put the graph in the place of its id in a JSON body; list an id that nobody knows."""
    if b'"graph_id"' not in body:
        return body, []
    try:
        fields = _FIELDS.decode(body.removeprefix(BOM_UTF8))
        named = msgspec.json.decode(fields.get("graph_id", b"null"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return body, []
    if "graph" in fields or not isinstance(named, str):
        return body, []
    del fields["graph_id"]
    text = graphs(named)
    faults = [] if text is not None else [_unknown(named)]
    found = text.encode() if text is not None else msgspec.json.encode(_ANY)
    return msgspec.json.encode({"graph": msgspec.Raw(found), **fields}), faults


def _unknown(name: str) -> Fault:
    return Fault("/graph_id", "unknown_graph", f"No graph has the id {shown(name)}.")
