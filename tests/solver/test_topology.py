"""A cluster as it is wired: paths, what is missing, and regular ones by five numbers."""

from itertools import pairwise

import networkx as nx
import pytest

from solver.clusters.figures import faults_of_missing, missing_figures, with_figures
from solver.clusters.regular import fat_tree, rails
from solver.clusters.topology import ClusterNode, InvalidTopology, Topology, wired

LEVELS = ("node", "leaf", "spine")


def small() -> Topology:
    """Two racks of two nodes, a third rack alone on another spine; c1 and c2 share NVLink."""
    return wired(
        [
            ClusterNode("a1", 8, ("leaf1", "spine1")),
            ClusterNode("a2", 8, ("leaf1", "spine1")),
            ClusterNode("b1", 8, ("leaf2", "spine1")),
            ClusterNode("c1", 4, ("leaf3", "spine2"), "nvl1"),
            ClusterNode("c2", 4, ("leaf3", "spine2"), "nvl1"),
        ],
        LEVELS,
        {"a1>leaf1": 400.0},
    )


def test_paths_go_up_to_where_two_nodes_meet_and_down() -> None:
    topology = small()
    assert topology.path("a1", "a1") == ()
    assert topology.path("a1", "a2") == ("a1>leaf1", "a2>leaf1")
    assert topology.path("a1", "b1") == ("a1>leaf1", "leaf1>spine1", "leaf2>spine1", "b1>leaf2")
    assert topology.path("c1", "c2") == ("c1>nvl1", "c2>nvl1")
    assert topology.path("a1", "c1") is None
    assert topology.meets("a1", "b1") == "spine1"
    assert topology.meets("c1", "c2") == "nvl1"
    assert topology.meets("a1", "c1") is None


def test_links_have_the_level_of_what_is_below() -> None:
    topology = small()
    assert [(link.name, link.level, link.capacity_gbps) for link in topology.links][:4] == [
        ("a1>leaf1", "node", 400.0),
        ("leaf1>spine1", "leaf", None),
        ("a2>leaf1", "node", None),
        ("b1>leaf2", "node", None),
    ]
    assert topology.link_by_name["c1>nvl1"].level == "domain"
    assert topology.gpus == 32


@pytest.mark.parametrize(
    ("one", "two"), [("node1", "node2"), ("node1", "node5"), ("node3", "node24")]
)
def test_paths_of_a_tree_are_those_of_a_graph(one: str, two: str) -> None:
    tree = fat_tree(pods=2, racks=3, nodes=4, node_uplink_gbps=100)
    graph: nx.Graph[str] = nx.Graph()
    for link in tree.links:
        graph.add_edge(*link.name.split(">"))
    hops = nx.shortest_path(graph, one, two)
    path = tree.path(one, two)
    assert path is not None
    assert [set(name.split(">")) for name in path] == [set(pair) for pair in pairwise(hops)]


def test_what_is_missing_is_asked_for_by_name_and_at_once() -> None:
    topology = small()
    assert [(each.name, each.count) for each in missing_figures(topology)] == [
        ("node_gbps", 5),
        ("domain", 2),
        ("node", 4),
        ("leaf", 3),
    ]
    details = [fault.detail for fault in faults_of_missing(topology, "/topology")]
    assert details[2] == (
        "The topology does not say the capacity of 4 links up from level node, such as a2>leaf1: "
        "give `level_gbps` node=GBPS, of all cables of a link together, one way."
    )
    assert details[3].endswith("one way, or `oversubscription` leaf=RATIO.")
    whole = with_figures(
        topology, {"node": 200, "domain": 900}, {"leaf": 2}, node_gbps=3600, hop_us=2.0
    )
    assert missing_figures(whole) == ()
    assert whole.link_by_name["a1>leaf1"].capacity_gbps == 400  # what the file says stays
    assert whole.link_by_name["leaf1>spine1"].capacity_gbps == (400 + 200) / 2
    assert whole.link_by_name["leaf3>spine2"].capacity_gbps == 200  # NVLink is no way up
    assert whole.hop_us == 2


def test_figures_that_are_wrong_are_all_named() -> None:
    with pytest.raises(InvalidTopology) as refused:
        with_figures(small(), {"rack": 1, "node": 0}, {"node": 2}, node_gbps=-1, hop_us=-1)
    assert [fault.pointer for fault in refused.value.faults] == [
        "/level_gbps/rack",
        "/level_gbps/node",
        "/oversubscription/node",
        "/node_gbps",
        "/hop_us",
    ]


@pytest.mark.parametrize(
    ("nodes", "pointer"),
    [
        ([], "/nodes"),
        ([ClusterNode("a", 8, ("l",)), ClusterNode("a", 8, ("l",))], "/nodes/1"),
        ([ClusterNode("a", 0, ("l",))], "/nodes/0/gpus"),
        # a leaf with two spines
        (
            [ClusterNode("a", 1, ("l", "s1")), ClusterNode("b", 1, ("l", "s2"))],
            "/nodes/1/above",
        ),
    ],
)
def test_what_is_no_cluster_is_refused(nodes: list[ClusterNode], pointer: str) -> None:
    with pytest.raises(InvalidTopology) as refused:
        wired(nodes, LEVELS)
    assert [fault.pointer for fault in refused.value.faults] == [pointer]


def test_an_unknown_node_is_named_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(InvalidTopology, match=r"no node 'A1'. Did you mean a1\?"):
        small().path("A1", "a2")


def test_regular_clusters_have_the_capacities_of_their_numbers() -> None:
    tree = fat_tree(pods=2, racks=3, nodes=4, node_uplink_gbps=400, oversubscription=2, gpus=4)
    assert (len(tree.nodes), tree.gpus) == (24, 96)
    assert tree.link_by_name["leaf1-1>spine1"].capacity_gbps == 4 * 400 / 2
    assert tree.link_by_name["spine1>core"].capacity_gbps == 3 * 4 * 400 / 4
    rail = rails(pods=2, nodes=16, cards=8, card_gbps=400, oversubscription=4)
    assert rail.link_by_name["node1>rails1"].capacity_gbps == 3200
    assert rail.link_by_name["rails2>spine"].capacity_gbps == 16 * 3200 / 4
    assert rail.path("node1", "node32") == (
        "node1>rails1",
        "rails1>spine",
        "rails2>spine",
        "node32>rails2",
    )
