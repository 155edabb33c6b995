"""The ranks' clocks against one, by when collectives end: at about the same time on all ranks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solver.arrivals.arrival import ArrivalTable, Floats, Ints
from solver.arrivals.lines import least_absolute
from solver.arrivals.medians import highest_by, median_by, spread_of

#: Of fewer collectives in common, or over a shorter time to both sides of the middle [us], a drift
#: is no measurement: 100 millionths are 2 us then.
_FEW, _SHORT = 4, 2e4
_SWEEPS = 3
#: Nearer residuals weigh no more [us].
_NEAR = 1e-3
#: A rank that comes so many spreads, and so long [us], after the end contradicts it.
_SURE, _MOST = 5.0, 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Clocks:
    """Clocks against that of the first rank, or of the first of those that meet.

    Attributes
    ----------
    shift
        Of each rank, in the middle of its recording [us].
    drift
        Of each rank: by how much its clock is slow.
    middle
        Where the middle is on its own clock [us].
    part
        Ranks that share collectives, over others or not, have the same number.
    spread
        How far ends of one collective are apart: a standard deviation [us].
    contradicted
        Share of the collectives that end before their last rank came.
    """

    shift: Floats
    drift: Floats
    middle: Floats
    part: Ints
    spread: float
    contradicted: float

    def aligned(self, rank: Ints, time: Floats) -> Floats:
        """Return times on the ranks' clocks as times on the first clock [us]."""
        return time + self.shift[rank] + self.drift[rank] * (time - self.middle[rank])


def align(table: ArrivalTable) -> Clocks:
    r"""Fit an offset and a drift for each rank to the ends of its collectives.

    Along a tree of ranks that share the most collectives each clock is fitted to the one before
    it, then, in sweeps, to the medians of all ranks' ends. A fit minimises
    :math:`\sum |e_r + a + b (e_r - m) - e|`, so that ends far from the others do not move it. Of
    fewer than four collectives in common, or a short recording, it is an offset alone.

    Notes
    -----
    O(n log n) for n arrivals. What no rank can do, end before the last one came, is not part of
    the fit but checks it: see ``contradicted``.
    """
    count = len(table.ranks)
    middle = np.array([_middle(table.end[table.rows(r)]) for r in range(count)])
    clocks = Clocks(np.zeros(count), np.zeros(count), middle, np.arange(count), 0.0, 0.0)
    for child, parent in _tree(table):
        own, other = table.rows(child), table.rows(parent)
        _, i, j = np.intersect1d(
            table.collective[own], table.collective[other], return_indices=True
        )
        theirs = clocks.aligned(table.rank[other][j], table.end[other][j])
        _fit(clocks, child, table.end[own][i], theirs)
        clocks.part[child] = clocks.part[parent]
    for _ in range(_SWEEPS):
        ends = median_by(table.collective, clocks.aligned(table.rank, table.end))
        for r in range(count):
            if clocks.part[r] != r:  # the first of those that meet is what the others are fitted to
                own = table.rows(r)
                _fit(clocks, r, table.end[own], ends[own])
    aligned = clocks.aligned(table.rank, table.end)
    ends = median_by(table.collective, aligned)
    spread = spread_of(aligned - ends)
    came = highest_by(table.collective, clocks.aligned(table.rank, table.start))
    early = float(np.mean(came > ends + _SURE * spread + _MOST)) if len(ends) else 0.0
    return Clocks(clocks.shift, clocks.drift, middle, clocks.part, spread, early)


def _middle(ends: Floats) -> float:
    return float(ends.min() + ends.max()) / 2


def _tree(table: ArrivalTable) -> Iterator[tuple[int, int]]:
    """Yield each rank with one before it, so that they share many collectives; no root."""
    size = len(table.ranks)
    order = np.lexsort((table.rank, table.collective))
    keys, ranks = table.collective[order], table.rank[order]
    first = np.searchsorted(keys, keys, side="left")
    pairs = np.sort(np.stack([ranks[first], ranks]), axis=0)
    pairs = pairs[:, pairs[0] != pairs[1]]
    codes, counts = np.unique(pairs[0] * size + pairs[1], return_counts=True)
    by_count = codes[np.lexsort((codes, -counts))].tolist()
    root = list(range(size))
    near: dict[int, list[int]] = {r: [] for r in range(size)}
    for a, b in (divmod(code, size) for code in by_count):
        if root[a] != root[b]:
            near[a].append(b)
            near[b].append(a)
            old, new = root[b], root[a]
            root = [new if one == old else one for one in root]
    seen: set[int] = set()
    for begin in range(size):
        queue = [] if begin in seen else [begin]
        seen.add(begin)
        for parent in queue:
            for child in near[parent]:
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
                    yield child, parent


def _fit(clocks: Clocks, r: int, own: Floats, target: Floats) -> None:
    """Fit one clock to times on the first, in the middle of which it is shifted."""
    apart = target - own
    half = max(float(np.max(own) - np.min(own)) / 2, 1.0)
    u = (own - clocks.middle[r]) / half
    shift, slope = float(np.median(apart)), 0.0
    if len(own) >= _FEW and half >= _SHORT:
        shift, slope = least_absolute(u, apart, np.ones(len(u)), _NEAR)
    clocks.shift[r], clocks.drift[r] = shift, slope / half
