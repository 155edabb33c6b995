"""The lower bound on the iteration time, over all fusions, partitions and orders.

Where each channel is a problem of its own, it is the largest of the channels' bounds.
"""

from collections.abc import Sequence
from dataclasses import replace

from solver.bounds import chain as one_lane
from solver.bounds import general
from solver.bounds.chain import LowerBound
from solver.bounds.core import with_core
from solver.bounds.kinds import COMPUTE
from solver.bounds.tried import tried
from solver.chain import Chain, by_channel, subchain
from solver.costs import Cost
from solver.graph import Graph
from solver.units import same


def lower_bound(graph: Graph, chain: Chain, costs: Sequence[Cost]) -> LowerBound:
    """Return the best bound that is known of a graph, its chain and the cost of each lane.

    A graph that was left without collectives takes its compute time.
    """
    if not graph.collectives:
        return LowerBound(chain.compute_time, COMPUTE)
    if not chain.is_layered:
        return general.lower_bound(graph, chain, costs)
    bounds = (
        _of_channel(chain, tensors, cost)
        for tensors, cost in zip(by_channel(chain), costs, strict=True)
    )
    return max(bounds, key=lambda bound: bound.value)


def sharpened(chain: Chain, costs: Sequence[Cost], bound: LowerBound, time: float) -> LowerBound:
    """Return a bound on a layered chain that is sharper for a plan of so long a time [us]; or this.

    It is not above that time.
    """
    for tensors, cost in zip(by_channel(chain), costs, strict=True):
        if same(bound.value, time):
            break
        some = subchain(chain, tensors)
        own = with_core(some, cost, bound)
        own = one_lane.tightened(some, cost, own, time, sharp=True)
        own = tried(some, [cost], own, time)
        if own is not bound:
            bound = replace(own, members=tuple(tensors[i] for i in own.members))
    return bound


def _of_channel(chain: Chain, tensors: Sequence[int], cost: Cost) -> LowerBound:
    bound = one_lane.lower_bound(subchain(chain, tensors), cost)
    return replace(bound, members=tuple(tensors[i] for i in bound.members))
