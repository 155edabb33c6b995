"""PACE: MaxMinSize fusion around the optimal preemptive schedule."""

from collections.abc import Sequence
from functools import partial

from solver.buckets import Launch
from solver.chain import Chain, by_channel, subchain
from solver.costs import Cost
from solver.fusion.chain.maxmin import max_min
from solver.schedule.execute import cut_at_releases
from solver.simulation.engine import Rule
from solver.simulation.rules import in_order


def pace(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
    """Fuse by Algorithm 1 and send largest tail first, preempting at releases.

    R is chosen by simulated time with start-up paid by every part, which is generous to PACE: its
    own oracle leaves the start-ups of parts out. Each channel is a problem of its own, so the chain
    must be layered.

    References
    ----------
    .. [1] Y. Bao et al., Preemptive All-reduce Scheduling for Expediting Distributed DNN
           Training, INFOCOM 2020, Sections IV and V.
    """
    launches: list[Launch] = []
    for kept, cost in zip(by_channel(chain), costs, strict=True):  # a channel has one lane
        order = partial(cut_at_releases, cost=cost)
        found = max_min(subchain(chain, kept), cost, order)
        launches += (Launch(tuple(kept[i] for i in b), size) for b, size in found)
    return in_order(launches, chain)
