"""Files that the command works on: a graph, a whole request, or a trace of another tool."""

from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.cli.assignments import Assignments
from app.cli.clusters import channels_of, is_split, on, overruled
from app.reading.program_requests import barrier_of, has_order, limits_of, options_of
from app.reading.requests import Request, parsed_placements, problem_of, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest, graph_json
from app.schemas.program_options import SimulatedOptions, SweptOptions
from app.services.opened_files import OpenedTrace, opened, told
from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces import Report

if TYPE_CHECKING:
    from app.schemas.parameter_servers import ParameterServerRequest
    from app.schemas.placements import PlacementsRequest
    from app.schemas.predictions import PredictionRequest
    from app.schemas.simulations import SimulationRequest
    from app.schemas.sweeps import SweepRequest
    from solver.graph import Graph

Json = dict[str, Any]

#: Today's policies for a trace whose buckets were split into tensors.
_SPLIT = ["ddp", "wfbp", "pace"]

#: What a request for a plan has, and one about steps has not.
_NOT_OF_STEPS = frozenset({"cluster", "believed", "options", "what_if"})

#: Of servers and workers where neither file nor flag says it.
_BANDWIDTH_GBPS = 10


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Files, and what flags say of the graph that they hold.

    Attributes
    ----------
    name
        What the first is called; a trace's graph is named after it.
    contents
        JSON of a graph or of a request, else a trace of one file or several; gzipped, in
        archives, or neither.
    cluster
        What flags say of the cluster; it wins over the files.
    planned
        The cluster that a plan was made for, in the place of the file's; None for the file's.
    step
        Which step of a trace; None for the one of median length.
    parameters
        JSON of the names and bytes of its gradients, to split its buckets; None when unknown.
    rank
        Which of the files of a trace; None for the slowest rank.
    device
        What runs a program that was not recorded; None where nothing is said.
    assigned
        Fields of the request, by their paths; they win over the files and all else.
    """

    name: str
    contents: Sequence[bytes]
    cluster: Json
    planned: Json | None = None
    step: int | None = None
    parameters: str | None = None
    rank: int | None = None
    device: str | None = None
    assigned: Assignments = field(default_factory=Assignments)


def read_plan(
    source: GraphSource, options: Json, what_if: list[Json], believed: Json | None = None
) -> tuple[CheckedRequest[PlanRequest], Report | None]:
    """Read files as a problem to plan; of a trace also report what was dropped and assumed.

    ``options``, ``what_if`` and ``believed`` are what flags say; they win over the file. A trace
    whose buckets were split into tensors is compared with DistributedDataParallel first.

    Raises
    ------
    NotJson, InvalidRequest, InvalidTrace
        When the files are no problem.
    """
    raw, report = _read(source)
    if isinstance(raw, dict):
        is_ddp = report is not None and report.measured_us is not None and is_split(raw)
        own = raw.get("options", {"baselines": _SPLIT} if is_ddp else {})
        raw = {**raw, "options": _merged(own, options)}
        raw |= {"what_if": what_if} if what_if else {}
        raw |= {"believed": believed} if believed else {}
    return problem_of(_read_assigned(raw, source, PlanRequest)), report


def read_simulation(source: GraphSource, fields: Json) -> "CheckedRequest[SimulationRequest]":
    """Read a file as a problem to simulate, as :func:`read_plan` does.

    ``fields`` are the others of a request for a simulation; a policy of today unless they have one
    or a plan. Of a request for a plan the graph, the cluster, the barrier and what programs are
    simulated with are taken; of a plan among ``fields`` the cluster and the options that it was
    made for, unless flags say otherwise.
    """
    from app.schemas.simulations import SimulationRequest

    planned = fields.get("plan", {}).get("request")
    options: Json = {}
    if isinstance(planned, dict) and isinstance(planned.get("cluster"), dict):
        source = replace(source, planned=planned["cluster"])
        options = options_of(planned, SimulatedOptions)
    raw, _ = _read(source)
    if isinstance(raw, dict):
        options = {**(options or options_of(raw, SimulatedOptions)), **fields.get("options", {})}
        if isinstance(raw.get("options"), dict):
            rest = {key: value for key, value in raw.items() if key not in {"options", "what_if"}}
            raw = {**barrier_of(raw), **rest}
        if not fields.keys() & {"policy", "plan"} and not source.assigned.names("plan"):
            fields = {"policy": "in_order" if has_order(raw.get("graph")) else "wfbp", **fields}
        raw = {**raw, **fields, **({"options": options} if options else {})}
    return problem_of(_read_assigned(raw, source, SimulationRequest))


def read_prediction(source: GraphSource, fields: Json) -> "tuple[Graph | None, PredictionRequest]":
    """Read files as an iteration that is to be predicted: a graph, or layers.

    ``fields`` are the others of the request. Of a request for a plan the graph and the cluster are
    taken.
    """
    from app.schemas.predictions import PredictionRequest

    raw, _ = _read(source)
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if key != "believed"}
    return _read_assigned(_with(raw, fields), source, PredictionRequest)


def read_sweep(source: GraphSource, fields: Json) -> "CheckedRequest[SweepRequest]":
    """Read files as an iteration that is to be swept, as :func:`read_prediction` does.

    Of a request for a plan the barrier is taken, too, what programs are made with, and its limits
    of memory.
    """
    from app.schemas.sweeps import SweepRequest

    raw, _ = _read(source)
    if isinstance(raw, dict):
        options = {**options_of(raw, SweptOptions), **fields.get("options", {})}
        fields = {**limits_of(raw), **fields, **({"options": options} if options else {})}
        raw = {**barrier_of(raw), **raw}
    return problem_of(_read_assigned(_with(raw, fields), source, SweepRequest))


def read_steps(
    source: GraphSource, fields: Json
) -> "tuple[Graph | None, ParameterServerRequest, tuple[str, ...]]":
    """Read files as steps through parameter servers: profiled ones, a graph, or layers.

    ``fields`` are the others of the request; where these ask for a fit, what the file says of links
    and receivers is left out. Of a request for a plan or a prediction the graph or the layers are
    taken; of a trace of parameter servers its steps, with what was assumed.
    """
    from app.schemas.parameter_servers import FITTED_FIELDS, ParameterServerRequest

    raw, notes = _steps_told(source)
    bandwidth = _bandwidth_of(raw)
    if isinstance(raw, dict) and "layers" in raw:
        raw = _of_layers(raw)
    if isinstance(raw, dict):
        is_fitted = fields.get("fit", False)
        without = {*_NOT_OF_STEPS, *(FITTED_FIELDS if is_fitted else ())}
        rest = {key: value for key, value in raw.items() if key not in without}
        links = {} if is_fitted else {"bandwidths_gbps": [bandwidth]}
        raw = {**links, **rest, **fields}
    return *read_parsed(raw, ParameterServerRequest), notes


def _steps_told(source: GraphSource) -> tuple[Any, tuple[str, ...]]:
    """Return what files hold as a request about steps, and what was assumed for these."""
    found = _opened(source)
    if isinstance(found, OpenedTrace):
        from app.services.trace_steps import notes_on, steps_out

        made = steps_out(found.trace, found.options)
        if made is not None:
            request = {"name": found.options.name, "steps": made.steps}
            return request, notes_on(found.trace, made)
        return told(found)[0], ()
    if isinstance(found, dict) and found.get("steps") is not None and "report" in found:
        graph = found.get("graph")  # as import prints it
        name = graph.get("name", "") if isinstance(graph, dict) else ""
        return {"name": name, "steps": found["steps"]}, ()
    return told(found)[0], ()


def _bandwidth_of(raw: Any) -> Any:
    """Return the bandwidth of a request's cluster, or the usual one."""
    cluster = raw.get("cluster") if isinstance(raw, dict) else None
    given = cluster.get("bandwidth_gbps") if isinstance(cluster, dict) else None
    return _BANDWIDTH_GBPS if given is None else given


def _of_layers(raw: Json) -> Json:
    """Return a request with layers as one with their graph."""
    from app.schemas.predictions import PredictionRequest
    from solver.models.layers import iteration

    known = PredictionRequest.model_fields
    asked = {name: value for name, value in raw.items() if name in known and name != "workers"}
    _, request = read_parsed({**asked, "cluster": on(None, {}, set())}, PredictionRequest)
    layers = [
        replace(layer, gradients=tuple(sent for sent in layer.gradients if sent[1]))
        for layer in request.to_layers()
    ]
    rest = {
        name: value
        for name, value in raw.items()
        if name not in known or (name in {"workers", "batch_size"} and value is not None)
    }
    return {"graph": graph_json(iteration("layers", layers)), **rest}


def read_placements(source: GraphSource, fields: Json) -> "tuple[Graph | None, PlacementsRequest]":
    """Read files as a model whose servers are to be placed, as :func:`read_prediction` does.

    Workers and bandwidth are those of the cluster where there is a graph; a request that brings
    keys needs no cluster.
    """
    raw, _ = _told(source)
    if isinstance(raw, dict) and ("graph" in raw or "cluster" in raw):
        raw = {**raw, "cluster": on(raw.get("cluster"), source.cluster, channels_of(raw))}
        return parsed_placements(_with(raw, fields))
    return parsed_placements(_with(raw, {**source.cluster, **fields}))


def _read_assigned(
    raw: Any, source: GraphSource, model: type[Request]
) -> "tuple[Graph | None, Request]":
    """Check a request with the fields that are assigned to it."""
    return read_parsed(source.assigned.on(raw), model)


def _with(raw: Any, fields: Json) -> Any:
    """Put what flags say into a request that may be for a plan."""
    if not isinstance(raw, dict):
        return raw
    return {k: v for k, v in raw.items() if k not in {"options", "what_if"}} | fields


def read_graph(content: bytes, name: str) -> Any:
    """Return the graph of a file as a request has it, unchecked."""
    raw, _ = _read(GraphSource(name, [content], {}))
    return raw.get("graph") if isinstance(raw, dict) else raw


def _read(source: GraphSource) -> tuple[Any, Report | None]:
    """Return files as a request that may lack options, with a cluster."""
    raw, report = _told(source)
    if not isinstance(raw, dict):
        return raw, report
    own = raw.get("cluster") if source.planned is None else source.planned
    if report:
        over = overruled(own, source.cluster, source.assigned.within("cluster"))
        report = replace(report, assumed=(*report.assumed, *over))
    return {**raw, "cluster": on(own, source.cluster, channels_of(raw))}, report


def _told(source: GraphSource) -> tuple[Any, Report | None]:
    """Return what files hold as a request that may lack options and a cluster."""
    return told(_opened(source))


def _opened(source: GraphSource) -> Any:
    about = (source.step, source.parameters, source.rank, source.device)
    return opened(source.contents, source.name, *about)


def _merged(under: Any, over: Json) -> Any:
    return {**under, **over} if isinstance(under, dict) else under


def text_of(content: bytes) -> str:
    """Decode a file that is text.

    Raises
    ------
    InvalidTrace
        When it is not.
    """
    try:
        return content.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTrace(
            [Fault("", FaultCode.NOT_TEXT, f"The file is not text: bad byte at {error.start}.")]
        ) from None
