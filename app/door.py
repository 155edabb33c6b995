"""The door: bytes in, a checked problem out, or every fault of the request at once."""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.errors import InvalidRequest, NotJson
from app.faults import MAX_NAME
from app.problem import Problem
from app.requests import MAX_COLLECTIVES, MAX_EDGES, MAX_OPS, ClusterBody
from app.shape import ENOUGH, fitting, kind_of, ops_of, shape_faults
from solver.costs import RING, TABLE, cost_of
from solver.errors import Fault, InterlaceError
from solver.graph import COMPUTE, MAX_BYTES, Graph, Op, build

#: Longer integers are read as infinite: no limit of ours is near, and digits cost time.
_DIGITS = 300
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: Fields of a cluster that an algorithm does not use.
_UNUSED = {RING: ("table",), TABLE: ("hop_us", "reduction_gbps")}


def read_json(body: bytes) -> Any:
    """Parse a body as JSON, NaN and Infinity included so that their place can be named.

    A byte order mark before it is passed over.

    Raises
    ------
    NotJson
        When it is not UTF-8, not JSON, nested too deeply or holds half a surrogate pair.
    """
    try:
        text = body.removeprefix(BOM_UTF8).decode("utf-8")
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
    fit, all that can be read, so that one answer names all faults.

    Raises
    ------
    InvalidRequest
        With all faults, their pointers into the body.
    """
    request = fitting(raw)
    if request is None:
        shape = shape_faults(raw)
        raise InvalidRequest([*shape, *_more_faults(raw, shape)])
    ops = request.graph.ops_of()
    graph, faults = _check_graph(request.graph.name, ops)
    if request.options.barrier and len(ops) == MAX_OPS:
        detail = f"Graph: at most {MAX_OPS - 1:,} ops are planned with a barrier."
        faults.append(Fault("/graph/ops", "out_of_range", detail))
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


def within(section: str, faults: Sequence[Fault]) -> list[Fault]:
    """Make pointers into a section pointers into the body."""
    return [Fault(f"/{section}{fault.pointer}", fault.code, fault.detail) for fault in faults]


def _integer(digits: str) -> int | float:
    if len(digits) <= _DIGITS:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


def _more_faults(raw: Any, shape: list[Fault]) -> list[Fault]:
    """List what the solver finds in a body that does not fit the schema."""
    bad = {section for fault in shape for section in fault.pointer.split("/")[1:2]}
    faults = _readable_faults(raw)
    if isinstance(raw, dict) and "cluster" not in bad:
        faults += _check_cluster(ClusterBody.model_validate(raw["cluster"]))
    return faults


def _check_graph(name: str, ops: list[Op]) -> tuple[Graph | None, list[Fault]]:
    if broken := list(check_limits(ops)):
        return None, within("graph", broken)
    ops, many = _without_most_faults(ops)
    try:
        return build(name, ops), []
    except InterlaceError as error:
        return None, within("graph", [*many, *error.faults])


def _without_most_faults(ops: list[Op]) -> tuple[list[Op], list[Fault]]:
    """Leave out the edges behind the first :data:`ENOUGH` that lead nowhere or to their own op."""
    known = {op.id for op in ops}
    left = ENOUGH
    for i, op in enumerate(ops):
        wrong = [k for k, name in enumerate(op.after) if name not in known or name == op.id]
        if len(wrong) > left:
            short = replace(op, after=op.after[: wrong[left]])
            detail = f"Graph: more than {ENOUGH:,} edges are wrong; the others were not looked at."
            fault = Fault("/ops", "too_many_faults", detail)
            return [*ops[:i], short, *(replace(o, after=()) for o in ops[i + 1 :])], [fault]
        left -= len(wrong)
    return ops, []


def _check_cluster(body: ClusterBody) -> list[Fault]:
    faults = [
        Fault(
            f"/{field}",
            "extra_field",
            f"Cluster: {field} does not count with the algorithm {body.algorithm}; leave it out.",
        )
        for field in _UNUSED.get(body.algorithm, ())
        if getattr(body, field) != ClusterBody.model_fields[field].default
    ]
    try:
        cost_of(body.to_cluster())
    except InterlaceError as error:
        faults += error.faults
    return within("cluster", faults)


def _readable_faults(raw: Any) -> list[Fault]:
    """List what the solver finds in the ops as far as they can be read.

    What cannot be read has a harmless value in its place; ids that cannot be read might be those
    that others name, so then no op is unknown.
    """
    found = ops_of(raw)
    if found is None or len(found) > MAX_OPS:
        return []
    taken = {op["id"] for op in found if isinstance(op, dict) and _is_name(op.get("id"))}
    ops: list[Op] = []
    kept: list[list[int]] = []
    hidden = set()
    for i, op in enumerate(found):
        known = op if isinstance(op, dict) else {}
        name, after = known.get("id"), known.get("after")
        kind, size = kind_of(known), known.get("bytes")
        edges = after if isinstance(after, list) else []
        kept.append([place for place, other in enumerate(edges) if _is_name(other)])
        if not isinstance(name, str) or not _is_name(name):
            name = f"op {i}"
            while name in taken:
                name += "'"
            hidden.add(name)
        if not isinstance(size, int) or not 1 <= size <= MAX_BYTES:
            size = 1
        ops.append(Op(name, kind, 0.0, size, tuple(edges[place] for place in kept[-1])))
    unsure = {"unknown_op", "too_many_faults"} if hidden else set()
    if not all(isinstance(op, dict) for op in found):
        unsure |= {"no_compute", "no_collective"}
    return [_moved(fault, kept) for fault in _check_graph("", ops)[1] if fault.code not in unsure]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME


def _moved(fault: Fault, kept: list[list[int]]) -> Fault:
    """Point at an edge's place in the body, where unreadable edges stand between."""
    match fault.pointer.split("/"):
        case ["", "graph", "ops", op, "after", edge]:
            place = kept[int(op)][int(edge)]
            return Fault(f"/graph/ops/{op}/after/{place}", fault.code, fault.detail)
    return fault
