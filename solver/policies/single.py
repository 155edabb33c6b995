"""No overlap: everything in one collective."""

from collections.abc import Sequence

from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import first_in_first_out, group_tensors, queues, whole_units


def single(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
    """Send all tensors in one collective after the whole backward pass, which CSF assumes.

    It starts when the last tensor is released and pays one start-up. Where collectives wait for
    others, or differ in lane, all that may be sent together is.

    References
    ----------
    .. [1] OSF, Section 2, eq. 2.
    """
    units = whole_units(group_tensors(chain, lambda *_: True), chain)
    return queues(units, first_in_first_out, chain)
