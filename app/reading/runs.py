"""Plans of runs: a body, with what is stored in the place of its id, checked."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from app.errors import InvalidRequest, TooLarge
from app.limits import MAX_RUN_BYTES
from app.reading.parsing import read_json
from app.reading.references import FindPlan, LargeGraph, Library, with_graph, with_plan
from app.reading.requests import checked_plain, read_parsed
from app.schemas.base import RequestModel
from app.schemas.runs import PlannedRequest
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import Graph

Request = TypeVar("Request", bound=PlannedRequest)
Plain = TypeVar("Plain", bound=RequestModel)


class Planned(NamedTuple):
    """A graph, the request for it, and the id that its plan was named by."""

    graph: Graph
    request: Any
    plan_id: str | None


def read_planned(
    body: bytes | bytearray,
    model: type[Request],
    library: Library,
    plan_of: FindPlan,
    before: Mapping[str, Any],
) -> Planned:
    """Check a posted body; graph and cluster are those ``before`` where it says nothing of them.

    Raises
    ------
    NotJson, DuplicateKey, InvalidRequest, TooLarge
        As :func:`app.reading.requests.read_body` does; also for more than :data:`MAX_RUN_BYTES`.
    """
    raw = read_short(body)
    if isinstance(raw, dict):
        left_out = [field for field in before if not raw.keys() & {field, f"{field}_id"}]
        raw = {**raw, **{field: before[field] for field in left_out}}
    try:
        raw, unknown = with_graph(raw, library.graph)
    except LargeGraph:
        detail = f"The graph of this id is longer than {MAX_RUN_BYTES:,} bytes."
        raise InvalidRequest([Fault("/graph_id", FaultCode.OUT_OF_RANGE, detail)]) from None
    raw, plan_id, more = with_plan(raw, plan_of)
    unknown += more
    try:
        graph, request = read_parsed(raw, model, library)
    except InvalidRequest as error:
        raise InvalidRequest([*unknown, *error.faults]) from error
    if unknown:
        raise InvalidRequest(unknown)
    assert graph is not None, "such a request does not fit without a graph"
    return Planned(graph, request, plan_id)


def read_report(body: bytes | bytearray, model: type[Plain]) -> Plain:
    """Check a posted body that has no graph, as :func:`read_planned` does."""
    return checked_plain(read_short(body), model)


def read_short(body: bytes | bytearray) -> Any:
    """Parse a body, unless it is too long for one about a run."""
    if len(body) > MAX_RUN_BYTES:
        raise TooLarge(f"The body is longer than {MAX_RUN_BYTES:,} bytes, the most about a run.")
    return read_json(body)
