"""The cluster of a request: what its file says, with what flags say over it."""

from collections.abc import Iterator
from typing import Any

from app.services.assumed_cluster import RING_NETWORK, WORKERS
from solver.graph import COMPUTE, NETWORK

Json = dict[str, Any]

#: What flags and a trace's cluster have in common, and how it is written.
_FIGURES = {
    "workers": "{:g} workers",
    "bandwidth_gbps": "{:g} Gbit/s",
    "startup_us": "{:g} us",
    "compute_slowdown": "compute {:g} times as long beside communication",
}

#: Fields of the cluster as a whole, not of one of its networks.
_WHOLE = ("workers", "compute_slowdown")
#: Fields that a cost model does not replace.
_KEPT = {*_WHOLE, "channels", "shares", "links", "path", "priority", "launch_slowdown"}


def on(cluster: Any, flags: Json, carrying: set[str]) -> Any:
    """Put what flags say over a file's cluster, if it has one; a cost model replaces a network.

    Flags are about the cluster's own network. Where a graph uses others alone they are about these.

    Parameters
    ----------
    cluster
        As a file has it, unchecked; None for none.
    flags
        Fields of the cluster.
    carrying
        Channels that the graph uses.
    """
    if cluster is None:
        return _network(WORKERS, {"workers": WORKERS, **RING_NETWORK}, flags)
    if not isinstance(cluster, dict):
        return cluster
    others = cluster.get("channels")
    if NETWORK in carrying or not isinstance(others, dict) or not carrying & others.keys():
        return _network(WORKERS, cluster, flags)
    whole = {field: value for field, value in flags.items() if field in _WHOLE}
    costs = {field: value for field, value in flags.items() if field not in _WHOLE}
    channels = {
        name: _network(None, each, costs) if name in carrying and isinstance(each, dict) else each
        for name, each in others.items()
    }
    return {**cluster, **whole, "channels": channels}


def _network(workers: int | None, own: Json, flags: Json) -> Json:
    model = flags.get("cost_model")
    if model is None:
        return {**own, **flags}
    kept: Json = {} if workers is None else {"workers": model.get("workers") or workers}
    kept |= {field: value for field, value in own.items() if field in _KEPT}
    return {**kept, **flags}


def channels_of(raw: Json) -> set[str]:
    """Return the channels that a graph uses."""
    return {str(op.get("channel", NETWORK)) for op in _collectives(raw)}


def is_split(raw: Json) -> bool:
    """Tell whether the buckets of a trace were split into the gradients of parameters."""
    ids = [str(op.get("id")) for op in _collectives(raw)]
    is_sharded = any(each.startswith("scatter:") for each in ids)  # then it is a unit's shard
    return not is_sharded and any(each.startswith("grad:") for each in ids)


def _collectives(raw: Json) -> Iterator[Json]:
    """Yield the collectives of a graph that nobody has checked; what cannot be read has none."""
    graph = raw.get("graph")
    ops = graph.get("ops") if isinstance(graph, dict) else None
    for op in ops if isinstance(ops, list) else []:
        if isinstance(op, dict) and op.get("kind") != COMPUTE:
            yield op


def overruled(cluster: Any, flags: Json, assigned: Json) -> Iterator[str]:
    """Say of each flag, and of each field of ``--set``, that it wins over a trace's cluster."""
    if not isinstance(cluster, dict):
        return
    given = {field: (f"--{field.replace('_', '-')}", value) for field, value in flags.items()}
    given |= {field: (f"--set cluster.{field}", value) for field, value in assigned.items()}
    for field, figure in _FIGURES.items():
        flag, new = given.get(field, ("", None))
        if isinstance(new, int | float) and new != cluster.get(field):
            value = figure.format(new)
            was = cluster.get(field)
            instead = "what was recorded" if was is None else figure.format(was)
            yield f"{value} by {flag}, instead of {instead}."
    if "cost_model" in flags:
        yield "Costs by --cost-model, instead of those that were recorded."
