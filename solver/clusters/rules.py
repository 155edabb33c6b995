"""Rules of today's schedulers: which free nodes, and which rank on which of them."""

from collections.abc import Callable
from typing import Final

import numpy as np

from solver.clusters.wiring import Wiring
from solver.units import IntArray


def by_number(wiring: Wiring, slots: int, free: IntArray) -> IntArray:
    """Take the first free nodes in the order of the file, ranks in that order.

    A scheduler without topology does so.
    """
    return np.sort(free)[:slots]


def packed(wiring: Wiring, slots: int, free: IntArray) -> IntArray:
    """Take the smallest subtree with enough free nodes, and its fullest leaves first.

    Slurm's topology/tree looks for the lowest switch that satisfies a job, and takes the least
    number of leaves below it.
    """
    inside = _subtree(wiring, slots, free)
    return _by_leaf(wiring, inside, most_first=True)[:slots]


def tier_score(wiring: Wiring, slots: int, free: IntArray) -> IntArray:
    """Take the subtree of the lowest tier that fits best, its leaves with least room first.

    Volcano and Kueue score domains by their tier, and by how full they are.
    """
    inside = _subtree(wiring, slots, free)
    return _by_leaf(wiring, inside, most_first=False)[:slots]


def spread(wiring: Wiring, slots: int, free: IntArray) -> IntArray:
    """Take nodes of one leaf after another in turn, as PodTopologySpread does."""
    leaf = _leaf(wiring, free)
    turn = np.zeros(len(free), dtype=np.int64)
    seen: dict[int, int] = {}
    for at in np.argsort(free, kind="stable").tolist():
        turn[at] = seen[int(leaf[at])] = seen.get(int(leaf[at]), -1) + 1
    return free[np.lexsort((free, leaf, turn))][:slots]


#: The rules by name; each takes the wiring, the slots of a job and the free nodes.
RULES: Final[dict[str, Callable[[Wiring, int, IntArray], IntArray]]] = {
    "by_number": by_number,
    "packed": packed,
    "spread": spread,
    "tier_score": tier_score,
}


def _leaf(wiring: Wiring, nodes: IntArray) -> IntArray:
    return wiring.switches[min(1, len(wiring.switches) - 1)][nodes]


def _subtree(wiring: Wiring, slots: int, free: IntArray) -> IntArray:
    """Return the free nodes below the lowest switch that has enough; of several, the fewest."""
    for over in wiring.switches[1:]:
        room = np.bincount(over[free])
        fits = np.flatnonzero(room >= slots)
        if len(fits):
            chosen = fits[np.argmin(room[fits])]
            return np.sort(free[over[free] == chosen])
    return np.sort(free)


def _by_leaf(wiring: Wiring, nodes: IntArray, *, most_first: bool) -> IntArray:
    """Order nodes by the switches above them, leaves with most or least room first."""
    leaf = _leaf(wiring, nodes)
    room = np.bincount(leaf)[leaf]
    outer = [over[nodes] for over in wiring.switches[2:]]
    return nodes[np.lexsort((nodes, leaf, -room if most_first else room, *outer))]
