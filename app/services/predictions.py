"""Predictions: how an iteration scales."""

from collections.abc import Sequence

from app import VERSION
from app.errors import InvalidRequest
from app.reading.cluster_faults import lane_faults
from app.reading.wording import pointer
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning
from app.schemas.predictions import PredictionAnswer, PredictionRequest, PredictionRequestOut
from app.schemas.problem import graph_sha256
from app.services.graphs import lightened
from app.services.warnings import tensors_of, units_of, warnings_of
from solver.codes import FaultCode
from solver.costs import TABLE, network_of
from solver.errors import Fault, InvalidGraph
from solver.graph import NETWORK, Graph
from solver.prediction.passes import Passes, passes_of, passes_of_layers
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
        When the graph is no chain of all-reduces, or the cluster has no cost with so many workers.
    """
    iteration, passes, faults = _iteration(graph, request)
    clusters = [request.cluster.model_copy(update={"workers": n}) for n in request.counts()]
    faults += _cost_faults(iteration, clusters, own=request.workers is None)
    faults += _fixed_faults(iteration, request)
    if passes is None or faults:
        raise InvalidRequest(list(dict.fromkeys(faults)))
    where = "/layers" if graph is None else "/graph"
    networks = [(cluster.workers, network_of(cluster.to_cluster())) for cluster in clusters]
    rows = predict(iteration, networks, request.to_options(), passes)
    return PredictionAnswer.of(
        rows=rows,
        warnings=units_of(iteration, where) + _warnings(iteration, passes, clusters),
        request=PredictionRequestOut.of(
            request,
            workers=request.counts(),
            graph_sha256=graph_sha256(iteration if graph is None else graph),
        ),
        version=VERSION,
    )


def _iteration(
    graph: Graph | None, request: PredictionRequest
) -> tuple[Graph, Passes | None, list[Fault]]:
    """Return the iteration as a graph and as passes; None for these where there is no chain."""
    if graph is None:
        layers = request.to_layers()
        return graph_of("layers", layers), passes_of_layers(layers), []
    graph = lightened(graph)
    try:
        return graph, passes_of(graph), []
    except InvalidGraph as error:
        return graph, None, [Fault("/graph", f.code, f.detail) for f in error.faults]


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


def _warnings(graph: Graph, passes: Passes, clusters: Sequence[ClusterBody]) -> list[CostWarning]:
    """List what was not measured of launches from one layer to all together."""
    (lane,) = tensors_of(graph)
    sizes = [*(size for size in passes.bytes if size), sum(passes.bytes)]
    found = [w for cluster in clusters for w in warnings_of(cluster, {lane: sizes})]
    place, network = clusters[0].networks()[lane.channel]
    counts = {cluster.workers for cluster in clusters}
    if network.cost_model is None and network.algorithm == TABLE and len(counts) > 1:
        detail = "The table does not say how many workers it was measured with; all rows use it."
        under = pointer(("cluster", *place, "table"))
        found.append(CostWarning(pointer=under, code="workers_unknown", detail=detail))
    return list(dict.fromkeys(found))


def _fixed_faults(graph: Graph, request: PredictionRequest) -> list[Fault]:
    """Refuse worker counts that change nothing, since the channel has workers of its own."""
    channels = {op.channel for op in (graph.ops[i] for i in graph.collectives)}
    fixed = [
        name for name in channels if name != NETWORK and request.cluster.channels[name].workers
    ]
    if len(request.counts()) == 1 or not fixed:
        return []
    detail = f"Workers: the channel {fixed[0]!r} has workers of its own, so no row would differ."
    return [Fault("/workers", FaultCode.EXTRA_FIELD, detail)]
