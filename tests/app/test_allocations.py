"""Allocations as they are asked for: in Python, by the command, and from a service."""

import json
from pathlib import Path
from typing import Any

import pytest

import interlace
from app.calls.allocations import ranking
from app.cli.rendering.allocations import folded, render
from app.routers.allocations import EXAMPLE
from app.schemas.allocations import AllocationAnswer
from solver.errors import InterlaceError
from tests.app.command import Run
from tests.app.service import Service

CONF = Path(__file__).parent.parent / "data/topologies/topology.conf"
FIGURES: dict[str, Any] = {
    "node_gbps": 3600,
    "level_gbps": {"node": 400},
    "oversubscription": {"leaf": 16, "spine": 2},
}
TWO: dict[str, Any] = {"compute_us": 80_000, "gradient_bytes": 2_000_000_000}
FLAGS = (
    *("--node-gbps", "3600", "--level-gbps", "node=400"),
    *("--oversubscription", "leaf=16,spine=2", "--compute-us", "80000"),
    *("--gradient-bytes", "2000000000"),
)


def request(**fields: Any) -> dict[str, Any]:
    topology = {"slurm": CONF.read_text(encoding="utf-8"), **FIGURES}
    return {"topology": topology, "job": {"nodes": 8, **TWO}, **fields}


@pytest.mark.parametrize("op", [{}, {"kind": "x"}])
def test_an_op_of_no_known_kind_is_said(op: dict[str, Any]) -> None:
    """A graph is one of several types of that field: pydantic names the type in the place."""
    job = {"graph": {"name": "g", "ops": [op]}}
    with pytest.raises(InterlaceError) as found:
        interlace.allocate({"topology": {"nodes": []}, "job": job})
    assert "Job: graph/ops/0/kind" in str(found.value)


def test_what_is_found_is_never_worse_than_a_rule_and_never_below_the_bound() -> None:
    free = [f"gpu{i:02}" for i in (1, 2, 3, 17, 18, 19, 33, 34, 35, 36, 37, 49, 50)]
    answer = interlace.allocate(request(free=free))
    best = answer.best[0]
    assert answer.lower_bound_us <= best.alone_us
    assert all(rule.alone_us is None or best.alone_us <= rule.alone_us for rule in answer.rules)
    assert set(best.nodes) <= set(free)
    assert len(set(best.nodes)) == 8
    assert [row.objective for row in answer.best] == sorted(row.objective for row in answer.best)
    again = interlace.allocate(request(free=free))
    assert answer.model_dump_json() == again.model_dump_json()


#: A job that runs in two racks, and two sets: one across the same uplinks, one across others.
ON = [f"gpu{i:02}" for i in (1, 2, 3, 17, 18, 19)]
RUNNING = [{"name": "llm", "on": ON, "compute_us": 60_000, "gradient_bytes": 4_000_000_000}]
SETS = [
    [f"gpu{i:02}" for i in (9, 10, 11, 12, 25, 26, 27, 28)],
    [f"gpu{i:02}" for i in (33, 34, 35, 36, 49, 50, 51, 52)],
]


def test_a_job_that_runs_is_stepped_around() -> None:
    """Of two sets that cross racks as often, the one that shares no link is first."""
    answer = interlace.allocate(request(running=RUNNING, candidates=SETS))
    assert [row.candidate for row in answer.best] == [1, 0]
    shares = answer.best[1]
    assert {link.link for link in shares.shared} == {"rack1>spine1", "rack2>spine1"}
    assert shares.evidence == "simulated"
    assert shares.jobs[1].slowdown > 1.05
    assert "llm takes" in shares.why
    assert answer.best[0].evidence == "alone"
    estimated = interlace.allocate(request(running=RUNNING, candidates=SETS, simulated=0))
    assert [row.candidate for row in estimated.best] == [1, 0]
    assert estimated.best[1].evidence == "estimated"
    assert (answer.trust_below, answer.undecided) == (None, 0)
    assert estimated.trust_below == 0.15
    for objective in ("worst", "weighted", "money"):
        found = interlace.allocate(request(running=RUNNING, candidates=SETS, objective=objective))
        assert found.best[0].candidate == 1
        assert found.best[0].objective <= found.best[1].objective


def test_the_cluster_comes_with_the_use_of_links_where_it_is_asked_for() -> None:
    """llm sends 4 GB in ten sixths over each rack's uplink of 400 Gbit/s, beside 60 ms."""
    asked = request(running=RUNNING, candidates=SETS)
    plain = interlace.allocate(asked)
    assert plain.cluster is None
    assert all(row.links is None for row in plain.best)
    answer = interlace.allocate(asked | {"has_cluster": True})
    cluster, (apart, shares) = answer.cluster, answer.best
    assert cluster is not None
    alone = shares.jobs[1].alone_us
    uplink = next(link for link in cluster.links if link.name == "rack1>spine1")
    assert uplink.capacity_gbps == 400
    assert uplink.use == pytest.approx(4e9 * 10 / 6 / 50_000 / alone, rel=1e-6)
    changed = {link.link: link for link in shares.links or ()}
    assert changed["rack1>spine1"].before == uplink.use
    assert uplink.use < changed["rack1>spine1"].use <= 1 + 1e-9
    assert "rack3>spine2" not in changed
    assert {link.link for link in apart.links or ()} >= {"rack3>spine2", "gpu33>rack3"}
    assert "rack1>spine1" not in {link.link for link in apart.links or ()}
    assert [job.before for job in shares.jobs] == [None, 1.0]
    known = {switch.name: switch for switch in cluster.switches}
    assert known["rack2"].above == "spine1"
    assert (known["rack2"].level, len(known["rack2"].nodes)) == ("leaf", 16)
    first = cluster.nodes[0]
    assert (first.jobs, first.is_free) == (["llm"], False)
    assert {node.name for node in cluster.nodes if node.is_free} == {*SETS[0], *SETS[1]}


def test_sets_that_estimates_do_not_tell_apart_are_counted() -> None:
    """Both sets share the uplinks: until both are simulated the second may be better."""
    on = [f"gpu{i:02}" for i in (1, 2, 3, 17, 18, 19)]
    running = [{"name": "llm", "on": on, "compute_us": 60_000, "gradient_bytes": 4_000_000_000}]
    sets = [[f"gpu{i + k:02}" for i in (9, 10, 25, 26)] for k in (0, 2)]
    fields = {"running": running, "candidates": sets, "job": {"nodes": 4, **TWO}}
    found = {n: interlace.allocate(request() | fields | {"simulated": n}) for n in (0, 1, 2)}
    assert [found[n].undecided for n in (0, 1, 2)] == [1, 1, 0]
    assert [found[n].trust_below for n in (0, 1, 2)] == [0.15, 0.15, None]
    for objective in ("worst", "weighted", "money"):
        asked = request() | fields | {"simulated": 0, "objective": objective}
        assert interlace.allocate(asked).undecided == 1


def test_hundreds_of_sets_in_one_request() -> None:
    sets = [[f"gpu{1 + (i + k) % 64:02}" for k in range(8)] for i in range(64)]
    answer = interlace.allocate(request(candidates=sets * 3, count=1000))
    assert answer.sets == 64
    assert answer.best[0].alone_us <= answer.best[-1].alone_us


def test_a_search_of_a_large_cluster_is_bounded_by_its_work_and_says_so() -> None:
    """Of 4,000 racks with room as many are tried as the work allows; moves beyond are cut."""
    topology = {
        "fat_tree": {"pods": 4_000, "racks": 1, "nodes": 2, "node_uplink_gbps": 400},
        "node_gbps": 3600,
    }
    asked = {"topology": topology, "job": {"nodes": 2, **TWO}, "count": 2_000, "moves": 100_000}
    answer = interlace.allocate(asked)
    # 200,000,000 / 8,000 mappings, a quarter of them below switches, twelve for each
    assert answer.sets == 200_000_000 // 8_000 // 4 // 12 + 1
    assert any("75,000 of them were not allowed" in note for note in answer.notes)
    left_out = 2 * 4_000 + 1 - (answer.sets - 1)
    assert any(f"{left_out:,} with room for the job were left out" in note for note in answer.notes)
    assert not any("too large" in note for note in interlace.allocate(request()).notes)


def test_shapes_are_mapped_by_their_groups() -> None:
    job = {
        "model": "llama3-8b",
        "gpu": "h100",
        "shape": {"tp": 8, "pp": 2, "dp": 4, "micro_batches": 4},
    }
    answer = interlace.allocate(request() | {"job": job})
    best = answer.best[0]
    assert len(best.nodes) == 8
    assert "data at" in best.why
    assert any("assumed" in note for note in answer.notes)
    running = [{"name": "s", "on": best.nodes, **job}]
    beside = interlace.allocate(request(running=running) | {"job": job})
    assert set(beside.best[0].nodes).isdisjoint(best.nodes)


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        # what the topology lacks, all at once
        (
            {"topology": {"slurm": "SwitchName=s Nodes=a[1-9]"}},
            ["/topology/node_gbps", "/topology/level_gbps/node"],
        ),
        # racks that nothing joins, each with too few nodes
        (
            {
                "topology": {
                    "slurm": "SwitchName=s Nodes=a[1-4]\nSwitchName=t Nodes=b[1-4]",
                    "node_gbps": 3600,
                    "level_gbps": {"node": 400},
                }
            },
            ["/topology"],
        ),
        ({"topology": {}}, ["/topology"]),
        ({"topology": {"slurm": "SwitchName=s Nodes=a["}}, ["/topology/slurm/lines/1"]),
        ({"job": {"nodes": 2}}, ["/job"]),
        ({"job": {"nodes": 2, "compute_us": 5.0}}, ["/job/gradient_bytes"]),
        ({"job": dict(TWO)}, ["/job/nodes"]),
        ({"job": {"nodes": 2, "graph": "vgg17"}}, ["/job/graph"]),
        ({"job": {"shape": {"dp": 8}}}, ["/job/model", "/job/gpu"]),
        ({"job": {"nodes": 65, **TWO}}, ["/job/nodes"]),
        ({"job": {"nodes": 65, **TWO}, "free": ["gpu01"]}, ["/free"]),
        ({"job": {"nodes": 2, "gpus_per_node": 9, **TWO}}, ["/job/gpus_per_node"]),
        (
            {
                "job": {
                    "model": "llama3-8b",
                    "gpu": "h100",
                    "shape": {"tp": 8, "dp": 65, "micro_batches": 1},
                }
            },
            ["/job/shape"],
        ),
        ({"candidates": [["gpu01", "gpu99", "gpu01"]]}, ["/candidates/0/1", "/candidates/0/2"]),
        ({"candidates": [["gpu01"]]}, ["/candidates/0"]),
        (
            {"running": [{"name": "a", "on": ["gpu01"], "gpus_per_node": 4, **TWO}] * 2},
            ["/running/1/name"],
        ),
        # 12 GPUs of a node that has 8; a free node whose GPUs another job keeps
        (
            {
                "running": [
                    {"name": "a", "on": ["gpu01"], "gpus_per_node": 4, **TWO},
                    {"name": "b", "on": ["gpu01"], "gpus_per_node": 8, **TWO},
                ]
            },
            ["/running/1/on"],
        ),
        (
            {
                "job": {"nodes": 1, **TWO},
                "free": ["gpu01"],
                "running": [{"name": "a", "on": ["gpu01"], "gpus_per_node": 1, **TWO}],
            },
            ["/free"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(change: dict[str, Any], pointers: list[str]) -> None:
    with pytest.raises(InterlaceError) as refused:
        interlace.allocate(request() | change)
    assert [fault.pointer for fault in refused.value.faults] == pointers


@pytest.mark.parametrize(
    ("graph", "faults"),
    [
        (
            {"ops": [{"id": "a", "kind": "compute", "duration_us": -1}]},
            {"/ops/0/duration_us": "must be 0 to 8.64e+12, got -1."},
        ),
        ({}, {"/ops": "graph/ops is missing."}),
        ({"ops": 5}, {"/ops": "must be a list, got 5."}),
        (
            {"opps": []},
            {"/ops": "is missing.", "/opps": "is not a known field. Did you mean ops?"},
        ),
        ({"ops": [], "constrained-str": 1}, {"/constrained-str": "is not a known field."}),
        (5, {"": "Job: graph must be a string or an object, got 5."}),
        ([], {"": "must be a string or an object, got 0 items."}),
        ("", {"": "must be 1 to 512 characters"}),
    ],
)
def test_a_graph_that_is_wrong_has_the_faults_of_what_was_meant(
    graph: Any, faults: dict[str, str]
) -> None:
    """A graph or an example's name may stand there: what was not tried is not said."""
    with pytest.raises(InterlaceError) as refused:
        interlace.allocate(request() | {"job": {"nodes": 2, "graph": graph}})
    assert [fault.pointer for fault in refused.value.faults] == [f"/job/graph{at}" for at in faults]
    for fault, said in zip(refused.value.faults, faults.values(), strict=True):
        assert said in fault.detail


def test_the_rules_of_an_object_are_said_where_a_name_may_stand() -> None:
    job = {"model": {"layers": 0}, "gpu": "h100", "shape": {"dp": 8}}
    with pytest.raises(InterlaceError) as refused:
        interlace.allocate(request() | {"job": job})
    first = refused.value.faults[0]
    assert (first.pointer, first.detail) == (
        "/job/model/layers",
        "Job: model/layers must be 1 to 10,000, got 0.",
    )


def test_a_job_that_no_switch_joins_is_told_how_many_one_does() -> None:
    forest = "SwitchName=s Nodes=a[1-3]\nSwitchName=t Nodes=b[1-2]"
    topology = {"slurm": forest, "node_gbps": 3600, "level_gbps": {"node": 400}}
    with pytest.raises(InterlaceError, match="needs 4 nodes; the topology joins at most 3 that"):
        interlace.allocate({"topology": topology, "job": {"nodes": 4, **TWO}})


def test_topologies_of_all_forms() -> None:
    nodes = [{"name": f"n{i}", "above": [f"leaf{i // 4}", "spine"]} for i in range(8)]
    over = {"oversubscription": {"leaf": 2}}
    for topology in (
        {"nodes": nodes, "links": {"leaf0>spine": 100}, **FIGURES, **over},
        {"fat_tree": {"racks": 2, "nodes": 4, "node_uplink_gbps": 400}, "node_gbps": 3600},
        {"rails": {"nodes": 8, "cards": 8, "card_gbps": 400}, "node_gbps": 3600},
        {
            "document": [
                {"topology": "t", "block": {"blocks": [{"block": "b", "nodes": "n[0-7]"}]}}
            ],
            "node_gbps": 7200,
            "level_gbps": {"node": 400, "domain": 7200},
        },
    ):
        answer = interlace.allocate({"topology": topology, "job": {"nodes": 4, **TWO}})
        assert len(answer.best[0].nodes) == 4


def test_the_call_answers_as_python_does() -> None:
    answered = ranking(None, json.dumps(EXAMPLE).encode())
    assert ranking(None, json.dumps(EXAMPLE).encode()).content is answered.content
    assert AllocationAnswer.model_validate_json(answered.content) == interlace.allocate(EXAMPLE)


def test_the_cluster_is_printed_with_the_use_of_its_links() -> None:
    lines = render(interlace.allocate(EXAMPLE | {"has_cluster": True})).splitlines()
    found = [line.split() for line in lines if line.split()[:1] in (["leaf1"], ["leaf2"])]
    # 20 of 63 ms before; then 20 of 65 ms, and 60 of 130 ms of the new job
    expected = ["leaf1", "400", "32%", "77%", "3", "new", "1", "busy"]
    assert found == [expected, ["leaf2", *expected[1:4], "1", "new", "1", "busy", "2", "free"]]


def test_names_are_folded_in_their_order() -> None:
    assert folded(["gpu08", "gpu09", "gpu10", "gpu3", "login"]) == "gpu[08-10],gpu3,login"


def test_the_command_answers_as_python_does(run: Run) -> None:
    done = run("allocate", str(CONF), "--nodes", "8", *FLAGS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert AllocationAnswer.model_validate_json(done.stdout) == interlace.allocate(request())


def test_a_page_of_the_command(tmp_path: Path, run: Run) -> None:
    sets = tmp_path / "sets.txt"
    sets.write_text("gpu[01-08]\ngpu[13-20]\n")
    running = tmp_path / "running.json"
    running.write_text(json.dumps([{"name": "llm", "on": "gpu09,gpu21", **TWO}]))
    done = run(
        *("allocate", str(CONF), "--nodes", "8", *FLAGS),
        *("--candidates", str(sets), "--running", str(running)),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu[01-08]" in done.stdout
    assert "Rules of today, alone:" in done.stdout


def test_what_a_file_lacks_is_asked_for_by_name(run: Run) -> None:
    done = run("allocate", str(CONF), "--nodes", "8", "--compute-us", "80000")
    assert done.returncode == 1
    told = [
        ("--node-gbps: ", "give --node-gbps, of a GPU"),
        ("--level-gbps /node: ", "give --level-gbps node=GBPS"),
        ("--level-gbps /leaf: ", "or --oversubscription leaf=RATIO"),
        ("--level-gbps /spine: ", "or --oversubscription spine=RATIO"),
    ]
    for line, (begins, asks) in zip(done.stderr.splitlines(), told, strict=True):
        assert line.startswith(f"interlace: {begins}")
        assert asks in line
    job = run("allocate", str(CONF), *FLAGS)
    assert job.stderr.startswith("interlace: --nodes: A job without a shape needs nodes")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--nodes", "65"), "--nodes: The job needs 65 nodes; the cluster has 64 free."),
        (("--nodes", "0"), "--nodes: Job: nodes must be"),
        (("--nodes", "8", "--level-gbps", "nod=400"), "--level-gbps: level_gbps: the topology has"),
        (
            ("--nodes", "8", "--oversubscription", "leaf=0"),
            "--oversubscription: Topology: oversubscription/leaf must be",
        ),
        (("--nodes", "8", "--gpus", "0"), "--gpus: Topology: gpus must be"),
    ],
)
def test_a_flag_that_is_wrong_is_named(given: tuple[str, ...], named: str, run: Run) -> None:
    done = run("allocate", str(CONF), *FLAGS, *given)
    assert done.returncode == 2
    assert done.stderr.startswith(f"interlace: {named}")


def test_files_that_are_wrong_are_named(tmp_path: Path, run: Run) -> None:
    """A fault of a file's own is no misuse, and has the place in that file."""
    broken = tmp_path / "broken.conf"
    broken.write_text("SwitchName=s Nodes=a\nSwitchName=t Nodes=b[\n")
    conf = run("allocate", str(broken), *FLAGS, "--nodes", "1")
    assert (conf.returncode, conf.stderr.split(": ")[1]) == (1, f"{broken} /lines/2")
    figured = tmp_path / "topology.json"
    figured.write_text(json.dumps({"slurm": "SwitchName=s Nodes=a", "level_gbps": {"nod": 5}}))
    own = run("allocate", str(figured), *FLAGS[2:4], *FLAGS[6:], "--nodes", "1")
    assert (own.returncode, own.stderr.split(": ")[1]) == (1, f"{figured} /level_gbps/nod")
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"nodes": -1, **TWO}))
    asked = run("allocate", str(CONF), str(job), *FLAGS[:6])
    assert (asked.returncode, asked.stderr.split(": ")[1]) == (1, f"{job} /nodes")


def test_jobs_and_topologies_of_the_command_that_are_none(tmp_path: Path, run: Run) -> None:
    broken = tmp_path / "job.json"
    broken.write_text("[]")
    wrong = run("allocate", str(CONF), str(broken), "--nodes", "8")
    assert "no JSON object" in wrong.stderr
    assert "LEVEL=NUMBER" in run("allocate", str(CONF), "--level-gbps", "leaf").stderr
    assert "brackets" in run("allocate", str(CONF), "vgg16", "--free", "gpu[1").stderr
    jobs = tmp_path / "jobs.json"
    jobs.write_text(json.dumps([{"name": "a", "on": ["gpu01", "gpu99"], **TWO}]))
    unknown = run("allocate", str(CONF), *FLAGS, "--nodes", "2", "--running", str(jobs))
    assert "--running /0/on/1: The topology has no node 'gpu99'" in unknown.stderr
    assert "JSON list" in run("allocate", str(CONF), "--running", str(CONF)).stderr
    # a scheduler that has no free node, or no set, does not mean all nodes
    assert "names no node" in run("allocate", str(CONF), "vgg16", "--free", "").stderr
    none = tmp_path / "sets.txt"
    none.write_text("\n")
    assert "no node set" in run("allocate", str(CONF), "--candidates", str(none)).stderr


def test_a_service_answers_as_python_does(service: Service) -> None:
    answer = service.client.post("/v1/allocations", json=EXAMPLE)
    assert answer.status_code == 200
    assert AllocationAnswer.model_validate(answer.json()) == interlace.allocate(EXAMPLE)
    twice = service.client.post("/v1/allocations", json=EXAMPLE)
    assert twice.content == answer.content
