"""Jobs to be put on nodes: what their groups send, and how long a step takes at a bandwidth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import Final, NamedTuple, Protocol

from solver.bounds.bound import lower_bound
from solver.chain import chain_of
from solver.clusters.group_traffic import CHAIN, GroupTraffic, group_traffic
from solver.clusters.topology import Topology
from solver.costs import Cluster, network_of
from solver.costs.cluster import HIERARCHICAL
from solver.graph import ALL_REDUCE, ALL_TO_ALL, Graph
from solver.policies import POLICIES
from solver.shapes.efficiency import ASSUMED, Efficiencies
from solver.shapes.hardware import Accelerator, NetworkLevel, TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import ELEMENT
from solver.shapes.step import simulate_step
from solver.shapes.step_ends import stage_parameters
from solver.shapes.transformer import Transformer

#: Policies whose launches and their order do not depend on the network: none is sooner over when
#: it is slower.
IN_ORDER: Final = ("wfbp", "ddp", "single")


class Workload(Protocol):
    """What a search over mappings asks of a job."""

    @property
    def slots(self) -> int:
        """Nodes that it needs."""
        ...

    @property
    def slot_gpus(self) -> int:
        """GPUs that it uses of each."""
        ...

    @property
    def groups(self) -> tuple[GroupTraffic, ...]:
        """What its groups send between slots."""
        ...

    def step_us(self, topology: Topology, gbps: Sequence[float]) -> float:
        """Time of a step [us], with the bandwidth of each group's flows that leave their node."""
        ...

    def least_us(self, topology: Topology, gbps: Sequence[float]) -> float:
        """Return what no step is faster than at these bandwidths or smaller ones [us]."""
        ...

    def busy_us(self, topology: Topology, gbps: Sequence[float]) -> tuple[float, ...]:
        """Time in which each group sends in a step [us]."""
        ...


@dataclass(frozen=True)
class DataParallelJob:
    """One group of all ranks that sums gradients: a graph under a policy of today.

    A sum is a reduce-scatter in each node, a ring across nodes and an all-gather in each node, as
    :func:`solver.costs.algorithms.nodes.hierarchical` costs it.

    Attributes
    ----------
    graph
        The iteration of a rank.
    slots, slot_gpus
        Nodes, and GPUs of each.
    policy
        Key of :data:`solver.policies.POLICIES`.
    """

    graph: Graph
    slots: int
    slot_gpus: int
    policy: str = "ddp"

    @cached_property
    def groups(self) -> tuple[GroupTraffic, ...]:
        """The ring across nodes, one flow from each to the next."""
        return (group_traffic("data", self.slots, 1, self.slots, 1, ALL_REDUCE),)

    def step_us(self, topology: Topology, gbps: Sequence[float]) -> float:
        """Time of a step [us]: the graph simulated under the policy."""
        from solver.simulation.engine import simulate  # noqa: PLC0415 - late, as policies are

        cluster = self.cluster(topology, gbps[0])
        return simulate(self.graph, network_of(cluster), POLICIES[self.policy]).iteration_time

    def least_us(self, topology: Topology, gbps: Sequence[float]) -> float:
        """Return what no step is faster than [us]."""
        if self.policy in IN_ORDER:
            return self.step_us(topology, gbps)
        chain = chain_of(self.graph)
        network = network_of(self.cluster(topology, gbps[0]))
        return lower_bound(self.graph, chain, [network(lane) for lane in chain.lanes]).value

    def busy_us(self, topology: Topology, gbps: Sequence[float]) -> tuple[float, ...]:
        """Time in which gradients cross nodes [us]: of their bytes."""
        sent = sum(self.graph.ops[i].bytes or 0 for i in self.graph.collectives)
        if self.slots == 1 or gbps[0] == inf:
            return (0.0,)
        return (2 * (self.slots - 1) / self.slots * sent / (gbps[0] * 125.0),)

    def cluster(self, topology: Topology, gbps: float) -> Cluster:
        """Return workers and network as costs take them, at a bandwidth across nodes [Gbit/s]."""
        ranks = self.slots * self.slot_gpus
        inside = topology.node_gbps
        if self.slots == 1 or gbps == inf:
            return Cluster(ranks, inside, topology.node_startup_us, topology.node_hop_us)
        if self.slot_gpus == 1:
            return Cluster(ranks, gbps, topology.startup_us, topology.hop_us)
        return Cluster(
            ranks,
            gbps,
            topology.startup_us,
            hop_us=topology.hop_us,
            algorithm=HIERARCHICAL,
            node_workers=self.slot_gpus,
            node_bandwidth_gbps=inside,
            node_hop_us=topology.node_hop_us,
        )


class _GroupSort(NamedTuple):
    """Groups of a shape: their ranks, the distance of these, and bytes that are summed among them.

    ``summed`` is what a rank of very many sends for it [bytes]; 0 for what sums no gradients.
    """

    name: str
    ranks: int
    stride: int
    kind: str = ALL_REDUCE
    summed: float = 0.0


@dataclass(frozen=True)
class ShapedJob:
    """A transformer split by a shape, as :mod:`solver.shapes` predicts its step.

    Each group's collectives cross what its slowest ring crosses; groups of one sort run at the same
    time and share links, groups of several sorts do not.

    Attributes
    ----------
    model, accelerator, shape, known
        As :func:`solver.shapes.step.simulate_step` takes them.
    slot_gpus
        GPUs that it uses of each node.
    """

    model: Transformer
    accelerator: Accelerator
    shape: JobShape
    slot_gpus: int
    known: Efficiencies = ASSUMED

    @property
    def slots(self) -> int:
        """Nodes that it needs."""
        return -(-self.shape.gpus // self.slot_gpus)

    @cached_property
    def groups(self) -> tuple[GroupTraffic, ...]:
        """Groups of more than one rank, from the innermost."""
        gpus, slot = self.shape.gpus, self.slot_gpus
        return tuple(
            group_traffic(each.name, gpus, slot, each.ranks, each.stride, each.kind)
            for each in self._sorts
        )

    @cached_property
    def _sorts(self) -> tuple["_GroupSort", ...]:
        shape = self.shape
        replicas = shape.cp * shape.dp
        sorts = [
            _GroupSort("tensor", shape.tp, 1),
            _GroupSort("context", shape.cp, shape.tp),
            _GroupSort("expert", shape.ep, shape.tp, ALL_TO_ALL),
            _GroupSort(
                "pipeline", shape.pp, shape.tp * replicas, ALL_REDUCE if shape.vpp > 1 else CHAIN
            ),
        ]
        stages = stage_parameters(self.model, shape)
        dense, experts = sum(each[0] for each in stages), sum(each[1] for each in stages)
        sums = [(replicas, shape.tp, shape.sharing, dense)]
        if shape.ep > 1:  # experts are summed among the ranks that hold the same ones
            same = max(1, shape.sharing // shape.ep)
            sums.append((replicas // shape.ep, shape.tp * shape.ep, same, experts))
        for ranks, stride, share, parameters in sums:
            size = parameters * shape.gradient_bytes
            if shape.sharding == "none":
                sorts.append(_GroupSort("data", ranks, stride, summed=2 * size))
            else:
                both = size + parameters * ELEMENT  # summed, and gathered once updated
                outer = 2 * size / share
                sorts.append(_GroupSort("sharding", share, stride, summed=both))
                sorts.append(_GroupSort("data", ranks // share, stride * share, summed=outer))
        used = [each for each in sorts if each.ranks > 1]
        return tuple(sorted(used, key=lambda each: each.ranks * each.stride))

    def step_us(self, topology: Topology, gbps: Sequence[float]) -> float:
        """Time of a step [us]."""
        return _step(self, topology, tuple(gbps))[0]

    def least_us(self, topology: Topology, gbps: Sequence[float]) -> float:
        """Return the time of a step [us]: passes keep their order, so bandwidth never hurts."""
        return _step(self, topology, tuple(gbps))[0]

    def busy_us(self, topology: Topology, gbps: Sequence[float]) -> tuple[float, ...]:
        """Time in which each group sends [us]: what of it is exposed.

        Groups that sum gradients share what is exposed of that by the time of their bytes: experts
        and all else, and ranks that share out the optimizer with those that sum shards.
        """
        exposed = _step(self, topology, tuple(gbps))[1]
        inside = topology.node_gbps or inf
        times = [
            each.summed * (1 - 1 / each.ranks) / min(at, inside)
            for each, at in zip(self._sorts, gbps, strict=True)
        ]
        is_late = self.shape.sharding != "parameters"  # else they are summed in the passes
        names = ["data" if is_late and each.summed else each.name for each in self._sorts]
        total: dict[str, float] = {}
        for name, time in zip(names, times, strict=True):
            total[name] = total.get(name, 0.0) + time
        return tuple(
            exposed.get(name, 0.0) * (time / total[name] if total[name] else 1.0)
            for name, time in zip(names, times, strict=True)
        )

    def cluster(self, topology: Topology, gbps: Sequence[float]) -> TrainingCluster:
        """Return the levels that this job's groups see, a level for each span of ranks."""
        inside = topology.node_gbps or inf
        own = NetworkLevel("node", 1, inside, topology.node_startup_us, topology.node_hop_us)
        spans: dict[int, float] = {}
        for group, at in zip(self.groups, gbps, strict=True):
            spans[group.span] = min(spans.get(group.span, inf), at)
        levels = []
        within = max((span for span, at in spans.items() if at == inf), default=1)
        outer = {span: at for span, at in spans.items() if at < inf}
        first = min((within, *(span - 1 for span in outer)))
        levels.append(NetworkLevel("node", max(1, first), *_figures(own)))
        for span, at in sorted(outer.items()):
            slow = min(inside, at)
            levels.append(
                NetworkLevel(f"span {span}", span, slow, topology.startup_us, topology.hop_us)
            )
        return TrainingCluster(self.accelerator, tuple(levels))


def _figures(level: NetworkLevel) -> tuple[float, float, float]:
    return level.bandwidth_gbps, level.startup_us, level.hop_us


@lru_cache(maxsize=4096)
def _step_of_levels(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[float, dict[str, float]]:
    step = simulate_step(model, cluster, shape, known)
    return step.time_us, dict(step.exposed)


def _step(
    job: ShapedJob, topology: Topology, gbps: tuple[float, ...]
) -> tuple[float, dict[str, float]]:
    return _step_of_levels(job.model, job.cluster(topology, gbps), job.shape, job.known)
