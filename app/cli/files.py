"""Files that the command works on: a graph, a whole request, or a trace of another tool."""

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from app.codes import ServiceFaultCode
from app.limits import MAX_NAME_CHARACTERS, MAX_UNPACKED_BYTES
from app.reading.parsing import read_json
from app.reading.requests import checked_plain, problem_of, read_parsed
from app.reading.traces import read_files, recognised
from app.reading.unpacking import unpacked
from app.schemas.cost_models import CostModelRequest
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.problem import Problem, graph_json
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import Graph
from solver.traces import Asked, Report

#: The cluster when neither a flag nor the file names one.
CLUSTER: dict[str, Any] = {"workers": 8, "bandwidth_gbps": 10.0, "startup_us": 50.0}


Json = dict[str, Any]


def read_file(
    content: bytes, name: str, cluster: Json, options: Json, what_if: list[Json]
) -> tuple[Problem[PlanRequest], Report | None]:
    """Read a file as a problem to plan; of a profile also report what was dropped and assumed.

    Parameters
    ----------
    content
        JSON of a graph or of a request, else a trace; gzipped or not.
    name
        What the file is called; a trace's graph is named after it.
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
    return problem_of(read_parsed(raw, PlanRequest)), report


def read_simulated(
    content: bytes, name: str, cluster: Json, asked: Json
) -> tuple[Problem[SimulationRequest], Report | None]:
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
    return problem_of(read_parsed(raw, SimulationRequest)), report


def read_prediction(
    content: bytes, name: str, cluster: Json, asked: Json
) -> tuple[Graph | None, PredictionRequest]:
    """Read a file as an iteration that is to be predicted: a graph, or layers.

    ``asked`` has the other fields of the request. Of a request for a plan the graph and the
    cluster are taken.
    """
    raw, _ = _read(content, name, cluster)
    return read_parsed(_asked(raw, asked, {"options", "what_if"}), PredictionRequest)


def read_sweep(content: bytes, name: str, cluster: Json, asked: Json) -> Problem[SweepRequest]:
    """Read a file as an iteration that is to be swept, as :func:`read_prediction` does."""
    raw, _ = _read(content, name, cluster)
    return problem_of(read_parsed(_asked(raw, asked, {"options", "what_if"}), SweepRequest))


def read_benchmark(content: bytes, name: str, asked: Json) -> CostModelRequest:
    """Read what a benchmark printed as measurements to fit a cost model to.

    ``asked`` has the other fields of the request; the model is called after the file.

    Raises
    ------
    InvalidRequest, InvalidTrace
        When a field is out of range, or the file is not text.
    """
    raw = {"name": Path(name).stem[:MAX_NAME_CHARACTERS], **asked, "text": _text(content)}
    return checked_plain(raw, CostModelRequest)


def _asked(raw: Any, asked: Json, other: set[str]) -> Any:
    """Put what flags ask for into a request that may be for something else."""
    if not isinstance(raw, dict):
        return raw
    return {**{key: value for key, value in raw.items() if key not in other}, **asked}


def _read(content: bytes, name: str, cluster: Json) -> tuple[Any, Report | None]:
    """Return a file as a request that may lack options, with a cluster."""
    content = unpacked(content, MAX_UNPACKED_BYTES).removeprefix(BOM_UTF8)
    is_json = content.lstrip().startswith((b"{", b"["))
    form = recognised(content)
    if form is not None or not is_json:
        return _read_trace(content, name, form or "pipedream", cluster)
    raw = read_json(content)
    if isinstance(raw, dict) and {"graph", "report"} <= raw.keys():  # as import prints it
        raw = {"graph": raw["graph"]}
    if isinstance(raw, dict) and "ops" in raw and "graph" not in raw:
        raw = {"graph": raw}
    if isinstance(raw, dict):
        raw = {**raw, "cluster": _on(raw.get("cluster"), cluster)}
    return raw, None


def _on(cluster: Any, flags: Json) -> Any:
    """Put what flags say over a file's cluster, if it has one; a cost model replaces a network."""
    if flags.get("cost_model") is None:
        return _merged(CLUSTER if cluster is None else cluster, flags)
    kept = {"workers", "channels"}
    named = {k: v for k, v in cluster.items() if k in kept} if isinstance(cluster, dict) else {}
    measured = flags["cost_model"].get("workers") or CLUSTER["workers"]
    return {"workers": measured, **named, **flags}


def _merged(under: Any, over: Json) -> Any:
    return {**under, **over} if isinstance(under, dict) else under


def _read_trace(content: bytes, name: str, form: str, cluster: Json) -> tuple[Json, Report]:
    if form == "pipedream":
        _text(content)  # says that it is neither JSON nor text
    trace = read_files([content], form, Asked(called(name)))
    if trace.graph is None:
        detail = " ".join(["No iteration can be planned.", *trace.report.warnings])
        raise InvalidTrace([Fault("", ServiceFaultCode.NOT_PLANNABLE, detail)])
    return {"graph": graph_json(trace.graph), "cluster": _on(None, cluster)}, trace.report


def called(name: str) -> str:
    """Name a graph after its file; a PipeDream ``graph.txt`` after its folder."""
    path = Path(name)
    stem = path.name.partition(".")[0] or path.name
    return path.parent.name if stem == "graph" else stem[:MAX_NAME_CHARACTERS]


def _text(content: bytes) -> str:
    try:
        return content.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTrace(
            [Fault("", FaultCode.NOT_TEXT, f"Neither JSON nor text: bad byte at {error.start}.")]
        ) from None
