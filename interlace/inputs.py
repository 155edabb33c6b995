"""What the functions take, read and checked as the service reads a request.

A graph is one that was built, the name of an example, JSON, or files; a network is one, a cluster,
or the JSON of a cluster. All of it becomes a request, and the reader of requests says what is
wrong: the same faults in the same words, wherever a thing comes from.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias

import numpy as np

from app.errors import InvalidRequest, Refusal
from app.reading.parsing import whole
from app.reading.program_requests import barrier_of, limits_of, options_of
from app.reading.requests import Request, problem_of, read_beside, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.solver_objects import cluster_json
from app.services.examples import TWO_LAYERS, cluster_of, is_example, unknown_example
from app.services.opened_files import OpenedTrace, of_json, opened, recorded
from solver.codes import FaultCode
from solver.costs import Cluster, Network, network_of
from solver.errors import (
    Fault,
    InterlaceError,
    InvalidCluster,
    InvalidGraph,
    InvalidOptions,
    InvalidTrace,
)
from solver.graph import COMPUTE, NETWORK, Graph
from solver.models import MODELS
from solver.wording import shown

Json = dict[str, Any]

File: TypeAlias = str | os.PathLike[str]

#: A graph that was built; the name of an example; JSON of a graph, or of a request with one; a file
#: of such JSON, or of a trace; the files of a trace.
GraphInput: TypeAlias = Graph | Mapping[str, Any] | File | Sequence[File]

#: What launches cost; or a cluster, or its JSON.
NetworkInput: TypeAlias = Network | Cluster | Mapping[str, Any]

#: Sections of a request, and what is raised where all that is wrong is in one.
_KINDS: dict[str, type[InterlaceError]] = {
    "graph": InvalidGraph,
    "cluster": InvalidCluster,
    "clusters": InvalidCluster,
}

#: Parts of a request that are read for themselves.
_READ = {"graph", "graph_id", "cluster"}


@dataclass(frozen=True, slots=True)
class Asked(Generic[Request]):
    """What was given, checked: the graph, the network, and the request that has the rest."""

    graph: Graph
    network: Network
    request: Request


def read(
    model: type[Request], graph: GraphInput, network: NetworkInput | None, fields: Json
) -> Asked[Request]:
    """Read a graph, a network and the other fields of a request.

    Parameters
    ----------
    model
        The request that the service would take.
    graph, network
        As people have them; None for the cluster that the graph's file, JSON or example brings.
    fields
        The other fields, as JSON or as Python has it.

    Raises
    ------
    InvalidGraph, InvalidCluster, InvalidOptions
        With all faults, where they are of the graph, of the cluster, or of all else.
    InvalidRequest
        With all faults, of several of these.
    InvalidTrace
        When a file is not readable.
    OSError
        When there is no such file.
    """
    with faults_raised():
        source, raw = _source(graph)
        if model is not PlanRequest and not isinstance(source, Graph):
            source = _of_plan(source, model.model_fields)
        raw |= {name: plain(value) for name, value in fields.items()}
        if isinstance(network, Network):
            raw["cluster"] = _stand_in(source)
        elif network is not None:
            raw["cluster"] = plain(
                cluster_json(network) if isinstance(network, Cluster) else network
            )
        if isinstance(source, Graph):
            built, request = source, read_beside(source, raw, model)
        else:
            checked = problem_of(read_parsed({**source, **raw}, model))
            built, request = checked.graph, checked.request
    if isinstance(network, Network):
        return Asked(built, network, request)
    return Asked(built, network_of(request.cluster.to_cluster()), request)  # type: ignore[attr-defined]


def read_each(
    model: type[Request], graph: GraphInput, networks: Iterable[NetworkInput], fields: Json
) -> list[Asked[Request]]:
    """Read a graph and each of several clusters; a fault of one points into ``/clusters/i``.

    What else the graph's JSON says, such as its barrier, counts on each.

    Raises
    ------
    InterlaceError
        As :func:`read` does, with all faults of all clusters.
    """
    found: list[Asked[Request]] = []
    faults: list[Fault] = []
    for i, network in enumerate(networks):
        try:
            found.append(read(model, graph, network, fields))
            if len(found) == 1:  # the next need not read it again
                rest = found[0].request.model_dump(exclude=_READ, exclude_unset=True)
                graph, fields = found[0].graph, rest | fields
        except InvalidTrace:
            raise
        except InterlaceError as error:
            faults += [_moved(fault, "/cluster", f"/clusters/{i}") for fault in error.faults]
    if faults:
        with faults_raised():
            raise InvalidRequest(list(dict.fromkeys(faults)))
    return found


@contextmanager
def faults_raised(section: str = "") -> Iterator[None]:
    """Raise faults as what they are of; ``section`` is where those of the solver's options are."""
    try:
        yield
    except InvalidRequest as error:
        sections = {fault.pointer.split("/")[1] for fault in error.faults if fault.pointer}
        kinds = {_KINDS.get(name, InvalidOptions) for name in sections}
        raise (kinds.pop() if len(kinds) == 1 else InvalidRequest)(error.faults) from None
    except Refusal as error:
        raise InvalidTrace([Fault("", error.code, str(error))]) from None
    except InvalidOptions as error:
        moved = [Fault(f"{section}{f.pointer}", f.code, f.detail) for f in error.faults]
        raise InvalidOptions(moved) from error


def plain(value: Any) -> Any:
    """Return a value as JSON would have it: lists, numbers of Python, whole ones as integers."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return whole(value) if isinstance(value, float) else value


def _source(graph: GraphInput) -> tuple[Graph | Json, Json]:
    """Return a graph, or the JSON that has one; and what else came with it."""
    if isinstance(graph, Graph):
        return graph, {}
    if isinstance(graph, Mapping):
        raw, _ = of_json(plain(graph))
        return raw, {}
    if isinstance(graph, str) and is_example(graph):
        cluster = {"cluster": cluster_of(graph)}
        return (MODELS[graph]() if graph in MODELS else {"graph": TWO_LAYERS["graph"]}), cluster
    if isinstance(graph, str) and not Path(graph).suffix and not Path(graph).exists():
        detail = f"Graph {shown(graph)}: {unknown_example(graph)}"
        raise InvalidGraph([Fault("/graph", FaultCode.OUT_OF_RANGE, detail)])
    if isinstance(graph, str | os.PathLike):
        return _of_files([graph])
    if (
        isinstance(graph, Sequence)
        and graph
        and all(isinstance(f, str | os.PathLike) for f in graph)
    ):
        return _of_files(graph)
    detail = f"Graph must be a graph, its JSON, the name of an example or files, got {graph!r:.60}."
    raise InvalidGraph([Fault("/graph", FaultCode.WRONG_TYPE, detail)])


def _of_files(files: Sequence[File]) -> tuple[Graph | Json, Json]:
    """Return what files hold."""
    paths = [Path(file) for file in files]
    found = opened([path.read_bytes() for path in paths], str(paths[0]))
    if isinstance(found, OpenedTrace):
        graph, cluster, _ = recorded(found)
        return graph, {} if cluster is None else {"cluster": cluster}
    raw, _ = of_json(found)
    if not isinstance(raw, dict):
        detail = f"The body must be an object, got {shown(raw)}."
        raise InvalidGraph([Fault("", FaultCode.WRONG_TYPE, detail)])
    return raw, {}


def _of_plan(raw: Json, known: Mapping[str, Any]) -> Json:
    """Return what a request for a plan says to one of other fields, as the command takes it.

    That is the graph and the cluster; to a simulation and a sweep also the barrier and what
    programs are made with, to a sweep the limits of memory. Any other request is returned as it is.
    """
    if not isinstance(raw.get("options"), dict):
        return raw
    options = options_of(raw, known["options"].annotation) if "options" in known else {}
    left_out = {"options", "what_if", *({"believed"} - known.keys())}
    return {
        **(barrier_of(raw) if "barrier" in known else {}),
        **(limits_of(raw) if "memory_limits_bytes" in known else {}),
        **{name: value for name, value in raw.items() if name not in left_out},
        **({"options": options} if options else {}),
    }


def _stand_in(source: Graph | Json) -> Json:
    """Return a cluster with all channels of a graph, whose costs are known elsewhere."""
    if isinstance(source, Graph):
        names = {op.channel for op in source.ops if op.kind != COMPUTE}
    else:
        graph = source.get("graph")
        ops = graph.get("ops") if isinstance(graph, dict) else None
        listed = [op for op in ops if isinstance(op, dict)] if isinstance(ops, list) else []
        named = [op.get("channel", NETWORK) for op in listed if op.get("kind") != COMPUTE]
        names = {name for name in named if isinstance(name, str)}
    network = {"bandwidth_gbps": 1}
    return {"workers": 2, **network, "channels": dict.fromkeys(sorted(names - {NETWORK}), network)}


def _moved(fault: Fault, before: str, after: str) -> Fault:
    """Move the pointer of a fault from one section to another."""
    if fault.pointer == before or fault.pointer.startswith(f"{before}/"):
        return Fault(after + fault.pointer.removeprefix(before), fault.code, fault.detail)
    return fault
