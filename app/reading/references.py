"""What is stored, in the place of its id."""

import json
from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from app.codes import ServiceFaultCode
from app.limits import BIG_BODY_BYTES
from app.schemas.networks import CostModelBody
from solver.errors import Fault
from solver.wording import shown

#: Finds the JSON text of a graph by its id; None when there is none.
FindGraph = Callable[[str], str | None]
#: Finds the JSON text of a plan's answer by its id; None when there is none.
FindPlan = Callable[[str], str | bytes | None]
#: Stands for a graph that nobody knows while the rest of the request is checked.
_ANY: dict[str, Any] = {
    "ops": [
        {"id": "b", "kind": "compute", "duration_us": 1},
        {"id": "g", "kind": "all_reduce", "bytes": 1, "after": ["b"]},
    ]
}


class _Naming(msgspec.Struct):
    graph_id: msgspec.Raw | UnsetType = UNSET
    cluster: msgspec.Raw | UnsetType = UNSET


_NAMING = msgspec.json.Decoder(_Naming)


class LargeGraph(Exception):
    """A stored graph is larger than whoever asks would read."""


class Library(NamedTuple):
    """Finds a cost model, or the JSON text of a graph, by id; None when there is none."""

    model: Callable[[str], CostModelBody | None]
    graph: FindGraph


#: Where nothing is stored.
NOTHING = Library(lambda _: None, lambda _: None)


def named_in(body: bytes) -> tuple[str | None, list[str]]:
    """Return the ids of the graph and of the cost models that a request names; none of no JSON.

    O(bytes), without reading the graph.
    """
    body = body.removeprefix(BOM_UTF8)
    try:
        named = _NAMING.decode(body)
        found = {
            name: msgspec.json.decode(value)
            for name, value in (("graph_id", named.graph_id), ("cluster", named.cluster))
            if not isinstance(value, UnsetType)
        }
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = _loosely(body)
    graph, cluster = found.get("graph_id"), found.get("cluster")
    places = [cluster]
    if isinstance(cluster, dict) and isinstance(cluster.get("channels"), dict):
        places += cluster["channels"].values()
    models = [place.get("cost_model") for place in places if isinstance(place, dict)]
    ids = [model.get("id") for model in models if isinstance(model, dict)]
    known = dict.fromkeys(each for each in ids if isinstance(each, str))
    return graph if isinstance(graph, str) else None, list(known)


def _loosely(body: bytes) -> dict[str, Any]:
    """Parse what is no JSON for its NaN alone, as whoever names its faults will."""
    with suppress(ValueError, RecursionError):
        found = json.loads(body) if len(body) <= BIG_BODY_BYTES else {}
        return found if isinstance(found, dict) else {}
    return {}


def with_graph(raw: Any, graph_of: FindGraph) -> tuple[Any, list[Fault]]:
    """Put a stored graph in the place of its id in a parsed body; list an id that nobody knows."""
    if not isinstance(raw, dict) or "graph" in raw or not isinstance(raw.get("graph_id"), str):
        return raw, []
    rest = {key: value for key, value in raw.items() if key != "graph_id"}
    text = graph_of(raw["graph_id"])
    if text is not None:
        return {"graph": json.loads(text), **rest}, []
    detail = f"No graph has the id {shown(raw['graph_id'])}."
    return {"graph": _ANY, **rest}, [Fault("/graph_id", ServiceFaultCode.UNKNOWN_GRAPH, detail)]


def with_plan(raw: Any, plan_of: FindPlan) -> tuple[Any, str | None, list[Fault]]:
    """Do the same with a plan; return its id, too."""
    if not isinstance(raw, dict) or "plan" in raw or not isinstance(raw.get("plan_id"), str):
        return raw, None, []
    rest = {key: value for key, value in raw.items() if key != "plan_id"}
    text = plan_of(raw["plan_id"])
    if text is not None:
        return {"plan": json.loads(text), **rest}, raw["plan_id"], []
    detail = f"No plan has the id {shown(raw['plan_id'])}."
    empty: dict[str, Any] = {"buckets": [], "schedule": {"parts": []}}
    unknown = [Fault("/plan_id", ServiceFaultCode.UNKNOWN_PLAN, detail)]
    return {"plan": empty, **rest}, None, unknown
