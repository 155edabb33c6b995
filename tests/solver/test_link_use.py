"""How much of links jobs use: on paper, and flow by flow along each path."""

import random

import numpy as np
import pytest

from solver.clusters.beside import PlacedJob
from solver.clusters.figures import with_figures
from solver.clusters.link_use import filled_us, link_use
from solver.clusters.mapping import MappingJudge
from solver.clusters.regular import fat_tree
from solver.clusters.topology import Topology
from solver.clusters.wiring import wiring_of
from solver.clusters.workloads import DataParallelJob, ShapedJob
from solver.shapes.hardware import ACCELERATORS
from solver.shapes.job_shape import JobShape
from solver.shapes.published import PUBLISHED
from solver.shapes.step import simulate_step
from tests.benchmarks.allocations import clustered, graph


def placed(topology: Topology, nodes: list[int], sent: int) -> PlacedJob:
    wiring = wiring_of(topology)
    job = DataParallelJob(graph(30_000.0, sent), len(nodes), 8)
    return PlacedJob("job", job, MappingJudge(wiring, job)(np.array(nodes)))


def test_a_ring_of_two_racks() -> None:
    """4 nodes of 2 racks: each flow has 1.5 of 2 GB at 400 Gbit/s, 30 ms, in each direction.

    A rack's uplink has 800 Gbit/s: one flow fills it for half of these.
    """
    tree = with_figures(fat_tree(1, 2, 4, 400.0, 2.0), node_gbps=3600)
    found = filled_us(wiring_of(tree), placed(tree, [0, 1, 4, 5], 10**9))
    names = [f"{node.name}>{node.above[0]}" for node in (tree.nodes[i] for i in (0, 1, 4, 5))]
    expected = dict.fromkeys(names, 30_000.0) | dict.fromkeys(
        ("leaf1-1>spine1", "leaf1-2>spine1"), 15_000.0
    )
    assert found == pytest.approx(expected, rel=1e-6)
    used = link_use([(found, 60_000.0), (found, 30_000.0)])
    assert used["leaf1-1>spine1"] == pytest.approx(0.75)


@pytest.mark.parametrize("seed", range(20))
def test_as_flows_along_their_paths_fill_links(seed: int) -> None:
    """Each node of the ring sends to the next; of the two ways of a link the busier one counts."""
    rng = random.Random(seed)
    topology = clustered(rng)
    nodes = rng.sample(range(len(topology.nodes)), rng.randint(2, 5))
    sent = 600_000_000
    job = placed(topology, nodes, sent)
    names = [topology.nodes[i].name for i in nodes]
    ways: dict[tuple[str, bool], int] = {}
    for one, two in zip(names, names[1:] + names[:1], strict=True):
        path = topology.path(one, two)
        assert path is not None
        for k, link in enumerate(path):
            way = link, k < len(path) // 2
            ways[way] = ways.get(way, 0) + 1
    each = 2 * (len(nodes) - 1) / len(nodes) * sent  # bytes of a flow
    expected = {
        link: max(ways.get((link, True), 0), ways.get((link, False), 0))
        * each
        / (topology.link_by_name[link].capacity_gbps or 0.0)
        / 125
        for link, _ in ways
    }
    assert filled_us(wiring_of(topology), job) == pytest.approx(expected)


def test_a_job_of_one_node_uses_none() -> None:
    tree = with_figures(fat_tree(1, 2, 4, 400.0), node_gbps=3600)
    assert filled_us(wiring_of(tree), placed(tree, [3], 10**9)) == {}


@pytest.mark.parametrize("sharding", ["none", "optimizer", "parameters"])
def test_sums_of_experts_and_of_all_else_share_the_time_that_is_exposed(sharding: str) -> None:
    tree = with_figures(fat_tree(2, 2, 8, 400.0, 4.0), node_gbps=3600)
    shard = None if sharding == "none" else 16
    shape = JobShape(tp=2, dp=64, ep=8, micro_batches=2, sharding=sharding, shard=shard)
    model = PUBLISHED["mixtral-8x7b"]
    job = ShapedJob(model, ACCELERATORS["h100"], shape, 8)
    mapping = MappingJudge(wiring_of(tree), job)(np.arange(16))
    cluster = job.cluster(tree, mapping.gbps)
    exposed = dict(simulate_step(model, cluster, shape, job.known).exposed)
    busy = job.busy_us(tree, mapping.gbps)
    assert sum(busy) == pytest.approx(sum(exposed.values()))
    assert sum(busy) < mapping.time_us
    if sharding == "none":  # rings of 64 and of 8, by their bytes
        dense, experts = (us * at for us, at in list(zip(busy, mapping.gbps, strict=True))[2:])
        held = model.layers * model.expert_weights / 2 / 8
        rest = model.layers * (model.dense_weights / 2 + 2 * model.hidden)
        rest += 2 * model.embedding_parameters / 2
        assert dense / experts == pytest.approx(rest * 63 / 64 / (held * 7 / 8))
