"""Wait-free backpropagation: each gradient as soon as it exists, first in, first out."""

from collections.abc import Sequence

from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import first_in_first_out, queues, whole_units


def wfbp(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
    """Send each tensor alone, FIFO by release then position, never interrupted.

    References
    ----------
    .. [1] H. Zhang et al., Poseidon, USENIX ATC 2017. .. [2] PACE, Section VI-B.
    """
    units = whole_units([(i,) for i in range(len(chain))], chain)
    return queues(units, first_in_first_out, chain)
