"""MG-WFBP: merge gradients while the next one is ready before this launch is under way."""

from solver.chain import Chain
from solver.costs import Cost
from solver.policies.rules import Queue, first_in_first_out, whole
from solver.simulate import Rule


def mg_wfbp(chain: Chain, cost: Cost) -> Rule:
    """Merge a tensor into the next one when that costs less than another start-up.

    From the first tensor on, a group would start at max(end of the previous launch, release of
    its last member so far). The next tensor joins when it is released before that start plus one
    start-up; else the group is closed and takes the cost of its bytes. Groups go in order.

    The start-up is the largest a for which a + c n <= T(n): that of an affine cost, the least
    time of a launch from a measured table.

    References
    ----------
    .. [1] S. Shi, X. Chu, B. Li, MG-WFBP: Efficient Data Communication for Distributed
           Synchronous SGD Algorithms, INFOCOM 2019, Algorithm 1.
    """
    release, sizes = chain.release.tolist(), chain.bytes.tolist()
    startup = max(a for a, _ in cost.minorants(sum(sizes)))
    groups = [[0]]
    held, free = sizes[0], 0.0
    for tensor in range(1, len(chain)):
        start = max(free, release[tensor - 1])
        if release[tensor] < start + startup:
            groups[-1].append(tensor)
            held += sizes[tensor]
        else:
            groups.append([tensor])
            free = start + cost.time(held)
            held = sizes[tensor]
    return Queue(whole(groups, chain), first_in_first_out)
