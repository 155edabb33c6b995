"""P3: tensors in small slices by priority."""

from collections.abc import Sequence

from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import most_urgent, queues, slice_tensors


def p3(chain: Chain, costs: Sequence[Cost], *, slice_bytes: int = 200_000) -> Sequence[Rule]:
    """Send tensors in equal slices, a slice of the most urgent released tensor first.

    Most urgent is the largest tail; ties go to the later release, then to position. The last
    slice of a tensor may be short. Each slice is a launch of its own and pays the start-up.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    slice_bytes
        Size of a slice [bytes].

    Notes
    -----
    The default is the paper's 50,000 parameters of 4 bytes.

    References
    ----------
    .. [1] A. Jayarajan et al., Priority-based Parameter Propagation for Distributed DNN Training,
           SysML 2019.
    """
    units = slice_tensors(chain, slice_bytes)
    return queues(units, most_urgent(units, chain), chain)
