"""A topology as arrays: what flows between nodes leave of each link."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from solver.clusters.group_traffic import GroupTraffic
from solver.clusters.topology import Topology, link_name
from solver.units import FloatArray, IntArray


class FlowShare(NamedTuple):
    """What links leave a flow.

    Attributes
    ----------
    gbps
        Bandwidth of the slowest flow [Gbit/s]; inf when none leaves its node, 0 when two nodes are
        not joined.
    load
        Sum over links of flows over capacity, by which mappings as fast are told apart.
    """

    gbps: float
    load: float


@dataclass(frozen=True)
class Wiring:
    """A topology as arrays.

    Attributes
    ----------
    topology
        The topology.
    switches
        By height, 0 for the nodes themselves, the number of what is above each node there. Trees of
        several heights are aligned at the top.
    capacities
        By height, the capacity of the link up from each of these [Gbit/s]; inf where there is none.
    names
        By height, the name of that link; "" where there is none.
    domains
        The number of each node's NVLink domain; one of its own where it has none.
    domain_gbps
        Capacity of each node's link to its domain [Gbit/s].
    """

    topology: Topology
    switches: tuple[IntArray, ...]
    capacities: tuple[FloatArray, ...]
    names: tuple[tuple[str, ...], ...]
    domains: IntArray
    domain_gbps: FloatArray

    @cached_property
    def positions(self) -> dict[str, int]:
        """Positions of nodes by name."""
        return {node.name: i for i, node in enumerate(self.topology.nodes)}

    def place(self, nodes: tuple[int, ...]) -> IntArray:
        """Return positions of nodes, slot by slot, as an array."""
        return np.array(nodes, dtype=np.int64)

    def loads(self, group: GroupTraffic, place: IntArray) -> list[FloatArray] | None:
        """Return flows over each link by height, the larger of both ways, and of domains last.

        None where two nodes that must speak are not joined.
        """
        a, b = place[group.sources], place[group.targets]
        beyond = self.domains[a] != self.domains[b]
        found = []
        for height, over in enumerate(self.switches):
            up, down = over[a], over[b]
            crossed = beyond & (up != down)
            if height == len(self.capacities):
                if crossed.any():
                    return None
                break
            count = len(self.capacities[height])
            flows = group.flows[crossed]
            found.append(
                np.maximum(
                    np.bincount(up[crossed], flows, count),
                    np.bincount(down[crossed], flows, count),
                )
            )
        inside = ~beyond & (a != b)
        flows, count = group.flows[inside], len(self.domains)
        found.append(
            np.maximum(np.bincount(a[inside], flows, count), np.bincount(b[inside], flows, count))
        )
        return found

    def share(
        self,
        group: GroupTraffic,
        place: IntArray,
        left: tuple[FloatArray, ...] | None = None,
    ) -> FlowShare:
        """Return what links leave the slowest flow of groups whose slots are on these nodes.

        All flows that cross a link share it evenly. ``left`` is the share of each link's capacity
        that others leave, by height.

        Notes
        -----
        O(flows * heights).
        """
        if group.is_inside:
            return FlowShare(np.inf, 0.0)
        loads = self.loads(group, place)
        if loads is None:
            return FlowShare(0.0, np.inf)
        least, total = np.inf, 0.0
        for height, load in enumerate((*loads,)):
            used = load > 0
            if not used.any():
                continue
            is_domain = height == len(self.capacities)
            capacity = self.domain_gbps if is_domain else self.capacities[height]
            if left is not None and not is_domain:
                capacity = capacity * left[height]
            ratio = load[used] / capacity[used]
            least = min(least, 1.0 / float(ratio.max()) if ratio.max() > 0 else np.inf)
            total += float(ratio.sum())
        return FlowShare(least, total)


def wiring_of(topology: Topology) -> Wiring:
    """Return a topology as arrays; capacities that nobody gave are endless.

    Notes
    -----
    O(nodes * levels).
    """
    depth = max(len(node.above) for node in topology.nodes)
    capacity = {
        link.name: np.inf if link.capacity_gbps is None else link.capacity_gbps
        for link in topology.links
    }
    ways = []
    for node in topology.nodes:
        steps = (f"\0{node.name}", *node.above)
        ways.append((steps[0],) * (depth - len(node.above)) + steps)
    switches, capacities, names = [], [], []
    for height in range(depth + 1):
        number: dict[str, int] = {}
        over = [number.setdefault(way[height], len(number)) for way in ways]
        switches.append(np.array(over, dtype=np.int64))
        if height == depth:
            break
        links = {way[height]: link_name(way[height].lstrip("\0"), way[height + 1]) for way in ways}
        links = {key: name if name in capacity else "" for key, name in links.items()}
        capacities.append(np.array([capacity.get(links[key], np.inf) for key in number]))
        names.append(tuple(links[key] for key in number))
    domain: dict[str, int] = {}
    keys = [f"\0{n.name}" if n.domain is None else n.domain for n in topology.nodes]
    numbers = np.array([domain.setdefault(key, len(domain)) for key in keys], dtype=np.int64)
    inside = [
        np.inf if n.domain is None else capacity[link_name(n.name, n.domain)]
        for n in topology.nodes
    ]
    return Wiring(
        topology, tuple(switches), tuple(capacities), tuple(names), numbers, np.array(inside)
    )
