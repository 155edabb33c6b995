"""Nodes that links of a capacity or more join."""

from collections.abc import Iterator

import numpy as np

from solver.clusters.wiring import Wiring
from solver.units import IntArray


def joined_at(wiring: Wiring, free: IntArray, gbps: float) -> IntArray:
    """Return a number for each node; nodes of one number are joined by links of this capacity.

    Nodes whose own link is narrower have numbers of their own. The topmost switch that a node
    reaches over such links names its set: each switch has one link up.

    Notes
    -----
    O(nodes * heights).
    """
    reached = wiring.switches[0][free].copy()
    climbs = np.ones(len(free), dtype=bool)
    offset = 0
    for height, capacity in enumerate(wiring.capacities):
        climbs &= capacity[wiring.switches[height][free]] >= gbps
        offset += int(wiring.switches[height].max()) + 1
        above = wiring.switches[height + 1][free] + offset
        reached = np.where(climbs, above, reached)
    return reached


def widths(wiring: Wiring, free: IntArray) -> list[float]:
    """Return the capacities of links above these nodes, from the widest."""
    found: set[float] = set()
    for capacity, over in zip(wiring.capacities, wiring.switches, strict=False):
        found.update(capacity[over[free]].tolist())
    return sorted(found, reverse=True)


def joined_nodes(wiring: Wiring, slots: int, free: IntArray) -> Iterator[IntArray]:
    """Yield nodes for all slots that links of a width join, from the widest, in tree order.

    In that order a ring crosses the link of each switch once up and once down.
    """
    order = free[np.lexsort((free, *(over[free] for over in wiring.switches[1:])))]
    seen: set[tuple[int, ...]] = set()
    for gbps in widths(wiring, free):
        sets = joined_at(wiring, order, gbps)
        room = np.bincount(sets)
        for at in np.flatnonzero(room >= slots).tolist():
            nodes = order[sets == at][:slots]
            if (key := tuple(nodes.tolist())) not in seen:
                seen.add(key)
                yield nodes


def widest_joining(wiring: Wiring, slots: int, free: IntArray) -> float:
    """Return the largest capacity of which links join so many of the nodes [Gbit/s]; 0 for none."""
    for gbps in widths(wiring, free):
        if int(np.bincount(joined_at(wiring, free, gbps)).max()) >= slots:
            return gbps
    return 0.0
