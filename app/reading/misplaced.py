"""A cost model where a graph belongs: one sentence, in place of a fault for each of its fields."""

from typing import Any

from app.errors import InvalidRequest, Refusal
from app.reading.parsing import read_json
from solver.codes import FaultCode
from solver.errors import Fault

_SAID = (
    "This is a cost model, no graph: --cost-model of the command takes it, and "
    "cluster.cost_model of a request."
)
#: What has a graph, or is one.
_OF_GRAPHS = {"graph", "ops"}
#: What a cost model has besides its algorithm.
_FIGURES = {"constant_us", "us_per_byte", "piecewise", "table", "tables", "measured_bytes"}


def refuse_cost_model(raw: Any) -> None:
    """Refuse a cost model, or what calibrate printed of one, as a request or as its graph.

    Raises
    ------
    InvalidRequest
        When it is one.
    """
    graph = raw.get("graph") if isinstance(raw, dict) else None
    for pointer, value in (("", raw), ("/graph", graph)):
        if _is_cost_model(value):
            raise InvalidRequest([Fault(pointer, FaultCode.WRONG_TYPE, _SAID)])


def refuse_cost_model_in(content: bytes) -> None:
    """Do so with an unpacked file; what is no JSON passes.

    Raises
    ------
    InvalidRequest
        As :func:`refuse_cost_model`.
    """
    if content.lstrip().startswith(b"{") and b'"algorithm"' in content:
        try:
            raw = read_json(content)
        except Refusal:
            return
        refuse_cost_model(raw)


def _is_cost_model(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() & _OF_GRAPHS:
        return False
    model = value.get("model", value)
    return isinstance(model, dict) and "algorithm" in model and bool(model.keys() & _FIGURES)
