"""What schemathesis is told about this service; it loads this file by itself, in its own venv.

Cases made from the schema alone hardly ever hold a graph that can be planned: they have no ops, or
ops that wait for unknown ones. So what a case leaves out, or leaves empty, is filled in. And of
those that are made at random and fit the schema, most get a graph and a cluster that can be
planned: what else they ask for then makes a job, which the later phases look at, follow and cancel.
The paths of calls made at random name things that are there.
What replaces something is as right or wrong by the schema as it was, and so is the case.
"""

import zlib
from collections import defaultdict
from typing import Any
from urllib.parse import parse_qs, urlsplit

import schemathesis  # type: ignore[import-not-found,unused-ignore]
from schemathesis.generation import (  # type: ignore[import-not-found,unused-ignore]
    GenerationMode,
)

_UNAVAILABLE = 503
#: Faults of a GET that fits the schema: a cursor that no list gave, and what this plan or this
#: simulation has not.
_UNSAID = {
    ("/query/cursor", "out_of_range"),
    ("/query/beside", "not_supported"),
    ("/query/what_if", "missing_field"),
    ("/query/what_if", "not_supported"),
    ("", "not_supported"),
}
#: So many graphs may stand in for an empty one: equal requests are answered from storage.
_GRAPHS = 50
#: One in so many cases keeps the graph and the cluster it has: made at random, made for a limit.
_KEPT, _KEPT_LIMITS = 4, 2
#: What was made so far, by its collection.
_MADE: dict[str, list[str]] = defaultdict(list)
_CLUSTER = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}
_TRACE = b"node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, \
activation_size=0.0, parameter_size=0.000\n\
node2 -- Linear -- forward_compute_time=1.000, backward_compute_time=2.000, \
activation_size=64.0, parameter_size=4096.000\n\tnode1 -- node2\n"


def _graph(name: str) -> dict[str, Any]:
    """Return the graph of two layers."""
    return {
        "name": name,
        "ops": [
            {"id": "b2", "kind": "compute", "duration_us": 800, "after": []},
            {"id": "g2", "kind": "all_reduce", "bytes": 4_000_000, "after": ["b2"]},
            {"id": "b1", "kind": "compute", "duration_us": 900, "after": ["b2"]},
            {"id": "g1", "kind": "all_reduce", "bytes": 1_000_000, "after": ["b1"]},
            {"id": "f1", "kind": "compute", "duration_us": 400, "after": ["b1", "g1"]},
            {"id": "f2", "kind": "compute", "duration_us": 450, "after": ["f1", "g2"]},
        ],
    }


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Leave out what only repeats the schemas: schemathesis takes one kind of those it maps."""
    raw_schema["components"]["schemas"]["GraphBody"]["properties"]["ops"]["items"].pop(
        "discriminator", None
    )


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Take no offence at a job that was given next to no time: 503 is what it should answer.

    Nor at what is wrong only before it is written into a query, nor at a refusal by what no schema
    can say.
    """
    if response.status_code == _UNAVAILABLE:
        return bool(response.json()["code"] != "time_limit")
    if type(failure).__name__ == "RejectedPositiveData" and case.method == "GET":
        found = {(each["pointer"], each["code"]) for each in response.json().get("errors", [])}
        return not found or not found <= _UNSAID
    # a number in the place of a list of tags is, in a query, a list of one
    sent = parse_qs(urlsplit(response.request.url).query).keys()
    return not (sent == {"tag"} and type(failure).__name__ == "AcceptedNegativeData")


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Fill in what the schema lets a case leave empty."""
    _name(case)
    body = case.body
    content = getattr(body, "data", body)  # bytes come wrapped
    mark = zlib.crc32(repr(content).encode())
    if isinstance(content, bytes) and mark % _KEPT and _fits(case):
        case.body = _TRACE
        for name in ("format", "parameters", "step"):
            (case.query or {}).pop(name, None)
    if not isinstance(body, dict):
        return
    if "cluster" in body and mark % _kept(case) and _fits(case):
        body |= {"graph": _graph(f"graph {mark % _GRAPHS}"), "cluster": dict(_CLUSTER)}
        body.pop("graph_id", None)
        if mark % 3:
            body.pop("what_if", None)  # changes name ops, and hardly ever these
    graph, cluster = body.get("graph"), body.get("cluster")
    if isinstance(graph, dict) and graph.get("ops") == []:
        graph["ops"] = _graph("")["ops"]
    elif "cluster" in body and "graph" not in body and body.get("graph_id") is None:
        body["graph"] = _graph(f"graph {mark % _GRAPHS}")
    if isinstance(cluster, dict) and cluster.get("bandwidth_gbps") is None:
        cluster["bandwidth_gbps"] = 10


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Remember what was made."""
    for place in response.headers.get("location", []):
        collection, _, name = place.rpartition("/")
        _MADE[collection].append(name)


def _name(case: Any) -> None:
    """Let a path that was made at random name something that is there, each in turn."""
    collection, named, rest = case.path.partition("/{")
    made = _MADE[collection]
    if named and made and _phase(case) == "fuzzing" and _fits(case):
        made.insert(0, made.pop())
        name = made.pop() if case.method == "DELETE" else made[0]
        case.path_parameters[rest.partition("}")[0]] = name


def _phase(case: Any) -> str:
    """Return when a case was made; empty when that is not known."""
    return case.meta.phase.name.value if case.meta else ""


def _kept(case: Any) -> int:
    return _KEPT_LIMITS if _phase(case) == "coverage" else _KEPT


def _fits(case: Any) -> bool:
    """Tell whether all of a case was made to fit the schema."""
    parts = case.meta.components.values() if case.meta else ()
    return bool(parts) and all(part.mode == GenerationMode.POSITIVE for part in parts)
