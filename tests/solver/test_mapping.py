"""Which rank on which node: against all mappings, the rules of today, and cases on paper."""

from random import Random

import numpy as np
import pytest

from solver.clusters.figures import with_figures
from solver.clusters.group_traffic import CHAIN, group_traffic
from solver.clusters.mapping import MappingJudge, find_mapping
from solver.clusters.mapping_bound import least_step_us
from solver.clusters.regular import fat_tree
from solver.clusters.topology import ClusterNode, Topology, wired
from solver.clusters.wiring import wiring_of
from solver.clusters.workloads import DataParallelJob, ShapedJob
from solver.graph import ALL_REDUCE, ALL_TO_ALL, Graph, Op, build
from solver.shapes.hardware import ACCELERATORS
from solver.shapes.job_shape import JobShape
from solver.shapes.published import PUBLISHED
from tests.benchmarks.allocations import against_all
from tests.mapping_oracle import bandwidth, every_mapping, rings

#: Drawn jobs of shapes on which a search without restarts was up to 115 % above the best.
SHAPED = [(seed, True) for seed in (1, 18, 29)]
H100 = ACCELERATORS["h100"]


def graph(size: int = 200_000_000, layers: int = 3) -> Graph:
    ops = []
    for i in range(layers):
        ops.append(Op(f"b{i}", "compute", 2_000.0, after=(f"b{i - 1}",) if i else ()))
        ops.append(Op(f"g{i}", "all_reduce", bytes=size, after=(f"b{i}",)))
    return build("three", ops)


def clustered(seed: int, most: int = 6) -> Topology:
    """A seeded cluster of up to 3 racks and ``most`` nodes with uplinks of several widths."""
    random = Random(seed)
    racks = random.randint(2, 3)
    nodes = [
        ClusterNode(f"n{i}", 2, (f"leaf{random.randrange(racks)}", "spine")) for i in range(most)
    ]
    topology = wired(nodes, ("node", "leaf", "spine"))
    told = {link.name: random.choice([50.0, 100.0, 200.0, 400.0]) for link in topology.links}
    return with_figures(wired(nodes, topology.levels, told), node_gbps=2400, hop_us=2.0)


def times_of_all(topology: Topology, job: DataParallelJob, free: list[str]) -> list[float]:
    above = {node.name: node.above for node in topology.nodes}
    capacity = {link.name: float(link.capacity_gbps or 0) for link in topology.links}
    edges = list(rings(job.slots, 1, job.slots, 1))
    found = {bandwidth(edges, nodes, above, capacity) for nodes in every_mapping(free, job.slots)}
    return [job.step_us(topology, [gbps]) for gbps in found]


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_best_of_all_mappings(seed: int) -> None:
    topology = clustered(seed)
    job = DataParallelJob(graph(), 4, 2)
    best = min(times_of_all(topology, job, [node.name for node in topology.nodes]))
    wiring = wiring_of(topology)
    free = np.arange(len(topology.nodes))
    found = find_mapping(MappingJudge(wiring, job), free)
    assert found.best.time_us == pytest.approx(best, rel=0.01)
    assert found.lower_bound_us <= best * (1 + 1e-9)
    assert all(found.best.key <= mapping.key for _, mapping in found.rivals)
    assert found == find_mapping(MappingJudge(wiring, job), free)


@pytest.mark.parametrize(
    "shape",
    [
        JobShape(tp=2, dp=4),
        JobShape(tp=2, dp=2, pp=2, micro_batches=2),
        JobShape(dp=4, pp=2, micro_batches=2, sharding="parameters", shard=2),
    ],
)
def test_flows_of_shapes_are_those_of_rings(shape: JobShape) -> None:
    topology = clustered(3, 5)
    job = ShapedJob(PUBLISHED["llama3-8b"], H100, shape, 2)
    wiring = wiring_of(topology)
    above = {node.name: node.above for node in topology.nodes}
    capacity = {link.name: float(link.capacity_gbps or 0) for link in topology.links}
    stage = shape.tp * shape.dp
    for nodes in list(every_mapping([node.name for node in topology.nodes], job.slots))[::17]:
        place = np.array([wiring.positions[name] for name in nodes])
        for group in job.groups:
            stride = {"data": shape.tp, "sharding": shape.tp, "pipeline": stage}.get(group.name, 1)
            ranks = group.span // stride
            if group.name == "data" and shape.shard:
                stride, ranks = shape.tp * shape.shard, shape.dp // shape.shard
            edges = list(rings(shape.gpus, 2, ranks, stride))
            if group.name == "pipeline":
                edges = [(i // 2, (i + stage) // 2) for i in range(shape.gpus - stage)]
            expected = bandwidth(edges, nodes, above, capacity)
            assert wiring.share(group, place).gbps == pytest.approx(expected)


def test_rings_that_cross_racks_least_are_found() -> None:
    """Two racks of two nodes, uplinks as wide as a node's: a ring in order crosses each once."""
    topology = with_figures(
        fat_tree(pods=1, racks=2, nodes=2, node_uplink_gbps=100, oversubscription=2, gpus=1),
        node_gbps=1.0,
    )
    wiring = wiring_of(topology)
    ring = group_traffic("data", 4, 1, 4, 1, ALL_REDUCE)
    assert wiring.share(ring, np.array([0, 1, 2, 3])).gbps == 100
    assert wiring.share(ring, np.array([0, 2, 1, 3])).gbps == 50  # every edge crosses


def test_an_exchange_sends_from_each_to_all_others() -> None:
    group = group_traffic("expert", 4, 1, 4, 1, ALL_TO_ALL)
    assert len(group.flows) == 12
    assert group.flows.sum() == pytest.approx(4)
    chain = group_traffic("pipeline", 4, 1, 4, 1, CHAIN)
    assert list(zip(chain.sources, chain.targets, strict=True)) == [(0, 1), (1, 2), (2, 3)]


def test_nodes_that_are_not_joined_take_for_ever() -> None:
    nodes = [ClusterNode("a", 1, ("s",)), ClusterNode("b", 1, ("t",)), ClusterNode("c", 1, ("t",))]
    topology = with_figures(wired(nodes, ("node", "leaf")), {"node": 100})
    job = DataParallelJob(graph(), 2, 1)
    found = find_mapping(MappingJudge(wiring_of(topology), job), np.arange(3))
    assert [topology.nodes[i].name for i in sorted(found.best.nodes)] == ["b", "c"]
    assert dict(found.rivals)["by_number"].time_us == float("inf")


def test_more_bandwidth_never_hurts_and_bounds_hold_for_policies_out_of_order() -> None:
    topology = clustered(1)
    job = DataParallelJob(graph(), 4, 2, policy="bytescheduler")
    wiring = wiring_of(topology)
    free = np.arange(6)
    found = find_mapping(MappingJudge(wiring, job), free)
    assert least_step_us(wiring, job, free) <= found.best.time_us
    wider = with_figures(topology)
    assert wider == topology


def test_nvlink_domains_carry_what_stays_in_them() -> None:
    nodes = [ClusterNode(f"n{i}", 4, ("leaf",), f"nvl{i // 2}") for i in range(4)]
    topology = with_figures(
        wired(nodes, ("node", "leaf")), {"node": 400, "domain": 7200}, node_gbps=7200
    )
    wiring = wiring_of(topology)
    pair = group_traffic("tensor", 8, 4, 8, 1, ALL_REDUCE)
    assert wiring.share(pair, np.array([0, 1])).gbps == 7200
    assert wiring.share(pair, np.array([1, 2])).gbps == 400
    job = ShapedJob(PUBLISHED["llama3-8b"], H100, JobShape(tp=8, dp=1), 4)
    found = find_mapping(MappingJudge(wiring, job), np.array([1, 2, 3]))
    assert sorted(found.best.nodes) == [2, 3]
    assert found.lower_bound_us <= found.best.time_us


@pytest.mark.parametrize(("seed", "is_shaped"), [*((k, False) for k in range(8)), *SHAPED])
def test_the_search_is_as_good_as_all_mappings(seed: int, is_shaped: bool) -> None:
    """Among them are jobs of several sorts of groups of which hills hide the best mapping."""
    found = against_all(seed, 10, 5, is_shaped=is_shaped)
    assert found.gap <= 0.01
    assert found.over_bound >= -1e-9
    assert not found.is_bound_above
    assert not found.is_worse_than_rule
