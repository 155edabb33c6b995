"""What no mapping of a job onto free nodes is faster than."""

import numpy as np

from solver.clusters.group_traffic import GroupTraffic
from solver.clusters.joined import widest_joining
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import Workload
from solver.units import IntArray


def least_step_us(wiring: Wiring, job: Workload, free: IntArray) -> float:
    """Return a lower bound of the step under every mapping onto these nodes [us].

    Each sort of groups is given the largest bandwidth that any mapping could give it, by itself:

    - every slot that sends c flows is on a node of its own, whose link up carries C / c of each;
      the most that the slowest can have puts the busiest slot on the widest link (an exchange
      argument: sorted against sorted is the best bottleneck assignment);
    - slots that a sort of groups connects are joined by links that each carry at least their
      lightest flow, so these links are at most as wide as the widest that join so many nodes.

    Parameters
    ----------
    wiring
        The topology.
    job
        Its step, which no smaller bandwidth makes shorter.
    free
        Positions of the nodes that it may be put on.

    Returns
    -------
    float
        Infinite where no links join as many of the nodes as a sort of groups connects.

    Notes
    -----
    O(groups (flows + nodes log nodes) heights).
    """
    most = [_most_gbps(wiring, group, job.slots, free) for group in job.groups]
    if 0.0 in most:
        return float("inf")
    return job.least_us(wiring.topology, most)


def _most_gbps(wiring: Wiring, group: GroupTraffic, slots: int, free: IntArray) -> float:
    if group.is_inside:
        return float("inf")
    sent = np.maximum(
        np.bincount(group.sources, group.flows, slots),
        np.bincount(group.targets, group.flows, slots),
    )
    # Of a node in a domain either link may be the one that counts: the wider, and for both.
    up = wiring.capacities[0][wiring.switches[0][free]]
    for capacity, over in zip(wiring.capacities[1:], wiring.switches[1:], strict=False):
        up = np.where(np.isinf(up), capacity[over[free]], up)  # of nodes that hang higher
    shared = np.bincount(wiring.domains[free], minlength=len(wiring.domains) + 1)
    in_domain = shared[wiring.domains[free]] > 1
    up = np.where(in_domain, up + wiring.domain_gbps[free], up)
    widest = np.sort(up)[::-1][:slots]
    busiest = np.sort(sent)[::-1]
    needed = busiest > 0
    most = float((widest[needed] / busiest[needed]).min())
    if not in_domain.any():
        for size, lightest in _parts(group, slots):
            most = min(most, widest_joining(wiring, size, free) / lightest)
    return most


def _parts(group: GroupTraffic, slots: int) -> list[tuple[int, float]]:
    """Return size and lightest flow of each set of slots that flows connect."""
    part = list(range(slots))

    def root(slot: int) -> int:
        while part[slot] != slot:
            part[slot] = slot = part[part[slot]]
        return slot

    for one, two in zip(group.sources.tolist(), group.targets.tolist(), strict=True):
        part[root(one)] = root(two)
    size: dict[int, int] = {}
    for slot in range(slots):
        size[root(slot)] = size.get(root(slot), 0) + 1
    light: dict[int, float] = {}
    for one, flow in zip(group.sources.tolist(), group.flows.tolist(), strict=True):
        at = root(one)
        light[at] = min(light.get(at, flow), flow)
    return [(size[at], light[at]) for at in light]
