"""How much of each link jobs use, with and without another job."""

from collections.abc import Iterable
from math import inf

from solver.clusters.beside import PlacedJob
from solver.clusters.topology import link_name
from solver.clusters.wiring import Wiring


def filled_us(wiring: Wiring, placed: PlacedJob) -> dict[str, float]:
    """Return for how long a job's bytes of a step would fill each link that they cross [us].

    A group's flows cross a link side by side: all that go the busier way, each at what the mapping
    has, for as long as the group sends. Of a job of a shape that is what is exposed, so a link may
    carry more. Links whose capacity nobody gave are left out.

    Notes
    -----
    O(flows + links).
    """
    nodes, job = wiring.topology.nodes, placed.job
    inside = tuple(
        "" if node.domain is None else link_name(node.name, node.domain) for node in nodes
    )
    place = wiring.place(placed.mapping.nodes)
    busy = job.busy_us(wiring.topology, placed.mapping.gbps)
    found: dict[str, float] = {}
    for group, gbps, us in zip(job.groups, placed.mapping.gbps, busy, strict=True):
        if group.is_inside or not us or gbps == inf:
            continue
        for names, capacities, load in zip(
            (*wiring.names, inside),
            (*wiring.capacities, wiring.domain_gbps),
            wiring.loads(group, place) or (),
            strict=False,
        ):
            for k in load.nonzero()[0].tolist():
                if names[k] and capacities[k] < inf:
                    filled = us * float(load[k]) * gbps / float(capacities[k])
                    found[names[k]] = found.get(names[k], 0.0) + filled
    return found


def link_use(jobs: Iterable[tuple[dict[str, float], float]]) -> dict[str, float]:
    """Return the share of each link's time that jobs need.

    Parameters
    ----------
    jobs
        Of each what :func:`filled_us` says, and the time of its step [us].

    Notes
    -----
    A share above 1 says that steps are taken to be shorter than the link allows.
    """
    found: dict[str, float] = {}
    for filled, step_us in jobs:
        for name, us in filled.items():
            found[name] = found.get(name, 0.0) + us / step_us
    return found
