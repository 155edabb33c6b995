"""TicTac: whole tensors by priority."""

from collections.abc import Sequence

from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import most_urgent, queues, whole_units


def tictac(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
    """Send each tensor alone, the most urgent released one first, never interrupted.

    Most urgent is the largest tail; ties go to the later release, then to position.

    References
    ----------
    .. [1] S. H. Hashemi et al., TicTac: Accelerating Distributed Deep Learning with Communication
           Scheduling, SysML 2019. .. [2] PACE, Section VI-B, baseline (iii).
    """
    units = whole_units([(i,) for i in range(len(chain))], chain)
    return queues(units, most_urgent(units, chain), chain)
