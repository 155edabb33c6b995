"""Graphs, networks and plans as JSON, in the forms that the service takes and gives; and back."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from app.schemas.plans import PlanRequest
from app.schemas.problem import graph_json
from app.schemas.schedules import PlanBody
from app.schemas.solver_objects import cluster_json
from interlace.inputs import faults_raised, plain, read
from interlace.results.plan import Plan, PlannedFor
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Cluster, Network, network_of
from solver.costs.network import cluster_behind
from solver.errors import Fault, InvalidCluster, InvalidOptions
from solver.evidence.baseline import Baseline
from solver.evidence.bound import Bound
from solver.fusion.fused import fused_ops
from solver.graph import Graph, with_barrier
from solver.planning.explicit import explicit_launches
from solver.planning.labels import label_buckets
from solver.planning.result import Bucket, Part, SlottedSchedule
from solver.planning.result import Plan as SolverPlan
from solver.simulation.engine import simulate
from solver.simulation.replay import replay

Json = dict[str, Any]


def to_json(value: Graph | Cluster | Network | Plan) -> str:
    """Write a graph, a cluster, a network of a cluster, or a plan as the service has it.

    Parameters
    ----------
    value
        A plan is the answer of ``POST /v1/plans`` with two more fields, ``graph`` and the
        bound's ``value_us``.

    Returns
    -------
    str
        JSON text, which :func:`from_json` reads, and ``interlace simulate --plan``.

    Raises
    ------
    InvalidCluster
        When a network, or that of a plan, is of costs of one's own, which have no form in JSON.
    TypeError
        When it is none of these.

    Examples
    --------
    >>> import interlace
    >>> graph = interlace.MODELS["vgg16"]()
    >>> interlace.from_json(interlace.to_json(graph)) == graph
    True
    >>> cluster = interlace.Cluster(8, bandwidth_gbps=10)
    >>> interlace.to_json(cluster)
    '{"workers": 8, "bandwidth_gbps": 10}'
    >>> interlace.from_json(interlace.to_json(cluster)) == interlace.network_of(cluster)
    True
    """
    if isinstance(value, Graph):
        return json.dumps(graph_json(value))
    if isinstance(value, Cluster):
        return json.dumps(plain(cluster_json(value)))
    if isinstance(value, Network):
        return json.dumps(plain(cluster_json(_behind(value))))
    if isinstance(value, Plan) and value.planned_for is not None:
        _behind(value.planned_for.network)
        answer = json.loads(value.answer().model_dump_json())
        answer["bound"]["value_us"] = value.bound.value_us  # a rounding beside lower_bound_us
        return json.dumps({**answer, "graph": graph_json(value.planned_for.graph)})
    raise TypeError(f"A graph, a cluster, a network or a plan has JSON, not {type(value)!r}.")


def from_json(text: str | bytes | Mapping[str, Any]) -> Graph | Network | Plan:
    """Read what :func:`to_json` wrote, checked as the service checks a request.

    Parameters
    ----------
    text
        JSON text, or what it holds. What has ``ops`` is a graph, what has ``buckets`` a plan, all
        else a cluster, of which the network is returned.

    Raises
    ------
    InvalidGraph, InvalidCluster, InvalidOptions
        With all faults.
    ValueError
        When it is no JSON.
    """
    raw: Json = dict(text) if isinstance(text, Mapping) else json.loads(text)
    if "ops" in raw:
        stand_in = {name: {"bandwidth_gbps": 1} for name in _channels(raw)}
        cluster = {"workers": 2, "bandwidth_gbps": 1, "channels": stand_in}
        return read(PlanRequest, {"graph": raw}, cluster, {}).graph
    if "buckets" in raw:
        return _plan(raw)
    asked = read(PlanRequest, "two_layers", raw, {})
    return asked.network


def _channels(graph: Json) -> list[str]:
    ops = graph["ops"] if isinstance(graph["ops"], list) else []
    named = {op.get("channel", "network") for op in ops if isinstance(op, dict)}
    return sorted(name for name in named - {"network"} if isinstance(name, str))


def _behind(network: Network) -> Cluster:
    cluster = cluster_behind(network)
    if cluster is None:
        detail = "A network of costs of one's own has no form in JSON; that of a Cluster has."
        raise InvalidCluster([Fault("", FaultCode.NOT_SUPPORTED, detail)])
    return cluster


def _plan(raw: Json) -> Plan:
    """Read a plan: its launches are simulated again, all else is as it was written."""
    if "graph" not in raw or "request" not in raw:
        detail = "A plan is read with its graph and its request, as to_json writes it."
        raise InvalidOptions([Fault("/graph", FaultCode.MISSING_FIELD, detail)])
    given = {k: v for k, v in raw["request"].items() if k in {"cluster", "options", "believed"}}
    asked = read(PlanRequest, {"graph": raw["graph"], **given}, None, {})
    network = network_of(asked.request.cluster.to_cluster())
    options = asked.request.options.to_options()
    graph = with_barrier(asked.graph) if asked.request.has_barrier else asked.graph
    with faults_raised():
        buckets, parts = PlanBody.model_validate(raw).by_name()
        launches = explicit_launches(graph, chain_of(graph), buckets, parts)
    timeline = simulate(graph, network, replay(launches))
    labels, _ = label_buckets(graph, chain_of(graph), timeline)
    schedule = raw["schedule"]
    slots = {
        "slot_us": schedule["slot_us"],
        "runs": schedule["slots"],
        "iteration_time_us": schedule["slots_iteration_time_us"],
    }
    found: Json = {
        **raw,
        "bound": Bound(**{"value_us": raw["lower_bound_us"], **_tuples(raw["bound"])}),
        "parts": _read(tuple[Part, ...], schedule["parts"]),
        "buckets": _read(tuple[Bucket, ...], raw["buckets"]),
        "slotted": None if slots["slot_us"] is None else _read(SlottedSchedule, slots),
        "baselines": tuple(map(_baseline, raw["baselines"])),
        "graph": graph,
        "network": network,
        "launches": launches,
        "timeline": timeline,
        "fused": fused_ops(graph, chain_of(graph), labels),
    }
    types = {each.name: each.type for each in fields(SolverPlan)}
    for name in ("proof", "evidence", "robust"):
        found[name] = _read(types[name], raw.get(name))
    own = {name: found[name] for name in types}
    return Plan(
        **own,
        planned_for=PlannedFor(asked.graph, network, options, asked.request, raw["runtime_s"]),
    )


def _baseline(raw: Json) -> Baseline:
    return Baseline(**{**raw, "parameters": tuple(raw.get("parameters", {}).items())})


def _tuples(raw: Json) -> Json:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in raw.items()}


def _read(kind: Any, raw: Any) -> Any:
    return TypeAdapter(kind).validate_python(raw)
