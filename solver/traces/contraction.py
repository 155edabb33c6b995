"""Leave nodes out of a graph and keep the order of the others."""

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush

from solver.graph.links import Positions, turned


def order_nodes(preds: Sequence[Sequence[int]]) -> tuple[Positions, list[int]]:
    """Return the successors, and the positions in topological order, least first among the ready.

    Positions on or behind a cycle are missing from the order. O(edges + nodes log nodes).
    """
    places = list(range(len(preds)))
    succs = turned(preds, places)
    waiting = [len(above) for above in preds]
    ready = [i for i in places if not waiting[i]]
    heapify(ready)
    order = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in succs[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heappush(ready, j)
    return succs, order


def contract(
    preds: Sequence[Sequence[int]], order: Sequence[int], stays: Collection[int]
) -> Mapping[int, tuple[int, ...]]:
    """Keep some nodes, with an order of theirs that follows from all edges; in the given order.

    A node that is not kept goes, and what comes after it comes after its predecessor instead. One
    that joins several predecessors stays, as a join: leaving it out would need as many edges as
    it has pairs of neighbours. Nodes that nothing kept comes after go in any case.

    Returns
    -------
    Mapping
        Predecessors of each node that stays.

    Notes
    -----
    O(nodes + edges), and no more edges than there were.
    """
    needed = bytearray(len(preds))
    for i in reversed(order):
        if needed[i] or i in stays:
            needed[i] = True
            for j in preds[i]:
                needed[j] = True
    # what each node stands for: itself, those that it was left out for, or nothing yet
    stands: list[int | tuple[int, ...]] = [()] * len(preds)
    above_of: dict[int, tuple[int, ...]] = {}
    for i in order:
        if not needed[i]:
            continue
        above = _joined([stands[j] for j in preds[i]])
        if i in stays or len(above) > 1:
            above_of[i] = above
            stands[i] = i
        else:
            stands[i] = above
    return above_of


def _joined(stands: Sequence[int | tuple[int, ...]]) -> tuple[int, ...]:
    """Return what nodes stand for in all, without repeats."""
    if len(stands) == 1:
        (one,) = stands
        return (one,) if isinstance(one, int) else one
    every = (k for one in stands for k in ((one,) if isinstance(one, int) else one))
    return tuple(dict.fromkeys(every))
