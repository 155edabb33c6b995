"""A job on its nodes as others see it: which links it crosses, when, and with how many bytes."""

from dataclasses import dataclass, replace
from math import inf

from solver.clusters.mapping import Mapping
from solver.clusters.topology import Topology
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import DataParallelJob, ShapedJob, Workload
from solver.costs import network_of
from solver.jobs.condense import profile_of_graph
from solver.jobs.mix import Mix, MixedJob
from solver.jobs.profile import JobProfile, Phase, profile_of_phases
from solver.policies import POLICIES

#: The name under which transfers cross the network before it is known which links these are.
_PATH = "path"


@dataclass(frozen=True, slots=True)
class PlacedJob:
    """A job on nodes.

    Attributes
    ----------
    name
        Unlike all others'.
    job
        What it does.
    mapping
        Its slots on nodes, alone.
    weight
        How much its slow-down counts.
    price_per_gpu_hour
        What an hour of a GPU costs, in any currency.
    """

    name: str
    job: Workload
    mapping: Mapping
    weight: float = 1.0
    price_per_gpu_hour: float = 1.0

    @property
    def gpus(self) -> int:
        """GPUs that it keeps busy."""
        return self.job.slots * self.job.slot_gpus


def links_of(wiring: Wiring, placed: PlacedJob) -> tuple[str, ...]:
    """Return the names of the links that a job crosses, those of nodes first."""
    found: dict[str, None] = {}
    place = wiring.place(placed.mapping.nodes)
    for group in placed.job.groups:
        if group.is_inside:
            continue
        for names, load in zip(wiring.names, wiring.loads(group, place) or (), strict=False):
            found.update(dict.fromkeys(names[k] for k in load.nonzero()[0] if names[k]))
    return tuple(found)


class Profiles:
    """Iterations of jobs as transfers, each job and bandwidth once."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._known: dict[tuple[int, tuple[float, ...]], JobProfile] = {}

    def of(self, placed: PlacedJob, links: tuple[str, ...]) -> JobProfile:
        """Return the iteration of a job that crosses these links.

        Every link of the path carries each launch once, as the ring that crosses racks least has
        it. A job of a shape is taken as its compute and then each group's exposed communication.
        """
        key = id(placed.job), placed.mapping.gbps
        if key not in self._known:
            self._known[key] = _profile(self._topology, placed)
        found = self._known[key]
        transfers = tuple(
            each._replace(links=links if each.links else ()) for each in found.transfers
        )
        return replace(found, transfers=transfers)


def _profile(topology: Topology, placed: PlacedJob) -> JobProfile:
    job, gbps = placed.job, placed.mapping.gbps
    if isinstance(job, DataParallelJob):
        cluster = job.cluster(topology, gbps[0])
        if gbps[0] < inf:
            cluster = replace(cluster, links=((_PATH, gbps[0]),), path=(_PATH,))
        return profile_of_graph(job.graph, network_of(cluster), POLICIES[job.policy])
    assert isinstance(job, ShapedJob), "there are two sorts of jobs"
    phases = [
        Phase(0.0, us * at * 125.0, (_PATH,), at)
        for us, at in zip(job.busy_us(topology, gbps), gbps, strict=True)
        if us and at < inf
    ]
    sent = sum(phase.bytes / ((phase.bandwidth_gbps or 1.0) * 125.0) for phase in phases)
    compute = Phase(max(0.0, placed.mapping.time_us - sent))
    most = max((at for at in gbps if at < inf), default=1.0)
    return profile_of_phases([compute, *phases], {_PATH: most})


def mix_of(
    wiring: Wiring, profiles: Profiles, jobs: tuple[PlacedJob, ...]
) -> tuple[Mix, dict[str, tuple[str, ...]]]:
    """Return jobs with the links that several of them cross, and these by job.

    What a single job crosses slows nobody down, and limits it as it does alone.
    """
    crossed = {placed.name: links_of(wiring, placed) for placed in jobs}
    count: dict[str, int] = {}
    for links in crossed.values():
        for name in links:
            count[name] = count.get(name, 0) + 1
    shared = {
        job: tuple(name for name in links if count[name] > 1) for job, links in crossed.items()
    }
    capacity = {link.name: link.capacity_gbps or inf for link in wiring.topology.links}
    used = dict.fromkeys(name for links in shared.values() for name in links)
    mixed = tuple(
        MixedJob(
            placed.name, (profiles.of(placed, shared[placed.name]),), placed.weight, placed.gpus
        )
        for placed in jobs
    )
    return Mix(tuple((name, capacity[name]) for name in used), mixed), shared
