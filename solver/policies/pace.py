"""PACE: MaxMinSize fusion around the optimal preemptive schedule."""

from functools import partial

from solver.chain import Chain
from solver.costs import Cost
from solver.fusion import max_min
from solver.policies.plan import sends
from solver.policies.rules import InOrder
from solver.schedule.execute import cut_at_releases
from solver.simulate import Rule


def pace(chain: Chain, cost: Cost) -> Rule:
    """Fuse by Algorithm 1 and send largest tail first, preempting at releases.

    R is chosen by simulated time with start-up paid by every part, which is generous to PACE: its
    own oracle leaves the start-ups of parts out.

    References
    ----------
    .. [1] Y. Bao et al., Preemptive All-reduce Scheduling for Expediting Distributed DNN
           Training, INFOCOM 2020, Sections IV and V.
    """
    return InOrder(sends(*max_min(chain, cost, partial(cut_at_releases, cost=cost))))
