"""Measured steps that cannot have been run as stated: how their table is taken to be run."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from solver.shapes.fit.rows import MeasuredShape
from solver.shapes.hardware import TrainingCluster
from solver.shapes.memory import peak_memory

#: A step does not fit where what is counted of its memory is above that of its GPU by this factor.
_CERTAIN: Final = 1.1

_GIB: Final = 2**30

#: Sharding and recomputation that a table may have left unsaid, the least change first.
_WAYS: Final = (
    ("none", "full"),
    ("optimizer", "none"),
    ("optimizer", "full"),
    ("parameters", "none"),
    ("parameters", "full"),
)

#: Names of the levels of a cluster, from the innermost.
Networks = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableRun:
    """How the rows of a table are taken to have been run, where they do not say.

    Attributes
    ----------
    networks
        Names of the levels of their cluster: rows with the same are one table.
    sharding, recomputation
        What is put in the place of ``none`` that no row states.
    rows, over, left
        How many rows there are, do not fit in memory as stated, and do not fit even so.
    """

    networks: Networks
    sharding: str
    recomputation: str
    rows: int
    over: int
    left: int


def networks_of(cluster: TrainingCluster) -> Networks:
    """Return the names of a cluster's levels: rows with the same are one table."""
    return tuple(level.name for level in cluster.levels)


def runs_of(rows: Iterable[MeasuredShape]) -> tuple[TableRun, ...]:
    """Return how tables were run of which some row does not fit in memory as it is stated.

    Tables seldom say whether layers were computed again, or what data parallelism shared out.
    Where a row needs 1.1 times its GPU's memory or more, it was one of them; a table's rows are
    taken to be run alike, in the first way of :data:`_WAYS` by which fewest do not fit. If none
    helps, they are left as stated.
    """
    tables: dict[Networks, list[MeasuredShape]] = defaultdict(list)
    for row in rows:
        tables[networks_of(row.cluster)].append(row)
    found = []
    for networks, table in sorted(tables.items()):
        over = _count_over(table)
        if over:
            left = {way: _count_over(_by(row, *way) for row in table) for way in _WAYS}
            way = min(left, key=left.__getitem__)
            taken, still = (way, left[way]) if left[way] < over else (("none", "none"), over)
            found.append(TableRun(networks, *taken, len(table), over, still))
    return tuple(found)


def as_run(rows: Sequence[MeasuredShape], runs: Iterable[TableRun]) -> tuple[MeasuredShape, ...]:
    """Return rows as they were run: what none of them states is that of their table."""
    by = {run.networks: run for run in runs}
    return tuple(
        row if run is None else _by(row, run.sharding, run.recomputation)
        for row in rows
        for run in [by.get(networks_of(row.cluster))]
    )


def _by(row: MeasuredShape, sharding: str, recomputation: str) -> MeasuredShape:
    """Return a row run in some way, as far as it does not say otherwise."""
    shape = row.shape
    if shape.sharding == "none" and "sharding" not in row.stated and shape.dp * shape.cp > 1:
        shape = replace(shape, sharding=sharding)
    if shape.recomputation == "none" and "recomputation" not in row.stated:
        shape = replace(shape, recomputation=recomputation)
    return replace(row, shape=shape)


def _count_over(rows: Iterable[MeasuredShape]) -> int:
    """Return how many rows do not fit in memory."""
    return sum(
        peak_memory(row.model, row.shape).peak_bytes
        > _CERTAIN * row.cluster.accelerator.memory_gib * _GIB
        for row in rows
    )
