"""A job on its nodes as others see it: which links it crosses, when, and with how many bytes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf

from solver.clusters.mapping import Mapping
from solver.clusters.topology import Topology
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import DataParallelJob, ShapedJob, Workload
from solver.costs import network_of
from solver.jobs.condense import profile_of_graph
from solver.jobs.mix import AT_ONCE, JobTerms, Mix, MixedJob
from solver.jobs.profile import JobProfile, Phase, profile_of_phases
from solver.policies import POLICIES


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
    terms
        Its class, and a period at which it is held.
    """

    name: str
    job: Workload
    mapping: Mapping
    weight: float = 1.0
    price_per_gpu_hour: float = 1.0
    terms: JobTerms = AT_ONCE

    @property
    def gpus(self) -> int:
        """GPUs that it keeps busy."""
        return self.job.slots * self.job.slot_gpus


def links_of(wiring: Wiring, placed: PlacedJob) -> tuple[dict[str, float], ...]:
    """Return the links that each group of a job crosses, with its flows there side by side.

    Of both ways of a link the one with more flows counts. Links of nodes come first.
    """
    found: list[dict[str, float]] = []
    place = wiring.place(placed.mapping.nodes)
    for group in placed.job.groups:
        crossed: dict[str, float] = {}
        loads = () if group.is_inside else wiring.loads(group, place) or ()
        for names, load in zip(wiring.names, loads, strict=False):
            for k in load.nonzero()[0].tolist():
                if names[k]:
                    crossed[names[k]] = float(load[k]) / group.share
        found.append(crossed)
    return tuple(found)


class Profiles:
    """Iterations of jobs as transfers, each job and bandwidth once."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._known: dict[tuple[int, tuple[float, ...]], JobProfile] = {}

    def of(self, placed: PlacedJob, crossed: Sequence[dict[str, float]]) -> JobProfile:
        """Return the iteration of a job whose groups cross these links with so many flows each.

        A job of a shape is taken as its compute and then each group's exposed communication.
        """
        key = id(placed.job), placed.mapping.gbps
        if key not in self._known:
            self._known[key] = _profile(self._topology, placed)
        found = self._known[key]
        transfers = []
        for each in found.transfers:
            if each.links:
                group = int(each.links[0])
                links, flows = tuple(crossed[group]), tuple(crossed[group].values())
                rate = each.rate * placed.job.groups[group].share
                transfers.append(each._replace(links=links, flows=flows, rate=rate))
            else:
                transfers.append(each)
        return replace(found, transfers=tuple(transfers))


def _profile(topology: Topology, placed: PlacedJob) -> JobProfile:
    """Return the iteration, with the number of its group in the place of a transfer's links."""
    job, gbps = placed.job, placed.mapping.gbps
    if isinstance(job, DataParallelJob):
        cluster = job.cluster(topology, gbps[0])
        if gbps[0] < inf:
            cluster = replace(cluster, links=(("0", gbps[0]),), path=("0",))
        return profile_of_graph(job.graph, network_of(cluster), POLICIES[job.policy])
    assert isinstance(job, ShapedJob), "there are two sorts of jobs"
    phases = [
        Phase(0.0, us * at * 125.0, (str(group),), at)
        for group, (us, at) in enumerate(zip(job.busy_us(topology, gbps), gbps, strict=True))
        if us and at < inf
    ]
    sent = sum(phase.bytes / ((phase.bandwidth_gbps or 1.0) * 125.0) for phase in phases)
    compute = Phase(max(0.0, placed.mapping.time_us - sent))
    widths = {str(group): at for group, at in enumerate(gbps)}
    return profile_of_phases([compute, *phases], widths)


def mix_of(wiring: Wiring, profiles: Profiles, jobs: tuple[PlacedJob, ...]) -> Mix:
    """Return jobs with the links that several of them cross.

    What a single job crosses slows nobody down, and limits it as it does alone.
    """
    crossed = [links_of(wiring, placed) for placed in jobs]
    count: dict[str, int] = {}
    for groups in crossed:
        for name in dict.fromkeys(chain.from_iterable(groups)):
            count[name] = count.get(name, 0) + 1
    shared = [
        tuple({name: on for name, on in group.items() if count[name] > 1} for group in groups)
        for groups in crossed
    ]
    capacity = {link.name: link.capacity_gbps or inf for link in wiring.topology.links}
    used = dict.fromkeys(name for groups in shared for group in groups for name in group)
    mixed = tuple(
        MixedJob(placed.name, (profiles.of(placed, groups),), placed.weight, placed.gpus)
        for placed, groups in zip(jobs, shared, strict=True)
    )
    return Mix(tuple((name, capacity[name]) for name in used), mixed)
