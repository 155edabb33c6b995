"""Topologies as schedulers have them: Slurm's files, Kubernetes' labels, Volcano's HyperNodes."""

from typing import Any

import pytest

from solver.clusters.readers import topology_of_document, topology_of_text
from solver.clusters.readers.hostlist import hosts
from solver.clusters.topology import InvalidTopology

TREE = """\
# two racks under a spine
SwitchName=leaf1 Nodes=gpu[01-02] LinkSpeed=400
switchname=leaf2 nodes=gpu03,gpu04
SwitchName=spine Switches=leaf[1-2]
"""
BLOCKS = """\
BlockName=nvl1 Nodes=gpu[1-2]
BlockName=nvl2 Nodes=gpu[3-4]
BlockSizes=2,4
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("gpu[08-10],login1", ("gpu08", "gpu09", "gpu10", "login1")),
        ("r[1-2]n[1,3]", ("r1n1", "r1n3", "r2n1", "r2n3")),
        ("a, b", ("a", "b")),
        ("", ()),
    ],
)
def test_host_lists(text: str, names: tuple[str, ...]) -> None:
    assert hosts(text) == names


@pytest.mark.parametrize(
    "text", ["a[1-2", "a b", "a=b", '"a"', "a]", "a[2-1]", "a[x]", "a[1-200000]"]
)
def test_host_lists_that_are_none(text: str) -> None:
    with pytest.raises(InvalidTopology):
        hosts(text)


def test_topology_conf() -> None:
    topology = topology_of_text(TREE, gpus=4)
    assert [(node.name, node.gpus, node.above) for node in topology.nodes] == [
        ("gpu01", 4, ("leaf1", "spine")),
        ("gpu02", 4, ("leaf1", "spine")),
        ("gpu03", 4, ("leaf2", "spine")),
        ("gpu04", 4, ("leaf2", "spine")),
    ]
    assert topology.levels == ("node", "leaf", "spine")


def test_blocks_are_nvlink_domains() -> None:
    topology = topology_of_text(BLOCKS)
    assert topology.path("gpu1", "gpu2") == ("gpu1>nvl1", "gpu2>nvl1")
    assert topology.path("gpu1", "gpu3") == ("gpu1>network", "gpu3>network")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [""]),
        ("NodeName=a\nSwitchName=s Nodes=a[1", ["/lines/1", "/lines/2"]),
        ("SwitchName=s Nodes=a\nSwitchName=s Nodes=b", ["/lines/2"]),
        ("SwitchName=s Switches=t", ["/lines/1"]),
        # above themselves: the switches of the round alone, and peers by the first
        ("SwitchName=s Switches=t\nSwitchName=t Switches=s", ["/lines/1"]),
        ("SwitchName=s Nodes=a\nSwitchName=t Switches=s,t", ["/lines/2"]),
        (
            "SwitchName=s Switches=t\nSwitchName=t Switches=u\nSwitchName=u Switches=s",
            ["/lines/1", "/lines/2", "/lines/3"],
        ),
        ("SwitchName=s Nodes=a\nSwitchName=t Nodes=a", ["/lines/2"]),
        (
            "SwitchName=s Nodes=a\nSwitchName=t Switches=s\nSwitchName=u Switches=s",
            ["/lines/3"],
        ),
        ("hello", ["/lines/1"]),
        # lines that a backslash joins count, and are named by their first
        ("SwitchName=s \\\n Nodes=a \\\n LinkSpeed=1\nhello", ["/lines/4"]),
        ("SwitchName=s Nodes=a\nSwitchName=t \\\n Nodes=b[", ["/lines/2"]),
        # what is no field is not passed over: a space in a host list, nodes below nothing
        ("SwitchName=s Nodes=a, b", ["/lines/1"]),
        ("SwitchName=s Nodes=a Nodes=b", ["/lines/1"]),
        ("SwitchName=s Nodes=a\nNodes=b", ["/lines/2"]),
        ("SwitchName=s Nodes= LinkSpeed=4", ["/lines/1"]),
        # nothing is below any switch, or in any block
        ("SwitchName=s\nSwitchName=t Switches=s\nSwitchName=u", ["/lines/1", "/lines/3"]),
        ("BlockName=a\nBlockName=b", ["/lines/1", "/lines/2"]),
    ],
)
def test_files_that_are_wrong(text: str, places: list[str]) -> None:
    with pytest.raises(InvalidTopology) as refused:
        topology_of_text(text)
    assert [fault.pointer for fault in refused.value.faults] == places


def test_topology_yaml() -> None:
    tree = {
        "topology": "t",
        "cluster_default": True,
        "tree": {
            "switches": [
                {"switch": "root", "children": "s[1-2]"},
                {"switch": "s1", "nodes": "n[1-2]"},
                {"switch": "s2", "nodes": "n[3-4]"},
            ]
        },
    }
    block = {
        "topology": "b",
        "block": {"block_sizes": [2], "blocks": [{"block": "b1", "nodes": "n[1-2]"}]},
    }
    topology = topology_of_document([tree, block])
    assert topology.node("n3").above == ("s2", "root")
    assert (topology.node("n1").domain, topology.node("n3").domain) == ("b1", None)
    assert topology_of_document([block]).node("n1").above == ("network",)
    with pytest.raises(InvalidTopology, match="give a tree or blocks") as refused:
        topology_of_document([{"topology": "f", "flat": True}])
    assert [fault.pointer for fault in refused.value.faults] == ["/0/flat"]


def test_lines_that_a_backslash_continues() -> None:
    for end in ("\n", "\r\n"):
        text = f"SwitchName=s \\{end}  Nodes=a,b \\"
        assert [node.name for node in topology_of_text(text).nodes] == ["a", "b"]


def test_a_host_list_that_a_backslash_continues_and_quotes() -> None:
    text = 'SwitchName=s Nodes=a,\\\nb\nSwitchName=t Nodes="c,d"\n'
    assert [node.name for node in topology_of_text(text).nodes] == ["a", "b", "c", "d"]


def test_what_scontrol_prints_of_switches_is_read_as_the_file() -> None:
    printed = (
        "SwitchName=s Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
        "SwitchName=t Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
        "SwitchName=u Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s,t\n"
    )
    file = "SwitchName=s Nodes=n[1-2]\nSwitchName=t Nodes=n[3-4]\nSwitchName=u Switches=s,t\n"
    assert topology_of_text(printed) == topology_of_text(file)


def test_a_switch_without_nodes_beside_others_is_left() -> None:
    topology = topology_of_text("SwitchName=s\nSwitchName=t Nodes=a\nSwitchName=u Switches=s,t")
    assert topology.node("a").above == ("t", "u")


def test_topographs_labels() -> None:
    prefix = "network.topology.nvidia.com/"
    items = [
        {
            "metadata": {
                "name": f"n{i}",
                "labels": {
                    f"{prefix}accelerator": f"nvl{i // 2}",
                    f"{prefix}leaf": f"l{i // 2}",
                    f"{prefix}spine": "s",
                },
            },
            "status": {"allocatable": {"nvidia.com/gpu": "4"}},
        }
        for i in range(4)
    ]
    topology = topology_of_document({"kind": "NodeList", "items": items})
    assert topology.levels == ("node", "leaf", "spine")
    assert topology.node("n2").above == ("s/l1", "s")
    assert topology.node("n2").domain == "nvl1"
    assert topology.gpus == 16


def test_levels_of_kueue_and_zones() -> None:
    label = "cloud.provider.com/topology-"
    items = [
        {"metadata": {"name": f"n{i}", "labels": {f"{label}rack": "r1", f"{label}block": f"b{i}"}}}
        for i in range(2)
    ]
    topology = topology_of_document({"items": items}, gpus=2)
    assert topology.levels == ("node", "rack", "block")
    assert topology.node("n0").above == ("b0/r1", "b0")  # racks of one name in two blocks
    assert topology.path("n0", "n1") is None
    zone = {"metadata": {"name": "z", "labels": {"topology.kubernetes.io/zone": "a"}}}
    assert topology_of_document({"items": [zone]}).node("z").above == ("a", "network")
    with pytest.raises(InvalidTopology):
        topology_of_document({"items": [{"metadata": {"name": "z"}}]})
    with pytest.raises(InvalidTopology):
        topology_of_document({"no": "items"})


@pytest.mark.parametrize("counted", ["many", "-1", "8.5", 2.5, True, [8], ""])
def test_gpus_that_are_no_count(counted: Any) -> None:
    zone = {"topology.kubernetes.io/zone": "a"}
    node = {"kind": "Node", "metadata": {"name": "n", "labels": zone}}
    node |= {"status": {"allocatable": {"nvidia.com/gpu": counted}}}
    with pytest.raises(InvalidTopology, match="must be a whole number") as refused:
        topology_of_document({"items": [node]})
    places = [fault.pointer for fault in refused.value.faults]
    assert places == ["/items/0/status/allocatable/nvidia.com~1gpu"]


@pytest.mark.parametrize(
    ("node", "place"),
    [
        ({"metadata": 5}, "/metadata"),
        ({"metadata": {"labels": ["a"]}}, "/metadata/labels"),
        ({"metadata": {"labels": {"topology.kubernetes.io/zone": 5}}}, ""),
        ({"metadata": {"name": 5}}, ""),
        ({"status": {"allocatable": 8}}, "/status/allocatable"),
    ],
)
def test_nodes_that_are_not_those_of_kubernetes(node: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidTopology) as refused:
        topology_of_document({"items": [{"metadata": {"name": "a"}}, node]})
    assert [fault.pointer for fault in refused.value.faults] == [f"/items/1{place}"]


def hyper(name: str, *members: Any) -> dict[str, Any]:
    members_of = {"members": list(members)}
    return {"kind": "HyperNode", "metadata": {"name": name}, "spec": members_of}


def member(selector: Any, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": selector}


#: Nodes with labels, and the HyperNodes beside them.
LABELLED = [
    {"kind": "Node", "metadata": {"name": name, "labels": labels}}
    for name, labels in (
        ("a1", {"rack": "r1", "gpu": "h100"}),
        ("a2", {"rack": "r2", "gpu": "h100"}),
        ("b1", {"rack": "r2"}),
    )
]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({"matchLabels": {"rack": "r2"}}, ["a2", "b1"]),
        ({"matchLabels": {"rack": "r2", "gpu": "h100"}}, ["a2"]),
        ({}, ["a1", "a2", "b1"]),
        ([{"key": "rack", "operator": "In", "values": ["r1", "r3"]}], ["a1"]),
        ([{"key": "gpu", "operator": "NotIn", "values": ["a100"]}], ["a1", "a2", "b1"]),
        ([{"key": "gpu", "operator": "Exists"}], ["a1", "a2"]),
        ([{"key": "gpu", "operator": "DoesNotExist"}], ["b1"]),
        (
            [
                {"key": "gpu", "operator": "Exists"},
                {"key": "rack", "operator": "NotIn", "values": ["r1"]},
            ],
            ["a2"],
        ),
    ],
)
def test_members_that_labels_tell(selector: Any, names: list[str]) -> None:
    told = {"matchExpressions": selector} if isinstance(selector, list) else selector
    topology = topology_of_document(
        {"items": [*LABELLED, hyper("s", member({"labelMatch": told}))]}
    )
    assert [node.name for node in topology.nodes] == names
    assert {node.above for node in topology.nodes} == {("s",)}


@pytest.mark.parametrize(
    ("wrong", "place", "said"),
    [
        (5, "", "A member must be an object, got 5"),
        ({"selector": "a1"}, "/selector", "must be an object"),
        (member({}), "/selector", "got none"),
        (
            member({"exactMatch": {"name": "a1"}, "labelMatch": {}}),
            "/selector",
            "got exactMatch and labelMatch",
        ),
        (member({"exactMatch": {}}), "/selector/exactMatch/name", "got null"),
        (member({"exactMatch": ["a1"]}), "/selector/exactMatch", "got 1 items"),
        (
            member({"regexMatch": {"pattern": "a["}}),
            "/selector/regexMatch/pattern",
            "'a[' is no regular expression",
        ),
        (member({"regexMatch": {"pattern": 5}}), "/selector/regexMatch/pattern", "got 5"),
        (
            member({"regexMatch": {"pattern": "(?=a)b"}}),  # Go has none either
            "/selector/regexMatch/pattern",
            "look-around",
        ),
        (
            member({"regexMatch": {"pattern": "(a{999}){999}"}}),
            "/selector/regexMatch/pattern",
            "exceeds size limit",
        ),
        (
            member({"regexMatch": {"pattern": "a" * 1001}}),
            "/selector/regexMatch/pattern",
            "at most 1,000 characters, got 1,001",
        ),
        (
            member({"regexMatch": {"pattern": "s"}}, "HyperNode"),
            "/selector/regexMatch",
            "named by exactMatch",
        ),
        (
            member({"labelMatch": {"matchLabels": {"rack": 1}}}),
            "/selector/labelMatch/matchLabels/rack",
            "a string, got 1",
        ),
        (
            member({"labelMatch": {"matchExpressions": [{"key": "rack", "operator": "in"}]}}),
            "/selector/labelMatch/matchExpressions/0/operator",
            "Did you mean In?",
        ),
        (
            member({"labelMatch": {"matchExpressions": [{"key": "rack", "operator": "In"}]}}),
            "/selector/labelMatch/matchExpressions/0/values",
            "one or more",
        ),
        (
            member({"labelMatch": {"matchExpressions": [{"operator": "Exists"}]}}),
            "/selector/labelMatch/matchExpressions/0/key",
            "got null",
        ),
        (
            member({"labelMatch": {"matchExpressions": {"key": "rack"}}}),
            "/selector/labelMatch/matchExpressions",
            "a list",
        ),
    ],
)
def test_members_that_are_wrong(wrong: Any, place: str, said: str) -> None:
    right = member({"exactMatch": {"name": "a1"}})
    with pytest.raises(InvalidTopology) as refused:
        topology_of_document({"items": [*LABELLED, hyper("s", right, wrong)]})
    (fault,) = refused.value.faults
    assert fault.pointer == f"/items/3/spec/members/1{place}"
    assert said in fault.detail


def test_expressions_without_nodes_ask_for_them() -> None:
    ways: list[dict[str, Any]] = [{"regexMatch": {"pattern": "a"}}, {"labelMatch": {}}]
    for way in ways:
        with pytest.raises(InvalidTopology, match="kubectl get nodes,hypernodes"):
            topology_of_document({"items": [hyper("s", member(way))]})


def test_expressions_take_no_time_that_grows_with_what_could_be_tried() -> None:
    """What tries all ways to part the name ends after some 2^60 of them."""
    document = {
        "items": [
            {"kind": "Node", "metadata": {"name": "a" * 60}},
            hyper("s0", member({"exactMatch": {"name": "a" * 60}})),
            hyper("s1", member({"regexMatch": {"pattern": "(a+)+b|(a|a)*b|(a*)*$b"}})),
        ]
    }
    (node,) = topology_of_document(document).nodes
    assert node.above[0] == "s0"


def test_hypernodes() -> None:
    exact = {"type": "Node", "selector": {"exactMatch": {"name": "a1"}}}
    regex = {"type": "Node", "selector": {"regexMatch": {"pattern": "^b"}}}
    inner = [
        {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in ("s0", "s1")
    ]
    nodes: list[dict[str, Any]] = [
        {"kind": "Node", "metadata": {"name": name}} for name in ("a1", "b1", "b2")
    ]
    nodes[1]["status"] = {"allocatable": {"nvidia.com/gpu": "4"}}
    document = {"items": [*nodes, hyper("s0", exact), hyper("s1", regex), hyper("s2", *inner)]}
    topology = topology_of_document(document)
    assert [(node.name, node.gpus) for node in topology.nodes] == [("a1", 8), ("b1", 4), ("b2", 8)]
    assert topology.path("a1", "b2") == ("a1>s0", "s0>s2", "s1>s2", "b2>s1")
    nodes[1]["status"] = {"allocatable": {"nvidia.com/gpu": "0"}}  # left out, as by labels
    assert [node.name for node in topology_of_document(document).nodes] == ["a1", "b2"]


@pytest.mark.parametrize(
    ("form", "entries", "place"),
    [
        ("tree", None, "/0/tree/switches"),
        ("tree", [], "/0/tree/switches"),
        ("tree", [{"switch": "leaf"}], "/0/tree/switches/0"),
        ("tree", [{"nodes": "n[1-2]"}], "/0/tree/switches/0"),
        ("tree", ["leaf"], "/0/tree/switches/0"),
        ("tree", [{"switch": "leaf", "nodes": ["n1", "n2"]}], "/0/tree/switches/0"),
        ("tree", [{"switch": "leaf", "nodes": "n[1-"}], "/0/tree/switches/0"),
        ("block", None, "/0/block/blocks"),
        ("block", [], "/0/block/blocks"),
        ("block", [{"block": "b", "nodes": "n1"}, {"nodes": "n2"}], "/0/block/blocks/1"),
    ],
)
def test_topology_yaml_that_lacks_what_it_needs(form: str, entries: Any, place: str) -> None:
    key = {"tree": "switches", "block": "blocks"}[form]
    with pytest.raises(InvalidTopology) as caught:
        topology_of_document([{"topology": "t", form: {key: entries}}])
    assert [fault.pointer for fault in caught.value.faults] == [place]


def test_a_switch_whose_name_is_a_number_is_called_by_its_text() -> None:
    found = topology_of_document(
        [{"topology": "t", "tree": {"switches": [{"switch": 1, "nodes": "n1"}]}}]
    )
    assert found.nodes[0].above == ("1",)
