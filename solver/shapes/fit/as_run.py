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

#: Share of a table's rows that must have been run in some way for all of them to be taken so.
_ALIKE: Final = 0.25

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
    is_whole
        All rows are taken to be run so, as many of them must be; else those alone that do not fit.
    """

    networks: Networks
    sharding: str
    recomputation: str
    rows: int
    over: int
    left: int
    is_whole: bool


def networks_of(cluster: TrainingCluster) -> Networks:
    """Return the names of a cluster's levels: rows with the same are one table."""
    return tuple(level.name for level in cluster.levels)


def runs_of(rows: Iterable[MeasuredShape]) -> tuple[TableRun, ...]:
    """Return how tables were run of which some row does not fit in memory as it is stated.

    Tables seldom say whether layers were computed again, or what data parallelism shared out.
    Where a row needs 1.1 times its GPU's memory or more, it was one of them: the first way of
    :data:`_WAYS` by which fewest do not fit. If none helps, they are left as stated. Where a
    quarter of a table or more must have been run so, all of it is taken to be.
    """
    tables: dict[Networks, list[MeasuredShape]] = defaultdict(list)
    for row in rows:
        tables[networks_of(row.cluster)].append(row)
    found = []
    for networks, table in sorted(tables.items()):
        large = [row for row in table if _is_over(row)]
        over = len(large)
        if over:
            left = {way: sum(_is_over(_by(row, *way)) for row in large) for way in _WAYS}
            way = min(left, key=left.__getitem__)
            taken, still = (way, left[way]) if left[way] < over else (("none", "none"), over)
            is_whole = over >= _ALIKE * len(table)
            found.append(TableRun(networks, *taken, len(table), over, still, is_whole))
    return tuple(found)


def as_run(rows: Sequence[MeasuredShape], runs: Iterable[TableRun]) -> tuple[MeasuredShape, ...]:
    """Return rows as they were run: what they do not state is that of their table."""
    by = {run.networks: run for run in runs}
    return tuple(
        _by(row, run.sharding, run.recomputation)
        if run and (run.is_whole or _is_over(row))
        else row
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


def _is_over(row: MeasuredShape) -> bool:
    """Return whether a row does not fit in memory."""
    most = _CERTAIN * row.cluster.accelerator.memory_gib * _GIB
    return peak_memory(row.model, row.shape).peak_bytes > most
