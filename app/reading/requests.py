"""Bytes in, a checked problem out, or every fault of the request at once."""

from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from app.errors import InvalidRequest
from app.limits import MAX_COLLECTIVES, MAX_MISFIT_VALUES, MAX_OPS
from app.reading.cluster_faults import (
    WORKERS_MISSING,
    cluster_faults,
    lane_faults,
    with_models,
)
from app.reading.fast import read_fast
from app.reading.graph_faults import checked_graph, readable_faults, readable_graph_faults
from app.reading.misplaced import refuse_cost_model
from app.reading.parsing import read_json
from app.reading.program_faults import order_faults
from app.reading.references import NOTHING, Library, with_graph
from app.reading.schema_faults import fitting, shape_faults
from app.reading.step_faults import readable_step_faults, step_faults
from app.schemas.base import RequestModel
from app.schemas.believed import BelievedBody
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import ClusterRequest, GraphBody, GraphRequest
from app.schemas.problem import CheckedRequest, graph_json
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import Graph, Op

if TYPE_CHECKING:
    from app.schemas.placements import PlacementsRequest

#: Before each value but the first of a list or an object stands a comma.
_STARTS = (b",", b"[", b"{")


Request = TypeVar("Request", bound=GraphRequest)


Plain = TypeVar("Plain", bound=RequestModel)


def read_body(
    body: bytes | bytearray, model: type[Request], library: Library = NOTHING
) -> tuple[Graph | None, Request]:
    """Check a posted body; return its graph and the rest of it.

    What fits is read in one pass; only what does not is read again, slowly, for its faults. The
    graph of the request is empty where the graph returned counts. What ``library`` finds is put in
    the place of its id.

    Raises
    ------
    NotJson, DuplicateKey, InvalidRequest
        As :func:`read_json` and :func:`read_parsed` do; also when a body that does not fit has
        more than :data:`MAX_MISFIT_VALUES` values, each of which would take up memory.
    """
    parsed = read_fast(body.removeprefix(BOM_UTF8), model, library.graph)
    if parsed is not None:
        return _checked(*parsed, library)
    _refuse_long(body)
    raw, unknown = with_graph(read_json(body), library.graph)
    try:
        _refuse_misfit(raw, model)
        checked = read_parsed(raw, model, library)
    except InvalidRequest as error:
        raise InvalidRequest([*unknown, *error.faults]) from error
    if unknown:
        raise InvalidRequest(unknown)
    return checked


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


def read_beside(graph: Graph, raw: dict[str, Any], model: type[Request]) -> Request:
    """Check the rest of a request, parsed, about a graph that is built.

    Raises
    ------
    InvalidRequest
        With all faults, as if the graph stood in the body.
    """
    small = graph_json(replace(graph, ops=()))
    request = fitting({"graph": small, **raw}, model)
    if request is None:
        return read_parsed({"graph": graph_json(graph), **raw}, model)[1]
    return _checked(request, list(graph.ops), NOTHING, graph)[1]


def read_placements(
    body: bytes | bytearray, library: Library = NOTHING
) -> "tuple[Graph | None, PlacementsRequest]":
    """Check a posted body that may have neither graph nor cluster, as :func:`read_body` does.

    Of a cluster the workers and the bandwidth alone count, so that nothing else of it is checked.
    """
    from app.schemas.placements import PlacementsRequest  # noqa: PLC0415 - takes time

    parsed = read_fast(body.removeprefix(BOM_UTF8), PlacementsRequest, library.graph)
    if parsed is not None:
        return _checked_placements(*parsed)
    _refuse_long(body)
    return parsed_placements(read_json(body), library)


def parsed_placements(
    raw: Any, library: Library = NOTHING
) -> "tuple[Graph | None, PlacementsRequest]":
    """Check such a body that was parsed."""
    if isinstance(raw, dict) and raw.get("graph", ...) is None:  # as good as none
        raw = {name: value for name, value in raw.items() if name != "graph"}
    raw, unknown = with_graph(raw, library.graph)
    try:
        checked = _read_placements(raw)
    except InvalidRequest as error:
        raise InvalidRequest([*unknown, *error.faults]) from error
    if unknown:
        raise InvalidRequest(unknown)
    return checked


def _read_placements(raw: Any) -> "tuple[Graph | None, PlacementsRequest]":
    from app.schemas.placements import PlacementsRequest  # noqa: PLC0415 - takes time

    request = fitting(raw, PlacementsRequest)
    if request is None:
        shape = shape_faults(raw, PlacementsRequest)
        raise InvalidRequest(list(dict.fromkeys([*shape, *readable_graph_faults(raw)])))
    return _checked_placements(request, request.graph.ops_of() if request.graph else None)


def _checked_placements(
    request: "PlacementsRequest", ops: list[Op] | None
) -> "tuple[Graph | None, PlacementsRequest]":
    from app.reading.placement_faults import faults_of  # noqa: PLC0415 - takes time

    graph, broken = None, list[Fault]()
    if ops is not None:
        assert request.graph is not None, "the ops are those of a graph"
        graph, broken = _built(request.graph, ops)
        broken += order_faults(request.graph, ops, request)
    if request.cluster is not None and "workers" not in request.cluster.model_fields_set:
        broken.append(WORKERS_MISSING)
    if faults := [*broken, *faults_of(request, graph)]:
        raise InvalidRequest(faults)
    return graph, request


def _built(
    body: GraphBody, ops: list[Op], most_collectives: int = MAX_COLLECTIVES
) -> tuple[Graph | None, list[Fault]]:
    parts = body.buffers_of(), body.free(), body.recorded_of()
    return checked_graph(body.name, ops, *parts, most_collectives)


def _refuse_long(body: bytes | bytearray) -> None:
    """Refuse a body that does not fit and has so many values that each would take up memory."""
    if sum(map(body.count, _STARTS)) > MAX_MISFIT_VALUES:
        detail = f"The body does not fit the schema and has more than {MAX_MISFIT_VALUES:,} values."
        raise InvalidRequest([Fault("", FaultCode.TOO_MANY_FAULTS, detail)])


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


def problem_of(checked: tuple[Graph | None, Request]) -> CheckedRequest[Request]:
    """Return what was read of a request that has a graph."""
    graph, request = checked
    assert graph is not None, "such a request does not fit without a graph"
    return CheckedRequest(graph, request)


def _refuse_misfit(raw: Any, model: type[Request]) -> None:
    """Raise all faults of a body that does not fit the schema."""
    refuse_cost_model(raw)
    shape: list[Fault] = shape_faults(raw, model)
    if shape:
        raise InvalidRequest(
            [
                *shape,
                *readable_faults(raw, shape, model.most_collectives),
                *readable_step_faults(raw, shape),
            ]
        )


def _checked(
    request: Request, ops: list[Op] | None, library: Library, graph: Graph | None = None
) -> tuple[Graph | None, Request]:
    """Check what fits the schema; a graph that is given is built already."""
    faults: list[Fault] = []
    if ops is not None:
        assert request.graph is not None, "the ops are those of a graph"
        if graph is None:
            graph, faults = _built(request.graph, ops, request.most_collectives)
        faults += order_faults(request.graph, ops, request)
        if request.has_barrier and len(ops) == MAX_OPS:
            detail = f"Graph: at most {MAX_OPS - 1:,} ops are planned with a barrier."
            faults.append(Fault("/graph/ops", FaultCode.OUT_OF_RANGE, detail))
    faults += request.own_faults()
    faults += step_faults(getattr(request, "steps", None) or [])  # of parameter servers alone
    changes: dict[str, Any] = {}
    if isinstance(request, ClusterRequest):
        cluster, unknown = with_models(request.cluster, library.model)
        faults += unknown or _cluster_faults(ops, request, cluster)
        changes["cluster"] = cluster
    if (believed := getattr(request, "believed", None)) is not None:
        body, wrong = _believed(ops, believed, library)
        faults += wrong
        changes["believed"] = body
    if faults or (graph is None and ops is not None):
        raise InvalidRequest(list(dict.fromkeys(faults)))
    return graph, request.model_copy(update=changes)


def _believed(
    ops: Sequence[Op] | None, body: BelievedBody, library: Library
) -> tuple[BelievedBody, list[Fault]]:
    """Put stored cost models in a believed cluster; list what is wrong with it."""
    if body.cluster is None:
        return body, []
    cluster, unknown = with_models(body.cluster, library.model)
    in_cluster = unknown or [*cluster_faults(cluster), *lane_faults(ops or [], cluster)]
    faults = [Fault(f"/believed{f.pointer}", f.code, f"Believed: {f.detail}") for f in in_cluster]
    return body.model_copy(update={"cluster": cluster}), faults


def _cluster_faults(
    ops: Sequence[Op] | None, request: ClusterRequest, cluster: ClusterBody
) -> list[Fault]:
    """List what is wrong with the cluster, of a sweep its first one, where that was given."""
    swept: dict[str, str] = {}
    if points := getattr(request, "points", None):  # of a sweep
        from app.schemas.sweeps import AXES  # noqa: PLC0415 - takes time

        point = points()[0]
        cluster = cluster.model_copy(update=point)
        swept = {f"/cluster/{f}": f"/{axis}" for axis, f in AXES.items() if f in point}
    in_cluster = [*cluster_faults(cluster), *lane_faults(ops or [], cluster)]
    return [Fault(swept.get(f.pointer, f.pointer), f.code, f.detail) for f in in_cluster]
