"""What the groups of a job send between its slots, whatever nodes these are on.

A slot is a node's worth of consecutive ranks; a mapping puts slots on nodes.
"""

from dataclasses import dataclass

import numpy as np

from solver.graph import ALL_TO_ALL
from solver.units import FloatArray, IntArray

#: A pipeline sends to the next stage, and round from the last to the first where stages are
#: virtual; a ring goes round within each group.
CHAIN = "chain"


@dataclass(frozen=True, slots=True)
class GroupTraffic:
    """Flows between slots, of all groups of one sort at once.

    Attributes
    ----------
    name
        ``tensor``, ``context``, ``expert``, ``sharding``, ``data`` or ``pipeline``.
    span
        Ranks from the first to the last of a group.
    sources, targets
        Slots that flows leave and enter, of those that leave their slot.
    flows
        How many go from one to the other, in shares of what one rank sends.
    share
        What each flow is of that: a rank has one flow to the next of a ring, and one to each other
        rank of an all-to-all.
    """

    name: str
    span: int
    sources: IntArray
    targets: IntArray
    flows: FloatArray
    share: float = 1.0

    @property
    def is_inside(self) -> bool:
        """Whether no flow leaves its slot."""
        return not len(self.sources)


def group_traffic(
    name: str, gpus: int, slot: int, ranks: int, stride: int, kind: str
) -> GroupTraffic:
    """Return the flows of groups of ``ranks`` GPUs, each ``stride`` after the one before.

    Parameters
    ----------
    name
        What the groups are called.
    gpus, slot
        GPUs of the job, and of each slot.
    ranks, stride
        Ranks of a group, and the distance of its neighbours.
    kind
        A kind of collective, which goes round in a ring, but for the all-to-all, in which each rank
        sends to all others of its group at once; or ``chain``.

    Notes
    -----
    O(gpus), of an all-to-all O(gpus ranks). A closed ring sends as much up a link as down it.
    """
    rank = np.arange(gpus, dtype=np.int64)
    at = rank // stride % ranks
    if kind == ALL_TO_ALL:
        steps = np.arange(1, ranks, dtype=np.int64)
        other = (at[:, None] + steps) % ranks
        to = (rank[:, None] + (other - at[:, None]) * stride).ravel()
        sources, targets = np.repeat(rank, ranks - 1) // slot, to // slot
        weight = 1.0 / (ranks - 1)
    else:
        is_last = at == ranks - 1
        to = np.where(is_last, rank - (ranks - 1) * stride, rank + stride)
        stays = ~is_last if kind == CHAIN else np.ones(gpus, dtype=bool)
        sources, targets, weight = rank[stays] // slot, to[stays] // slot, 1.0
    leaves = sources != targets
    slots = -(-gpus // slot)
    every = np.sort(sources[leaves] * slots + targets[leaves])
    firsts = np.flatnonzero(np.diff(every, prepend=-1))
    pairs, counts = every[firsts], np.diff(firsts, append=len(every))
    flows = counts.astype(np.float64) * weight
    return GroupTraffic(name, ranks * stride, pairs // slots, pairs % slots, flows, weight)
