"""MG-WFBP: merge gradients while the next one is ready before this launch is under way."""

from collections.abc import Sequence

from solver.chain import Chain, lane_bytes
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import first_in_first_out, group_tensors, queues, whole_units


def mg_wfbp(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
    """Merge a tensor into the next one when that costs less than another start-up.

    From the first tensor on, a group would start at max(end of the previous launch, release of
    its last member so far). The next tensor joins when it is released before that start plus one
    start-up; else the group is closed and takes the cost of its bytes. Groups go in order. Each
    kind of collective on a channel is merged as if it had the channel alone.

    The start-up is the largest a for which a + c n <= T(n): that of an affine cost, the least
    time of a launch of a measured table or curve.

    References
    ----------
    .. [1] S. Shi, X. Chu, B. Li, MG-WFBP: Efficient Data Communication for Distributed
           Synchronous SGD Algorithms, INFOCOM 2019, Algorithm 1.
    """
    release = chain.release.tolist()
    startups = [
        max(a for a, _ in cost.minorants(total))
        for cost, total in zip(costs, lane_bytes(chain), strict=True)
    ]
    free = [0.0] * len(costs)

    def joins(group: list[int], held: int, tensor: int) -> bool:
        lane = chain.lane[tensor]
        start = max(free[lane], release[group[-1]])
        if release[tensor] < start + startups[lane]:
            return True
        free[lane] = start + costs[lane].time(held)
        return False

    return queues(whole_units(group_tensors(chain, joins), chain), first_in_first_out, chain)
