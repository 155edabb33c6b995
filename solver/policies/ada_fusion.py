"""adaFusion: fuse a tensor when waiting for it costs less than a launch of its own."""

from collections.abc import Sequence

from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import first_in_first_out, group_tensors, queues, whole_units
from solver.units import same


def ada_fusion(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
    """Fuse the next tensor when t(buffer + D) + wait < t(buffer) + t(D), first in, first out.

    The wait is the gap between the release of the buffer's last member and that of the tensor of
    D bytes; t is the cost of a launch as given, linear or piecewise. Both sides within the one
    tolerance are the same, and then it is not fused. A buffer has no limit and leaves when its
    last member is released.

    References
    ----------
    .. [1] OSF, Section 4.2, eq. 17 (adaptive tensor fusion).
    """
    release, sizes = chain.release.tolist(), chain.bytes.tolist()

    def joins(buffer: list[int], held: int, tensor: int) -> bool:
        time = costs[chain.lane[tensor]].time
        size = sizes[tensor]
        wait = release[tensor] - release[buffer[-1]]
        together, apart = time(held + size) + wait, time(held) + time(size)
        return together < apart and not same(together, apart)

    return queues(whole_units(group_tensors(chain, joins), chain), first_in_first_out, chain)
