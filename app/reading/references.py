"""What is stored in the place of its id, before a request is checked."""

import json
from codecs import BOM_UTF8
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from app.errors import DuplicateKey
from app.reading.parsing import object_of
from app.reading.wording import shown
from app.schemas.clusters import CostModelBody
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
    if "graph" in fields or not isinstance(named, str) or _repeats(body):
        return body, []
    del fields["graph_id"]
    text = graphs(named)
    faults = [] if text is not None else [_unknown(named)]
    found = text.encode() if text is not None else msgspec.json.encode(_ANY)
    return msgspec.json.encode({"graph": msgspec.Raw(found), **fields}), faults


def _repeats(body: bytes | bytearray) -> bool:
    """Tell whether a key stands twice: then whoever reads the body next has to see it."""
    try:
        json.loads(body.removeprefix(BOM_UTF8), object_pairs_hook=object_of)
    except DuplicateKey:
        return True
    except (ValueError, RecursionError):  # no JSON to this reader
        return False
    return False


def _unknown(name: str) -> Fault:
    return Fault("/graph_id", "unknown_graph", f"No graph has the id {shown(name)}.")


class Library(NamedTuple):
    """Finds a cost model, or the JSON text of a graph, by id; None when there is none."""

    model: Callable[[str], CostModelBody | None]
    graph: Callable[[str], str | None]


#: Where nothing is stored.
NOTHING = Library(lambda _: None, lambda _: None)
