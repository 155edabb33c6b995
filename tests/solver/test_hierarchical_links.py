"""Sums that go node by node cross links between nodes as a ring of the nodes does."""

import numpy as np
import pytest

from solver.clusters.beside import PlacedJob, Profiles, mix_of
from solver.clusters.figures import with_figures
from solver.clusters.mapping import MappingJudge
from solver.clusters.regular import fat_tree
from solver.clusters.topology import Topology
from solver.clusters.wiring import wiring_of
from solver.clusters.workloads import DataParallelJob
from solver.costs import Cluster, network_of
from solver.costs.cluster import HIERARCHICAL
from solver.costs.network import ChannelCost
from solver.graph import ALL_REDUCE, COMPUTE, NETWORK, Op, build
from solver.jobs.mix import fair_terms
from solver.jobs.simulate import simulate_mix

SIZE = 1_000_000_000


@pytest.mark.parametrize(("workers", "node_workers", "passes"), [(16, 8, 1.0), (32, 8, 1.5)])
def test_bytes_cross_links_as_often_as_a_ring_of_the_nodes(
    workers: int, node_workers: int, passes: float
) -> None:
    cluster = Cluster(
        workers,
        80.0,
        algorithm=HIERARCHICAL,
        node_workers=node_workers,
        node_bandwidth_gbps=3600.0,
        links=(("up", 80.0),),
        path=("up",),
    )
    assert network_of(cluster).passes(ChannelCost(NETWORK, ALL_REDUCE)) == pytest.approx(passes)


def crossing(slots: int) -> tuple[Topology, tuple[PlacedJob, ...]]:
    """Return two racks of nodes of 8 GPUs, and two equal jobs that cross their uplinks."""
    topology = with_figures(fat_tree(1, 2, 4, 80.0, 4.0, gpus=8), node_gbps=3600)
    ops = [Op("c", COMPUTE, 10_000.0), Op("s", ALL_REDUCE, None, SIZE, ("c",))]
    job = DataParallelJob(build("one sum", ops), slots, 8, "wfbp")
    judge = MappingJudge(wiring_of(topology), job)
    half = slots // 2
    nodes = [[*range(i, i + half), *range(i + 4, i + 4 + half)] for i in (0, 2)]
    return topology, tuple(
        PlacedJob(name, job, judge(np.array(on))) for name, on in zip("ab", nodes, strict=True)
    )


@pytest.mark.parametrize("slots", [2, 4])
def test_a_job_alone_takes_what_its_step_takes_and_two_share_an_uplink(slots: int) -> None:
    topology, jobs = crossing(slots)
    mix = mix_of(wiring_of(topology), Profiles(topology), jobs)
    step_us = jobs[0].mapping.time_us
    assert mix.jobs[0].alone_us == pytest.approx(step_us)
    # an uplink of 80 Gbit/s, 10,000 bytes a us, has the ring of the nodes of either job
    crossed = 2 * (slots - 1) / slots * SIZE
    run = simulate_mix(mix, fair_terms(mix))
    assert run.means == pytest.approx([10_000.0 + 2 * crossed / 10_000] * 2)
