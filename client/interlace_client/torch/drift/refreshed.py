"""What a run was planned with, as fresh figures have it: its graph, and the cost of launches."""

from __future__ import annotations

from math import log
from statistics import median
from typing import TYPE_CHECKING, Any

from interlace_client.torch.calibration.table import monotone, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.torch.drift.figures import TypicalStep

_BACKWARD, _BACKWARD_END = "backward:", "backward:end"
#: A table has so many sizes, at the least.
_POINTS = 2


def table_of(cluster: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return the table of a cluster, as calibration measures it.

    Raises
    ------
    ValueError
        When its costs are no table of two sizes or more.
    """
    table = [(int(size), float(time)) for size, time in _costs(cluster).get("table") or ()]
    if len(table) < _POINTS:
        raise ValueError(
            "The cluster has no table of two sizes or more: launches are compared with measured "
            "costs, as calibrate() gives them."
        )
    return table


def fresh_cluster(
    cluster: Mapping[str, Any], launches: Sequence[tuple[int, float]]
) -> dict[str, Any]:
    """Scale the table of a cluster to what launches took.

    Parameters
    ----------
    cluster
        With a table.
    launches
        Bytes of each, and how many times as long as in the table it took.

    Notes
    -----
    A size takes the median of its launches; between two of them the factor is linear in the
    logarithm of the size, and beyond them it is that of the nearest. Larger launches stay no
    cheaper than smaller ones.
    """
    found: dict[int, list[float]] = {}
    for size, ratio in launches:
        found.setdefault(size, []).append(ratio)
    factors = [(size, median(found[size])) for size in sorted(found)]
    if not factors:
        return dict(cluster)
    table = table_of(cluster)
    sizes = sorted({*(size for size, _ in table), *found})
    scaled = {size: [time_of(table, size) * _between(factors, size)] for size in sizes}
    fresh = {"table": [list(point) for point in monotone(scaled)]}
    if _costs(cluster) is cluster:
        return {**cluster, **fresh}
    return {**cluster, "cost_model": {**cluster["cost_model"], **fresh}}


def _costs(cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return where a cluster has its table: in its cost model, if it has one."""
    return cluster.get("cost_model") or cluster


def _between(points: Sequence[tuple[int, float]], size: int) -> float:
    """Return the factor of a size from those of others."""
    if size <= points[0][0]:
        return points[0][1]
    for (low, least), (high, most) in zip(points, points[1:]):
        if size <= high:
            share = (log(size) - log(low)) / (log(high) - log(low))
            return least + share * (most - least)
    return points[-1][1]


def fresh_graph(graph: Mapping[str, Any], figures: TypicalStep) -> dict[str, Any]:
    """Give the compute ops of a graph the durations that they have now.

    The ops between two gradients take the time between these, and the end of the backward pass what
    follows the last one. All others (updates, the forward pass, the begin of the backward pass)
    keep their shares of the rest.

    Parameters
    ----------
    graph
        As capture makes it.
    figures
        Of all ranks.
    """
    taken: dict[int, float] = {}
    done: float | None = None
    for k, op in enumerate(graph["ops"]):
        name = str(op["id"]).removeprefix(_BACKWARD)
        if op["id"] == _BACKWARD_END:
            taken[k] = figures.rest_us
        elif op["id"] == _BACKWARD + name and name in figures.ready_us:
            at = figures.ready_us[name]
            if done is not None:
                taken[k] = max(0.0, at - done)
            done = max(at, done or 0.0)
    others = [k for k, op in enumerate(graph["ops"]) if op["kind"] == "compute" and k not in taken]
    before = sum(graph["ops"][k]["duration_us"] for k in others)
    now = figures.compute_us - sum(taken.values())
    for k in others:
        share = graph["ops"][k]["duration_us"] / before if before else 1 / len(others)
        taken[k] = max(0.0, now) * share
    return {
        **graph,
        "ops": [
            {**op, "duration_us": taken[k]} if k in taken else op
            for k, op in enumerate(graph["ops"])
        ],
    }
