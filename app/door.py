"""The door: bytes in, a checked problem out, or every fault of the request at once."""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from app.errors import InvalidRequest, NotJson
from app.faults import MAX_NAME, brief, pointer
from app.problem import Problem, SimulationProblem
from app.quick import read_quickly
from app.requests import (
    MAX_COLLECTIVES,
    MAX_EDGES,
    MAX_OPS,
    ChannelBody,
    ClusterBody,
    PlanRequest,
)
from app.shape import ENOUGH, fitting, kind_of, ops_of, shape_faults
from app.simulation_request import SimulationRequest
from solver.costs import RING, TABLE, Lane, cost_of
from solver.errors import Fault, InterlaceError
from solver.graph import ALL_REDUCE, COMPUTE, MAX_BYTES, NETWORK, Graph, Op, build

#: So many values, about, a body that does not fit may have: more than any graph within the limits.
MAX_VALUES = 20_000_000
#: Before each value but the first of a list or an object stands a comma.
_STARTS = (b",", b"[", b"{")
#: Longer integers are read as infinite: no limit of ours is near, and digits cost time.
_DIGITS = 300
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
Request = TypeVar("Request", PlanRequest, SimulationRequest)

#: Fields of a channel that an algorithm does not use.
_UNUSED = {RING: ("table", "tables"), TABLE: ("hop_us", "reduction_gbps")}


def read_json(body: bytes | bytearray) -> Any:
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


def read_body(body: bytes | bytearray) -> Problem:
    """Check a body posted to be planned.

    Raises
    ------
    NotJson, InvalidRequest
        As :func:`read_json` and :func:`read_problem` do; also when a body that does not fit has
        more than :data:`MAX_VALUES` values, each of which would take up memory.
    """
    graph, request = _read(body, PlanRequest)
    return _problem(graph, request)


def read_problem(raw: Any) -> Problem:
    """Check a parsed body that is to be planned.

    Sections that fit the schema are checked by the solver as well, and of a graph that does not
    fit, all that can be read, so that one answer names all faults.

    Raises
    ------
    InvalidRequest
        With all faults, their pointers into the body.
    """
    graph, request = _read_parsed(raw, PlanRequest)
    return _problem(graph, request)


def read_simulation(body: bytes | bytearray) -> SimulationProblem:
    """Check a body posted to be simulated, as :func:`read_body` does.

    Raises
    ------
    NotJson, InvalidRequest
        As there.
    """
    graph, request = _read(body, SimulationRequest)
    return SimulationProblem(graph, request)


def read_simulation_problem(raw: Any) -> SimulationProblem:
    """Check a parsed body that is to be simulated, as :func:`read_problem` does."""
    graph, request = _read_parsed(raw, SimulationRequest)
    return SimulationProblem(graph, request)


def _problem(graph: Graph, request: PlanRequest) -> Problem:
    return Problem(graph, request.cluster, request.options, tuple(request.what_if))


def _read(body: bytes | bytearray, model: type[Request]) -> tuple[Graph, Request]:
    """Read in one pass what fits; only a body that does not is read again, slowly, for faults."""
    quick = read_quickly(body.removeprefix(BOM_UTF8), model)
    if quick is not None:
        return _checked(*quick)
    if sum(map(body.count, _STARTS)) > MAX_VALUES:
        detail = f"The body does not fit the schema and has more than {MAX_VALUES:,} values."
        raise InvalidRequest([Fault("", "too_many_faults", detail)])
    raw = read_json(body)
    _refuse_misfit(raw, model)
    return _read_parsed(raw, model)


def _read_parsed(raw: Any, model: type[Request]) -> tuple[Graph, Request]:
    request = fitting(raw, model)
    if request is None:
        _refuse_misfit(raw, model)
    assert request is not None, "what does not fit has a fault"
    return _checked(request, request.graph.ops_of())


def _refuse_misfit(raw: Any, model: type[Request]) -> None:
    """Raise all faults of a body that does not fit the schema."""
    shape: list[Fault] = shape_faults(raw, model)
    if shape:
        raise InvalidRequest([*shape, *_more_faults(raw, shape)])


def _checked(request: Request, ops: list[Op]) -> tuple[Graph, Request]:
    """Check what fits the schema."""
    graph, faults = _check_graph(request.graph.name, ops)
    barrier = request.options.barrier if isinstance(request, PlanRequest) else request.barrier
    if barrier and len(ops) == MAX_OPS:
        detail = f"Graph: at most {MAX_OPS - 1:,} ops are planned with a barrier."
        faults.append(Fault("/graph/ops", "out_of_range", detail))
    faults += [*_check_cluster(request.cluster), *_check_lanes(ops, request.cluster)]
    if graph is None or faults:
        raise InvalidRequest(list(dict.fromkeys(faults)))
    return graph, request


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
    faults, ops = _readable_faults(raw)
    if isinstance(raw, dict) and "cluster" not in bad:
        cluster = ClusterBody.model_validate(raw["cluster"])
        places = {fault.pointer for fault in shape}
        lanes = [fault for fault in _check_lanes(ops, cluster) if fault.pointer not in places]
        faults += [*_check_cluster(cluster), *lanes]
    return list(dict.fromkeys(faults))


def _check_graph(name: str, ops: list[Op]) -> tuple[Graph | None, list[Fault]]:
    if broken := list(check_limits(ops)):
        return None, within("graph", broken)
    try:
        return build(name, ops), []
    except InterlaceError as error:
        return None, within("graph", error.faults)


def _check_cluster(body: ClusterBody) -> list[Fault]:
    """List the fields that do not count."""
    faults = [
        Fault(
            f"{under}/{field}",
            "extra_field",
            f"Cluster: {f'{under}/{field}'[1:]} does not count with the algorithm "
            f"{channel.algorithm}; leave it out.",
        )
        for under, channel in _networks(body).values()
        for field in _UNUSED.get(channel.algorithm, ())
        if getattr(channel, field) != ChannelBody.model_fields[field].default
    ]
    if NETWORK in body.channels:
        detail = f"Cluster: the channel {NETWORK} is the cluster's own fields."
        faults.append(Fault(f"/channels/{NETWORK}", "extra_field", detail))
    return within("cluster", faults)


def _check_lanes(ops: Sequence[Op], body: ClusterBody) -> list[Fault]:
    """List the channels that the cluster does not have, and what the lanes in use cost not.

    When no collective can be read, an all-reduce on the network is taken to be in use.
    """
    known = ", ".join(map(repr, [NETWORK, *body.channels]))
    faults: list[Fault] = []
    lanes: dict[Lane, None] = {}
    for i, op in enumerate(ops):
        if op.kind == COMPUTE:
            continue
        if op.channel == NETWORK or op.channel in body.channels:
            lanes[Lane(op.channel, op.kind)] = None
            continue
        if len(faults) == ENOUGH:
            detail = f"Graph: more than {ENOUGH:,} ops name a channel that the cluster has not."
            faults.append(Fault("/graph/ops", "too_many_faults", detail))
            break
        detail = (
            f"Tensor {brief(op.id)!r}: the cluster has no channel {brief(op.channel)!r}; it has "
            f"{known}."
        )
        faults.append(Fault(f"/graph/ops/{i}/channel", "unknown_channel", detail))
    used = lanes or {Lane(NETWORK, ALL_REDUCE): None}
    return faults + [fault for lane in used for fault in _cost_faults(body, lane)]


def _cost_faults(body: ClusterBody, lane: Lane) -> list[Fault]:
    """List what is missing of the cost of one kind of collective on one channel."""
    under, _ = _networks(body)[lane.channel]
    cluster = body.to_cluster()
    try:
        own = lane.channel == NETWORK
        cost_of(cluster if own else dict(cluster.channels)[lane.channel], lane.kind)
    except InterlaceError as error:
        found = [Fault(under + f.pointer, f.code, f.detail) for f in error.faults]
        return within("cluster", found)
    return []


def _networks(body: ClusterBody) -> dict[str, tuple[str, ChannelBody]]:
    """Return each channel, and its pointer in the cluster."""
    others = {name: (pointer(("channels", name)), body.channels[name]) for name in body.channels}
    return {**others, NETWORK: ("", body)}


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
