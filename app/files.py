"""Files that the command plans or simulates: a graph, a whole request, or a PipeDream profile."""

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from app.door import (
    check_limits,
    read_json,
    read_problem,
    read_simulation_problem,
    within,
)
from app.errors import InvalidRequest
from app.problem import Problem, SimulationProblem, graph_json
from solver.errors import Fault, InvalidTrace
from solver.traces import READERS, Report

#: The cluster when neither a flag nor the file names one.
CLUSTER: dict[str, Any] = {"workers": 8, "bandwidth_gbps": 10.0, "startup_us": 50.0}

Json = dict[str, Any]


def read_file(
    content: bytes, name: str, cluster: Json, options: Json, what_if: list[Json]
) -> tuple[Problem, Report | None]:
    """Read a file as a problem to plan; of a profile also report what was dropped and assumed.

    Parameters
    ----------
    content
        JSON of a graph or of a request, else the text of a PipeDream ``graph.txt``.
    name
        What the file is called; a profile's graph is named after it.
    cluster, options, what_if
        What was asked for by flags; it wins over the file.

    Raises
    ------
    NotJson, InvalidRequest, InvalidTrace
        When the file is not a problem.
    """
    raw, report = _read(content, name, cluster)
    if isinstance(raw, dict):
        raw = {**raw, "options": _merged(raw.get("options", {}), options)}
        raw |= {"what_if": what_if} if what_if else {}
    return read_problem(raw), report


def read_simulated(
    content: bytes, name: str, cluster: Json, asked: Json
) -> tuple[SimulationProblem, Report | None]:
    """Read a file as a problem to simulate, as :func:`read_file` does.

    ``asked`` has the other fields of a request for a simulation. Of a request for a plan the graph,
    the cluster and the barrier are taken; of an answer among ``asked`` the cluster that it was made
    for, unless flags say otherwise.
    """
    made_for = asked.get("plan", {}).get("request")
    if isinstance(made_for, dict) and isinstance(made_for.get("cluster"), dict):
        cluster = {**made_for["cluster"], **cluster}
    raw, report = _read(content, name, cluster)
    if isinstance(raw, dict) and isinstance(options := raw.get("options"), dict):
        rest = {key: value for key, value in raw.items() if key not in {"options", "what_if"}}
        raw = {"barrier": options.get("barrier", False), **rest}
    if isinstance(raw, dict):
        raw = {**raw, **asked}
    return read_simulation_problem(raw), report


def _read(content: bytes, name: str, cluster: Json) -> tuple[Any, Report | None]:
    """Return a file as a request that may lack options, with a cluster."""
    content = content.removeprefix(BOM_UTF8)
    if not content.lstrip().startswith((b"{", b"[")):
        return _read_trace(content, name, cluster)
    raw = read_json(content)
    if isinstance(raw, dict) and "ops" in raw and "graph" not in raw:
        raw = {"graph": raw}
    if isinstance(raw, dict):
        raw = {**raw, "cluster": _merged(raw.get("cluster", CLUSTER), cluster)}
    return raw, None


def _merged(under: Any, over: Json) -> Any:
    return {**under, **over} if isinstance(under, dict) else under


def _read_trace(content: bytes, name: str, cluster: Json) -> tuple[Json, Report]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTrace(
            [Fault("", "not_text", f"Neither JSON nor text: bad byte at {error.start}.")]
        ) from None
    path = Path(name)
    called = path.name.removesuffix(".txt").removesuffix(".graph")
    trace = READERS["pipedream"](text, path.parent.name if called == "graph" else called)
    if broken := list(check_limits(list(trace.graph.ops))):
        raise InvalidRequest(within("graph", broken))
    return {"graph": graph_json(trace.graph), "cluster": {**CLUSTER, **cluster}}, trace.report
