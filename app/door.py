"""The door: bytes in, a checked problem out, or every fault of the request at once."""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from app.body import Body
from app.cluster import ClusterBody
from app.cluster_faults import cluster_faults, lane_faults, with_models
from app.errors import InvalidRequest, NotJson, within
from app.faults import MAX_NAME
from app.graph_id import with_graph
from app.keys import object_of
from app.library import NOTHING, Library
from app.problem import Problem
from app.quick import read_quickly
from app.requests import MAX_COLLECTIVES, MAX_EDGES, MAX_OPS, GraphRequest
from app.shape import fitting, kind_of, ops_of, shape_faults
from app.sweep_request import AXES, SweepRequest
from solver.errors import Fault, InterlaceError
from solver.graph import COMPUTE, MAX_BYTES, NETWORK, Graph, Op, build

#: So many values, about, a body that does not fit may have: more than any graph within the limits.
MAX_VALUES = 20_000_000
#: Before each value but the first of a list or an object stands a comma.
_STARTS = (b",", b"[", b"{")
#: Longer integers are read as infinite: no limit of ours is near, and digits cost time.
_DIGITS = 300
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
Request = TypeVar("Request", bound=GraphRequest)
Plain = TypeVar("Plain", bound=Body)


def read_json(body: bytes | bytearray) -> Any:
    """Parse a body as JSON, NaN and Infinity included so that their place can be named.

    A byte order mark before it is passed over.

    Raises
    ------
    NotJson
        When it is not UTF-8, not JSON, nested too deeply or holds half a surrogate pair.
    DuplicateKey
        When an object has a key twice: readers of JSON differ in which value counts.
    """
    try:
        text = body.removeprefix(BOM_UTF8).decode("utf-8")
        value = json.loads(text, parse_int=_integer, object_pairs_hook=object_of)
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


def read_body(
    body: bytes | bytearray, model: type[Request], library: Library = NOTHING
) -> tuple[Graph | None, Request]:
    """Check a posted body; return its graph and the rest of it.

    The graph of the request is empty where the graph returned counts. What ``library`` finds is put
    in the place of its id.

    Raises
    ------
    NotJson, DuplicateKey, InvalidRequest
        As :func:`read_json` and :func:`read_parsed` do; also when a body that does not fit has
        more than :data:`MAX_VALUES` values, each of which would take up memory.
    """
    body, unknown = with_graph(body, library.graph)
    try:
        found = _read(body, model, library)
    except InvalidRequest as error:
        raise InvalidRequest([*unknown, *error.faults]) from error
    if unknown:
        raise InvalidRequest(unknown)
    return found


def _read(
    body: bytes | bytearray, model: type[Request], library: Library
) -> tuple[Graph | None, Request]:
    """Read in one pass what fits; only what does not is read again, slowly, for its faults."""
    quick = read_quickly(body.removeprefix(BOM_UTF8), model)
    if quick is not None:
        return _checked(*quick, library)
    if sum(map(body.count, _STARTS)) > MAX_VALUES:
        detail = f"The body does not fit the schema and has more than {MAX_VALUES:,} values."
        raise InvalidRequest([Fault("", "too_many_faults", detail)])
    raw = read_json(body)
    _refuse_misfit(raw, model)
    return read_parsed(raw, model, library)


def read_parsed(
    raw: Any, model: type[Request], library: Library = NOTHING
) -> tuple[Graph | None, Request]:
    """Check a parsed body, as :func:`read_body` does.

    Sections that fit the schema are checked by the solver as well, and of a graph that does not
    fit, all that can be read, so that one answer names all faults.

    Raises
    ------
    InvalidRequest
        With all faults, their pointers into the body.
    """
    request = fitting(raw, model)
    if request is None:
        _refuse_misfit(raw, model)
    assert request is not None, "what does not fit has a fault"
    return _checked(request, request.graph.ops_of() if request.graph else None, library)


def read_plain(body: bytes | bytearray, model: type[Plain]) -> Plain:
    """Check the schema of a posted body that has neither graph nor cluster.

    Raises
    ------
    NotJson, DuplicateKey, InvalidRequest
        As :func:`read_json` does, and with all faults.
    """
    return checked_plain(read_json(body), model)


def checked_plain(raw: Any, model: type[Plain]) -> Plain:
    """Check the schema of such a body that was parsed.

    Raises
    ------
    InvalidRequest
        With all faults.
    """
    request = fitting(raw, model)
    if request is None:
        raise InvalidRequest(shape_faults(raw, model))
    return request


def problem_of(checked: tuple[Graph | None, Request]) -> Problem[Request]:
    """Return what was read of a request that has a graph."""
    graph, request = checked
    assert graph is not None, "such a request does not fit without a graph"
    return Problem(graph, request)


def _refuse_misfit(raw: Any, model: type[Request]) -> None:
    """Raise all faults of a body that does not fit the schema."""
    shape: list[Fault] = shape_faults(raw, model)
    if shape:
        raise InvalidRequest([*shape, *_more_faults(raw, shape)])


def _checked(
    request: Request, ops: list[Op] | None, library: Library
) -> tuple[Graph | None, Request]:
    """Check what fits the schema."""
    graph: Graph | None = None
    faults: list[Fault] = []
    cluster, unknown = with_models(request.cluster, library.model)
    if ops is not None:
        assert request.graph is not None, "the ops are those of a graph"
        graph, faults = _check_graph(request.graph.name, ops)
        if request.has_barrier and len(ops) == MAX_OPS:
            detail = f"Graph: at most {MAX_OPS - 1:,} ops are planned with a barrier."
            faults.append(Fault("/graph/ops", "out_of_range", detail))
    faults += request.own_faults()
    faults += unknown or _cluster_faults(ops, request, cluster)
    if faults or (graph is None and ops is not None):
        raise InvalidRequest(list(dict.fromkeys(faults)))
    return graph, request.model_copy(update={"cluster": cluster})


def _cluster_faults(
    ops: Sequence[Op] | None, request: GraphRequest, cluster: ClusterBody
) -> list[Fault]:
    """List what is wrong with the cluster, of a sweep its first one, where that was given."""
    swept: dict[str, str] = {}
    if isinstance(request, SweepRequest):
        point = request.points()[0]
        cluster = cluster.model_copy(update=point)
        swept = {f"/cluster/{f}": f"/{axis}" for axis, f in AXES.items() if f in point}
    found = [*cluster_faults(cluster), *lane_faults(ops or [], cluster)]
    return [Fault(swept.get(f.pointer, f.pointer), f.code, f.detail) for f in found]


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


def _integer(digits: str) -> int | float:
    if len(digits) <= _DIGITS:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


def _more_faults(raw: Any, shape: list[Fault]) -> list[Fault]:
    """List what the solver finds in a body that does not fit the schema."""
    bad = {section for fault in shape for section in fault.pointer.split("/")[1:2]}
    faults, ops = _readable_faults(raw)
    if isinstance(raw, dict) and "cluster" not in bad:
        cluster = ClusterBody.model_validate(raw["cluster"])
        places = {fault.pointer for fault in shape}
        lanes = [fault for fault in lane_faults(ops, cluster) if fault.pointer not in places]
        faults += [*cluster_faults(cluster), *lanes]
    return list(dict.fromkeys(faults))


def _check_graph(name: str, ops: list[Op]) -> tuple[Graph | None, list[Fault]]:
    if broken := list(check_limits(ops)):
        return None, within("graph", broken)
    try:
        return build(name, ops), []
    except InterlaceError as error:
        return None, within("graph", error.faults)


def _readable_faults(raw: Any) -> tuple[list[Fault], list[Op]]:
    """List what the solver finds in the ops as far as they can be read, and return these.

    What cannot be read has a harmless value in its place; ids that cannot be read might be those
    that others name, so then no op is unknown.
    """
    found = ops_of(raw)
    if found is None or len(found) > MAX_OPS:
        return [], []
    taken = {op["id"] for op in found if isinstance(op, dict) and _is_name(op.get("id"))}
    ops: list[Op] = []
    kept: dict[int, list[int]] = {}
    hidden = set()
    for i, op in enumerate(found):
        known = op if isinstance(op, dict) else {}
        name, after = known.get("id"), known.get("after")
        kind, size, channel = kind_of(known), known.get("bytes"), known.get("channel", NETWORK)
        stream = known.get("stream") if kind == COMPUTE else None
        edges = after if isinstance(after, list) else []
        if not all(map(_is_name, edges)):
            kept[i] = [place for place, other in enumerate(edges) if _is_name(other)]
            edges = [edges[place] for place in kept[i]]
        if not isinstance(name, str) or not _is_name(name):
            name = f"op {i}"
            while name in taken:
                name += "'"
            hidden.add(name)
        if not isinstance(size, int) or not 1 <= size <= MAX_BYTES:
            size = 1
        ops.append(
            Op(
                name,
                kind,
                0.0,
                size,
                tuple(edges),
                channel if _is_name(channel) else NETWORK,
                stream if _is_name(stream) else None,
            )
        )
    unsure = {"unknown_op", "too_many_faults"} if hidden else set()
    if not all(isinstance(op, dict) for op in found):
        unsure |= {"no_compute", "no_collective"}
    faults = [_moved(fault, kept) for fault in _check_graph("", ops)[1] if fault.code not in unsure]
    return faults, ops


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME


def _moved(fault: Fault, kept: dict[int, list[int]]) -> Fault:
    """Point at an edge's place in the body, where unreadable edges stand between."""
    match fault.pointer.split("/"):
        case ["", "graph", "ops", op, "after", edge] if int(op) in kept:
            place = kept[int(op)][int(edge)]
            return Fault(f"/graph/ops/{op}/after/{place}", fault.code, fault.detail)
    return fault
