"""Wait-free backpropagation: each gradient as soon as it exists, first in, first out."""

from solver.chain import Chain
from solver.costs import Cost
from solver.policies.rules import Queue, first_in_first_out, whole
from solver.simulate import Rule


def wfbp(chain: Chain, cost: Cost) -> Rule:
    """Send each tensor alone, FIFO by release then position, never interrupted.

    References
    ----------
    .. [1] H. Zhang et al., Poseidon, USENIX ATC 2017. .. [2] PACE, Section VI-B.
    """
    return Queue(whole([(i,) for i in range(len(chain))], chain), first_in_first_out)
