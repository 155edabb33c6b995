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
from app.reading.wording import shown
from app.schemas.cost_models import CostModelRequest
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.problem import Problem, graph_json
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import Graph
from solver.traces import READERS, Report, TraceOptions
from solver.traces.foreign import description

Json = dict[str, Any]

#: The cluster when neither a flag nor the file names one.
CLUSTER: Json = {"workers": 8, "bandwidth_gbps": 10.0, "startup_us": 50.0}

#: How much of the first line of an unknown file is shown.
_SHOWN = 40


def read_plan(
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
        What flags say; it wins over the file.

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


def read_simulation(
    content: bytes, name: str, cluster: Json, fields: Json
) -> Problem[SimulationRequest]:
    """Read a file as a problem to simulate, as :func:`read_plan` does.

    ``fields`` are the others of a request for a simulation. Of a request for a plan the graph, the
    cluster and the barrier are taken; of a plan among ``fields`` the cluster that it was made for,
    unless flags say otherwise.
    """
    planned = fields.get("plan", {}).get("request")
    if isinstance(planned, dict) and isinstance(planned.get("cluster"), dict):
        cluster = {**planned["cluster"], **cluster}
    raw, _ = _read(content, name, cluster)
    if isinstance(raw, dict) and isinstance(options := raw.get("options"), dict):
        rest = {key: value for key, value in raw.items() if key not in {"options", "what_if"}}
        raw = {"barrier": options.get("barrier", False), **rest}
    if isinstance(raw, dict):
        raw = {**raw, **fields}
    return problem_of(read_parsed(raw, SimulationRequest))


def read_prediction(
    content: bytes, name: str, cluster: Json, fields: Json
) -> tuple[Graph | None, PredictionRequest]:
    """Read a file as an iteration that is to be predicted: a graph, or layers.

    ``fields`` are the others of the request. Of a request for a plan the graph and the cluster are
    taken.
    """
    raw, _ = _read(content, name, cluster)
    return read_parsed(_with(raw, fields), PredictionRequest)


def read_sweep(content: bytes, name: str, cluster: Json, fields: Json) -> Problem[SweepRequest]:
    """Read a file as an iteration that is to be swept, as :func:`read_prediction` does."""
    raw, _ = _read(content, name, cluster)
    return problem_of(read_parsed(_with(raw, fields), SweepRequest))


def read_benchmark(content: bytes, name: str, fields: Json) -> CostModelRequest:
    """Read what a benchmark printed as measurements to fit a cost model to.

    ``fields`` are the others of the request; the model is called after the file.

    Raises
    ------
    InvalidRequest, InvalidTrace
        When a field is out of range, or the file is not text.
    """
    raw = {"name": Path(name).stem[:MAX_NAME_CHARACTERS], **fields, "text": _text(content)}
    return checked_plain(raw, CostModelRequest)


def _with(raw: Any, fields: Json) -> Any:
    """Put what flags say into a request that may be for a plan."""
    if not isinstance(raw, dict):
        return raw
    return {k: v for k, v in raw.items() if k not in {"options", "what_if"}} | fields


def _read(content: bytes, name: str, cluster: Json) -> tuple[Any, Report | None]:
    """Return a file as a request that may lack options, with a cluster."""
    content = unpacked(content, MAX_UNPACKED_BYTES).removeprefix(BOM_UTF8)
    form = recognised(content)
    if form is not None:
        return _read_trace(content, name, form, cluster)
    if not content.lstrip().startswith((b"{", b"[")):
        raise _unknown(content)
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
    others = cluster if isinstance(cluster, dict) else {}
    others = {key: others[key] for key in ("workers", "channels") if key in others}
    measured = flags["cost_model"].get("workers") or CLUSTER["workers"]
    return {"workers": measured, **others, **flags}


def _merged(under: Any, over: Json) -> Any:
    return {**under, **over} if isinstance(under, dict) else under


def _read_trace(content: bytes, name: str, form: str, cluster: Json) -> tuple[Json, Report]:
    trace = read_files([content], form, TraceOptions(called(name)))
    if trace.graph is None:
        detail = " ".join(["No iteration can be planned.", *trace.report.warnings])
        raise InvalidTrace([Fault("", ServiceFaultCode.NOT_PLANNABLE, detail)])
    return {"graph": graph_json(trace.graph), "cluster": _on(None, cluster)}, trace.report


def called(name: str) -> str:
    """Name a graph after its file; a PipeDream ``graph.txt`` after its folder."""
    path = Path(name)
    stem = path.name.partition(".")[0] or path.name
    return path.parent.name if stem == "graph" else stem[:MAX_NAME_CHARACTERS]


def _unknown(content: bytes) -> InvalidTrace:
    """Say what a file looks like, and what is read."""
    if what := description(content):
        return InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, f"The file is {what}.")])
    try:
        lines = map(str.strip, content.decode("utf-8").splitlines())
        line = next(filter(None, lines), "")
        looks = f"begins with {shown(line[:_SHOWN])}" if line else "is blank"
    except UnicodeDecodeError:
        looks = "is not text"
    detail = f"The file {looks}; it is neither JSON nor of a known format: {', '.join(READERS)}."
    return InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])


def _text(content: bytes) -> str:
    try:
        return content.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTrace(
            [Fault("", FaultCode.NOT_TEXT, f"Neither JSON nor text: bad byte at {error.start}.")]
        ) from None
