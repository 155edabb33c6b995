"""What is stored, in the place of its id."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from app.codes import ServiceFaultCode
from app.reading.wording import shown
from app.schemas.networks import CostModelBody
from solver.errors import Fault

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


class LargeGraph(Exception):
    """A stored graph is larger than whoever asks would read."""


class Library(NamedTuple):
    """Finds a cost model, or the JSON text of a graph, by id; None when there is none."""

    model: Callable[[str], CostModelBody | None]
    graph: FindGraph


#: Where nothing is stored.
NOTHING = Library(lambda _: None, lambda _: None)


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
