"""No overlap: everything in one collective."""

from solver.chain import Chain
from solver.costs import Cost
from solver.policies.rules import Queue, first_in_first_out, whole
from solver.simulate import Rule


def single(chain: Chain, cost: Cost) -> Rule:
    """Send all tensors in one collective after the whole backward pass, which CSF assumes.

    It starts when the last tensor is released and pays one start-up.

    References
    ----------
    .. [1] OSF, Section 2, eq. 2.
    """
    return Queue(whole([range(len(chain))], chain), first_in_first_out)
