"""Predictions: how an iteration scales."""

from collections.abc import Sequence

from app import VERSION
from app.errors import InvalidRequest
from app.reading.cluster_faults import lane_faults
from app.reading.wording import brief, pointer
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning
from app.schemas.predictions import PredictionAnswer, PredictionRequest, PredictionRequestOut
from app.schemas.problem import graph_sha256
from app.services.channels import is_fixed, scaling_notes
from app.services.graphs import lightened
from app.services.warnings import (
    leaves_slowdown,
    stating_ops,
    tensors_of,
    units_of,
    warnings_of,
)
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import TABLE, network_of
from solver.errors import Fault
from solver.graph import Graph
from solver.planning.certify import evidence_on
from solver.prediction.passes import Passes, passes_of_chain, passes_of_layers, why_no_chain
from solver.prediction.scaling import graph_of, predict


def answer_of(graph: Graph | None, request: PredictionRequest) -> PredictionAnswer:
    """Predict a row for each worker count.

    Parameters
    ----------
    graph
        The graph of the request, checked; None when it has layers.
    request
        Free of own faults.

    Raises
    ------
    InvalidRequest
        When the cluster has no cost with so many workers, or no row would differ.
    """
    iteration, passes, reason = _iteration(graph, request)
    clusters = [request.cluster.model_copy(update={"workers": n}) for n in request.counts()]
    faults = _cost_faults(iteration, clusters, own=request.workers is None)
    faults += _fixed_faults(iteration, request)
    if faults:
        raise InvalidRequest(list(dict.fromkeys(faults)))
    where = "/layers" if graph is None else "/graph"
    networks = [(cluster.workers, network_of(cluster.to_cluster())) for cluster in clusters]
    rows = predict(iteration, networks, request.to_options(), passes)
    return PredictionAnswer.of(
        rows=rows,
        why_no_osf=reason and f"OSF needs {reason}",
        notes=list(scaling_notes(iteration, request.cluster)) if len(clusters) > 1 else [],
        evidence=evidence_on(
            iteration, networks[0][1], is_here=networks[0][0] == request.cluster.workers
        ),
        warnings=units_of(iteration, where) + _warnings(iteration, clusters),
        request=PredictionRequestOut.of(
            request,
            workers=request.counts(),
            graph_sha256=graph_sha256(iteration if graph is None else graph),
        ),
        version=VERSION,
    )


def _iteration(
    graph: Graph | None, request: PredictionRequest
) -> tuple[Graph, Passes | None, str | None]:
    """Return the iteration as a graph, and as passes or why there are none."""
    if graph is None:
        layers = request.to_layers()
        made = graph_of("layers", layers)
        return made, passes_of_layers(layers), _why_not_fixed(made, request)
    graph = lightened(graph)
    chain = chain_of(graph)
    if reason := why_no_chain(chain, graph):
        return graph, None, reason
    return graph, passes_of_chain(chain), _why_not_fixed(graph, request)


def _why_not_fixed(graph: Graph, request: PredictionRequest) -> str | None:
    """Say what keeps compute or launches from taking the time that OSF's recursion has."""
    slowdown = request.cluster.compute_slowdown
    needs = "compute that communication does not slow down"
    if slowdown > 1 and leaves_slowdown(graph):
        return f"{needs}; compute_slowdown is {slowdown:g}."
    if stating := stating_ops(graph):
        return f"{needs}; op {brief(stating[0].id)!r} states a slowdown."
    always = "launches that always take as long"
    networks = request.cluster.networks()
    for _, channel in (networks[name] for name in chain_of(graph).channels if name in networks):
        if channel.path:
            return f"{always}; they cross the link {brief(channel.path[0])!r}, which may slow them."
        if channel.launch_slowdown > 1:
            return f"{always}; launch_slowdown is {channel.launch_slowdown:g}."
    return None


def _cost_faults(graph: Graph, clusters: Sequence[ClusterBody], *, own: bool) -> list[Fault]:
    """List why the cluster has no cost with some counts; ``own`` when it brings its count."""
    kinds = {(op.channel, op.kind): op for op in (graph.ops[i] for i in graph.collectives)}
    return [
        Fault(f"/workers/{i}", fault.code, fault.detail)
        if fault.pointer == "/cluster/workers" and not own
        else fault
        for i, cluster in enumerate(clusters)
        for fault in lane_faults(list(kinds.values()), cluster)
    ]


def _warnings(graph: Graph, clusters: Sequence[ClusterBody]) -> list[CostWarning]:
    """List what was not measured of launches from one tensor to all of its lane together."""
    launches = {lane: [*sizes, sum(sizes)] for lane, sizes in tensors_of(graph).items()}
    found = [w for cluster in clusters for w in warnings_of(cluster, launches)]
    networks = clusters[0].networks()
    for name in {lane.channel: None for lane in launches} if len(clusters) > 1 else ():
        place, channel = networks[name]
        if (
            channel.cost_model is None
            and channel.algorithm == TABLE
            and not is_fixed(name, channel)
        ):
            detail = (
                "The table does not say how many workers it was measured with; all rows use it."
            )
            under = pointer(("cluster", *place, "table"))
            found.append(CostWarning(pointer=under, code="workers_unknown", detail=detail))
    return list(dict.fromkeys(found))


def _fixed_faults(graph: Graph, request: PredictionRequest) -> list[Fault]:
    """Refuse worker counts that change nothing: all channels have workers of their own."""
    networks = request.cluster.networks()
    fixed = [
        name
        for name in chain_of(graph).channels
        if name in networks and is_fixed(name, networks[name][1])
    ]
    if len(request.counts()) == 1 or len(fixed) < len(chain_of(graph).channels):
        return []
    named = " and ".join(map(repr, fixed))
    many = f"channels {named} have" if len(fixed) > 1 else f"channel {named} has"
    own = "their own" if len(fixed) > 1 else "its own"
    detail = f"Workers: the {many} workers of {own}, so no row would differ."
    return [Fault("/workers", FaultCode.EXTRA_FIELD, detail)]
