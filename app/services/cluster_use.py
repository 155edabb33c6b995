"""The cluster of an allocation as it is drawn: switches, nodes, and the use of links."""

from collections.abc import Sequence

from app.schemas.allocations import (
    ChangedLink,
    DrawnCluster,
    DrawnLink,
    DrawnNode,
    DrawnSwitch,
)
from solver.clusters.allocation import RankedAllocation
from solver.clusters.beside import PlacedJob
from solver.clusters.link_use import filled_us, link_use
from solver.clusters.topology import Topology
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import Workload
from solver.units import IntArray

#: Shares that differ by less are the same.
_SAME = 1e-9


class ClusterUse:
    """How much of each link jobs use, without the new job and with it on nodes.

    Parameters
    ----------
    wiring
        The topology.
    job
        The new one.
    running
        Jobs that run.
    free
        Positions of nodes that the new job may take.
    """

    def __init__(
        self, wiring: Wiring, job: Workload, running: Sequence[PlacedJob], free: IntArray
    ) -> None:
        self._wiring, self._job, self._running = wiring, job, running
        self._free = frozenset(free.tolist())
        self._filled = [filled_us(wiring, placed) for placed in running]

    def before(self, ranked: RankedAllocation) -> dict[str, float]:
        """Return the use by jobs that run alone, whose steps are known as those of a row are."""
        steps = [job.alone_us * (job.before or 1.0) for job in ranked.jobs[1:]]
        return link_use(zip(self._filled, steps, strict=True))

    def changed(self, ranked: RankedAllocation) -> list[ChangedLink]:
        """Return the links of which more or less is used with the new job, by name."""
        new = filled_us(self._wiring, PlacedJob("", self._job, ranked.mapping))
        steps = [job.time_us for job in ranked.jobs]
        then = link_use(zip([new, *self._filled], steps, strict=True))
        now = self.before(ranked)
        return [
            ChangedLink(link=name, before=now.get(name, 0.0), use=then.get(name, 0.0))
            for name in sorted({**now, **then})
            if abs(then.get(name, 0.0) - now.get(name, 0.0)) > _SAME
        ]

    def cluster(self, ranked: RankedAllocation) -> DrawnCluster:
        """Return the cluster as it is; steps of jobs that run are known as those of a row are."""
        topology = self._wiring.topology
        used = self.before(ranked)
        on: dict[int, list[str]] = {}
        for placed in self._running:
            for at in placed.mapping.nodes:
                on.setdefault(at, []).append(placed.name)
        return DrawnCluster(
            levels=list(topology.levels),
            switches=_switches(topology),
            nodes=[
                DrawnNode(
                    name=node.name,
                    gpus=node.gpus,
                    domain=node.domain,
                    jobs=on.get(at, []),
                    is_free=at in self._free,
                )
                for at, node in enumerate(topology.nodes)
            ],
            links=[
                DrawnLink(
                    name=link.name,
                    level=link.level,
                    below=below,
                    above=above,
                    capacity_gbps=link.capacity_gbps,
                    use=used.get(link.name, 0.0),
                )
                for link, (below, above) in zip(topology.links, _ends(topology), strict=True)
                if link.capacity_gbps is not None
            ],
        )


def _ends(topology: Topology) -> list[tuple[str, str]]:
    """Return what is below and above each link: names may have a ``>`` themselves."""
    known = {node.name for node in topology.nodes}
    known.update(switch for node in topology.nodes for switch in node.above)
    ends = []
    for link in topology.links:
        cuts = [i for i, sign in enumerate(link.name) if sign == ">"]
        cut = next((i for i in cuts if link.name[:i] in known), cuts[0])
        ends.append((link.name[:cut], link.name[cut + 1 :]))
    return ends


def _switches(topology: Topology) -> list[DrawnSwitch]:
    """Return switches, each behind the one above it, in the order of nodes."""
    above: dict[str, str | None] = {}
    level: dict[str, str] = {}
    nodes: dict[str, list[str]] = {}
    for node in topology.nodes:
        nodes.setdefault(node.above[0], []).append(node.name)
        chain = (*node.above, None)
        for height in reversed(range(len(node.above))):
            above.setdefault(node.above[height], chain[height + 1])
            names = topology.levels
            at = height + 1
            level.setdefault(node.above[height], names[at] if at < len(names) else f"level{at}")
    return [
        DrawnSwitch(name=name, level=level[name], above=over, nodes=nodes.get(name, []))
        for name, over in above.items()
    ]
