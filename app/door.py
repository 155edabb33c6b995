"""The door: bytes in, a checked problem out, or every fault of the request at once."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from app.errors import InvalidRequest, NotJson
from app.faults import shape_faults
from app.problem import Problem
from app.requests import (
    MAX_COLLECTIVES,
    MAX_EDGES,
    MAX_OPS,
    ClusterBody,
    GraphBody,
    PlanRequest,
)
from solver.costs import cost_of
from solver.errors import Fault, InterlaceError
from solver.graph import COMPUTE, MAX_BYTES, Graph, Op, build, structure_faults

#: Longer integers are read as infinite: no limit of ours is near, and digits cost time.
_DIGITS = 300
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SCHEMA = PlanRequest.model_json_schema()


def read_json(body: bytes) -> Any:
    """Parse a body as JSON, NaN and Infinity included so that their place can be named.

    Raises
    ------
    NotJson
        When it is not UTF-8, not JSON, nested too deeply or holds half a surrogate pair.
    """
    try:
        text = body.decode("utf-8")
        value = json.loads(text, parse_int=_integer)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"The body is not UTF-8: bad byte at {error.start}.") from None
    except UnicodeEncodeError:
        raise NotJson("The body holds half of a UTF-16 surrogate pair.") from None
    except json.JSONDecodeError as error:
        raise NotJson(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise NotJson("The body is nested too deeply.") from None
    return value


def read_problem(raw: Any) -> Problem:
    """Check a parsed body.

    Sections that fit the schema are checked by the solver as well, and of a graph that does not
    fit, the ids and edges that can be read, so that one answer names all faults.

    Raises
    ------
    InvalidRequest
        With all faults, their pointers into the body.
    """
    try:
        request = PlanRequest.model_validate(raw)
    except ValidationError as error:
        shape = list(shape_faults(error, raw, _SCHEMA))
        raise InvalidRequest([*shape, *_more_faults(raw, shape)]) from None
    graph, faults = _check_graph(request.graph)
    faults += _check_cluster(request.cluster)
    if graph is None or faults:
        raise InvalidRequest(faults)
    return Problem(graph, request.cluster, request.options)


def check_limits(ops: list[Op]) -> Iterator[Fault]:
    """List the limits on a whole graph that these ops break."""
    collectives = [op for op in ops if op.kind != COMPUTE]
    limits = [
        (len(ops), MAX_OPS, "ops"),
        (len(collectives), MAX_COLLECTIVES, "collectives"),
        (sum(len(op.after) for op in ops), MAX_EDGES, "edges"),
    ]
    for count, most, name in limits:
        if count > most:
            yield Fault(
                "/ops",
                "out_of_range",
                f"Graph: at most {most:,} {name} are planned, got {count:,}.",
            )
    total = sum(op.bytes or 0 for op in collectives)
    if total > MAX_BYTES:
        yield Fault(
            "/ops", "out_of_range", f"Graph: all tensors must have at most 2^60 bytes, got {total}."
        )


def within(section: str, faults: Sequence[Fault]) -> list[Fault]:
    """Make pointers into a section pointers into the body."""
    return [Fault(f"/{section}{fault.pointer}", fault.code, fault.detail) for fault in faults]


def _integer(digits: str) -> int | float:
    if len(digits) <= _DIGITS:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


def _more_faults(raw: Any, shape: list[Fault]) -> list[Fault]:
    """List what the solver finds in a body that does not fit the schema."""
    if not isinstance(raw, dict):
        return []
    bad = {fault.pointer.split("/")[1] for fault in shape}
    faults = []
    if "graph" in bad:
        faults += within("graph", _readable_faults(raw.get("graph")))
    else:
        faults += _check_graph(GraphBody.model_validate(raw["graph"]))[1]
    if "cluster" not in bad:
        faults += _check_cluster(ClusterBody.model_validate(raw["cluster"]))
    return faults


def _check_graph(body: GraphBody) -> tuple[Graph | None, list[Fault]]:
    ops = body.ops_of()
    if broken := list(check_limits(ops)):
        return None, within("graph", broken)
    try:
        return build(body.name, ops), []
    except InterlaceError as error:
        return None, within("graph", error.faults)


def _check_cluster(body: ClusterBody) -> list[Fault]:
    try:
        cost_of(body.to_cluster())
    except InterlaceError as error:
        return within("cluster", error.faults)
    return []


def _readable_faults(raw: Any) -> list[Fault]:
    """Structure faults of what can be read of a graph that does not fit the schema."""
    ops = raw.get("ops") if isinstance(raw, dict) else None
    if not isinstance(ops, list) or len(ops) > MAX_OPS:
        return []
    nodes: list[tuple[str | None, list[str]]] = []
    kept: list[list[int]] = []
    for op in ops:
        found = op if isinstance(op, dict) else {}
        name, after = found.get("id"), found.get("after")
        edges = after if isinstance(after, list) else []
        kept.append([place for place, other in enumerate(edges) if isinstance(other, str)])
        nodes.append((name if isinstance(name, str) else None, [edges[i] for i in kept[-1]]))
    if sum(map(len, kept)) > MAX_EDGES:
        return []
    return [_moved(fault, kept) for fault in structure_faults(nodes)]


def _moved(fault: Fault, kept: list[list[int]]) -> Fault:
    """Point at an edge's place in the body, where unreadable edges stand between."""
    match fault.pointer.split("/"):
        case ["", "ops", op, "after", edge]:
            place = kept[int(op)][int(edge)]
            return Fault(f"/ops/{op}/after/{place}", fault.code, fault.detail)
    return fault
