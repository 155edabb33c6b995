"""A graph that was written for Interlace, or a request that holds one: stored as it is."""

from typing import Any

from app.body import Body
from app.door import checked_plain, read_json
from app.errors import InvalidRequest, Refusal, within
from app.requests import GraphBody
from solver.errors import InterlaceError
from solver.graph import build
from solver.traces import Asked, Report, Trace
from solver.traces.trace import totals

FORMAT = "interlace"


class _File(Body):
    graph: GraphBody


def read_own(content: bytes, asked: Asked) -> Trace | None:
    """Read such a file; None when it is something else.

    Raises
    ------
    InvalidRequest
        With all faults of the graph.
    """
    raw = _object(content)
    if "ops" in raw:
        raw = {"graph": raw}
    if not isinstance(raw.get("graph"), dict) or "ops" not in raw["graph"]:
        return None
    body = checked_plain({"graph": raw["graph"]}, _File).graph
    try:
        graph = build(asked.name or body.name, body.ops_of())
    except InterlaceError as error:
        raise InvalidRequest(within("graph", error.faults)) from error
    report = Report(
        format=FORMAT, steps=1, step=0, ops=len(graph.ops), collectives=totals(graph.ops)
    )
    return Trace(graph, report)


def _object(content: bytes) -> dict[str, Any]:
    """Return a JSON object; an empty one for whatever else."""
    if not content.lstrip().startswith(b"{") or b'"ops"' not in content:
        return {}
    try:
        found = read_json(content)
    except Refusal:
        return {}
    return found if isinstance(found, dict) else {}
