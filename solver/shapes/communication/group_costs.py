"""What a launch between a shape's data-parallel ranks costs, as a channel of a graph has it."""

from collections.abc import Mapping

from solver.costs import TABLE, Cluster
from solver.graph import ALL_REDUCE
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import group_us

#: The least size that is looked at [bytes].
_LEAST = 1 << 10


def data_channel(
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    startups: Mapping[str, float],
    most: int,
    *,
    of_experts: bool = False,
    card: str | None = None,
) -> Cluster:
    """Return a channel between the data-parallel ranks, those of context parallelism among them.

    Parameters
    ----------
    of_experts
        Between those of them that hold the same experts.
    card
        What it shares with other channels; None where it has a card of its own.
    startups
        The kinds that it carries, and what a launch of each takes beside its level's cost [us].
    most
        The largest launch [bytes].

    Notes
    -----
    Linear between the sizes looked at: two, as all levels without a measured table are linear, or
    each twice the one before.
    """
    ways = shape.ep if of_experts else 1
    ranks, stride = shape.cp * shape.dp // ways, shape.tp * ways
    sizes = [_LEAST, max(most, 2 * _LEAST)]
    if any(level.table for level in cluster.levels):
        sizes = [_LEAST << k for k in range((most // _LEAST).bit_length() + 1)]
    of_kinds = {
        kind: tuple(
            (
                size,
                startup
                + known.reductions * group_us(cluster, ranks, stride, kind, size, known, 0.0),
            )
            for size in sizes
        )
        for kind, startup in startups.items()
    }
    rest = tuple((kind, points) for kind, points in of_kinds.items() if kind != ALL_REDUCE)
    return Cluster(
        ranks, algorithm=TABLE, table=of_kinds.get(ALL_REDUCE, ()), tables=rest, shares=card
    )
