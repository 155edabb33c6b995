"""Sums that go node by node cross links between nodes as a ring of the nodes does."""

import pytest

from solver.clusters.allocation import AllocationOptions, allocate
from solver.clusters.beside import PlacedJob, Profiles, links_of
from solver.clusters.figures import with_figures
from solver.clusters.mapping import MappingJudge
from solver.clusters.topology import ClusterNode, Topology, wired
from solver.clusters.wiring import wiring_of
from solver.clusters.workloads import DataParallelJob
from solver.costs import Cluster, network_of
from solver.costs.cluster import HIERARCHICAL
from solver.costs.cost import ChannelCost
from solver.graph import ALL_REDUCE, NETWORK


@pytest.mark.parametrize(("workers", "node_workers", "passes"), [(16, 8, 1.0), (32, 8, 1.5)])
def test_bytes_cross_links_as_often_as_a_ring_of_the_nodes(workers, node_workers, passes) -> None:
    cluster = Cluster(
        workers,
        80.0,
        algorithm=HIERARCHICAL,
        node_workers=node_workers,
        node_bandwidth_gbps=3600.0,
        links=(("up", 80.0),),
        path=("up",),
    )
    network = network_of(cluster)
    assert network.passes(ChannelCost(NETWORK, ALL_REDUCE)) == pytest.approx(passes)
