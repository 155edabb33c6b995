"""Measured steps that cannot have been run as stated: they recompute, whatever their table says."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from solver.shapes.fit.rows import MeasuredShape
from solver.shapes.hardware import TrainingCluster
from solver.shapes.memory import peak_memory

#: A step does not fit where what is counted of its memory is above that of its GPU by this factor.
_CERTAIN: Final = 1.1

_GIB: Final = 2**30

#: Names of the levels of a cluster, from the innermost.
Networks = tuple[str, ...]


def networks_of(cluster: TrainingCluster) -> Networks:
    """Return the names of a cluster's levels: rows with the same are one table."""
    return tuple(level.name for level in cluster.levels)


def recomputing(rows: Iterable[MeasuredShape]) -> frozenset[Networks]:
    """Return the networks whose rows must have recomputed whole layers.

    Tables seldom say whether layers were computed again. Where a row without recomputation needs
    1.1 times its GPU's memory or more, it was; and a table's rows are taken to be run alike.
    """
    return frozenset(
        networks_of(row.cluster)
        for row in rows
        if row.shape.recomputation == "none"
        and peak_memory(row.model, row.shape).peak_bytes
        > _CERTAIN * row.cluster.accelerator.memory_gib * _GIB
    )


def as_run(
    rows: Sequence[MeasuredShape], recomputed: frozenset[Networks]
) -> tuple[MeasuredShape, ...]:
    """Return rows as they were run: those on these networks recompute, where nothing is said."""
    return tuple(
        replace(row, shape=replace(row.shape, recomputation="full"))
        if row.shape.recomputation == "none" and networks_of(row.cluster) in recomputed
        else row
        for row in rows
    )
