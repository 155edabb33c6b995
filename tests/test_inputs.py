"""What the library's functions take: names, JSON, objects, files; all are the same input."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import interlace
from app.cli.files import GraphSource, read_plan, read_simulation
from app.reading.requests import read_parsed
from app.schemas.plans import PlanRequest
from app.services.examples import A100_NODES, TWO_LAYERS
from interlace.inputs import plain, read
from solver.prediction.scaling import ScalingOptions

CLUSTER = interlace.Cluster(8, 10.0, 50.0)
JSON: dict[str, Any] = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}
RAW: dict[str, Any] = TWO_LAYERS["graph"]
DATA = Path(__file__).with_name("data")
RANKS = [DATA / "kineto_gloo_0.json.gz", DATA / "kineto_gloo_1.json.gz"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(RAW))
    return path


def test_one_graph_in_all_its_forms(file: Path, tmp_path: Path) -> None:
    request = tmp_path / "request.json.gz"
    request.write_bytes(gzip.compress(json.dumps(TWO_LAYERS).encode()))
    built = read(PlanRequest, RAW, CLUSTER, {}).graph
    plans = [
        interlace.plan(graph, cluster)
        for graph in ("two_layers", RAW, TWO_LAYERS, built, file, str(file), [file], request)
        for cluster in (CLUSTER, JSON, interlace.network_of(CLUSTER))
    ]
    # of an example and of a request the cluster may be left out, which is the same here
    plans += [interlace.plan(graph) for graph in ("two_layers", TWO_LAYERS, request)]
    assert len({plan.iteration_time_us for plan in plans}) == 1
    assert {plan.parts for plan in plans} == {plans[0].parts}


def test_an_example_brings_its_cluster() -> None:
    asked = read(PlanRequest, "fsdp_llama_7b", None, {})
    assert asked.graph == interlace.MODELS["fsdp_llama_7b"]()
    assert dict(asked.network.workers) == {"network": 16, "nvlink": 8}
    assert asked.request.cluster.workers == A100_NODES["workers"]


def test_options_are_an_object_or_json_or_those_of_the_request() -> None:
    options = interlace.Options(fusion="none", baselines=("ddp",), seed=3)  # type: ignore[arg-type]
    same = {"fusion": "none", "baselines": ["ddp"], "seed": 3}
    plans = [
        interlace.plan("two_layers", CLUSTER, options),
        interlace.plan("two_layers", CLUSTER, same),
        interlace.plan({"graph": RAW, "cluster": JSON, "options": same}),
    ]
    assert plans[0] == plans[1] == plans[2]
    assert [baseline.policy for baseline in plans[0].baselines] == ["ddp"]
    other = interlace.plan({"graph": RAW, "cluster": JSON, "options": same}, None, {"seed": 3})
    assert other.iteration_time_us < plans[0].iteration_time_us  # fused


def test_a_request_for_a_plan_is_simulated_swept_and_predicted(tmp_path: Path) -> None:
    """As by the command: its options are a plan's, and the others have no such fields."""
    request: dict[str, Any] = {**TWO_LAYERS, "what_if": []}
    assert set(request["options"]) > {"fusion", "baselines", "barrier"}
    path = tmp_path / "two.json"
    path.write_text(json.dumps(request))
    for graph in (request, path):
        found = interlace.simulate(graph, None, "ddp")
        assert found.iteration_time == interlace.simulate("two_layers", None, "ddp").iteration_time
        swept = interlace.sweep(graph, [CLUSTER], ["ddp"])
        assert swept == interlace.sweep("two_layers", [CLUSTER], ["ddp"])
        assert interlace.predict(graph, [CLUSTER]) == interlace.predict("two_layers", [CLUSTER])
    waiting = {**TWO_LAYERS, "options": {"barrier": True, "fusion": "none"}}
    barrier = interlace.simulate(RAW, JSON, {"policy": "pace", "barrier": True}).iteration_time
    source = GraphSource("two.json", [json.dumps(waiting).encode()], {})
    assert read_simulation(source, {"policy": "pace"}).request.barrier
    assert interlace.simulate(waiting, None, "pace").iteration_time == barrier
    assert barrier > interlace.simulate(TWO_LAYERS, None, "pace").iteration_time
    with pytest.raises(interlace.InvalidOptions, match="fusoin is not a known field"):
        interlace.plan({**TWO_LAYERS, "options": {"fusoin": "none"}})


def test_a_trace_is_read_as_the_command_reads_it() -> None:
    source = GraphSource(str(RANKS[0]), [path.read_bytes() for path in RANKS], {})
    problem, _ = read_plan(source, {}, [])
    asked = read(PlanRequest, RANKS, None, {})
    assert asked.graph == problem.graph
    assert asked.request.cluster == problem.request.cluster
    other = read(PlanRequest, RANKS, CLUSTER, {})
    assert other.request.cluster.workers == 8


@pytest.mark.parametrize("network", [CLUSTER, JSON, interlace.network_of(CLUSTER), None])
def test_a_policy_by_name_json_choice_or_itself(network: Any) -> None:
    policies: list[Any] = ["ddp", {"policy": "ddp"}, interlace.Choice("ddp")]
    times = {
        interlace.simulate("vgg16", network, policy).iteration_time
        for policy in (*policies, interlace.POLICIES["ddp"])
    }
    assert len(times) == 1
    small: list[Any] = [
        {"policy": "ddp", "bucket_cap_mb": 1},
        interlace.Choice("ddp", parameters=(("bucket_cap_mb", 1.0),)),
    ]
    (time,) = {interlace.simulate("vgg16", network, each).iteration_time for each in small}
    assert time not in times
    barriers: list[Any] = [{"policy": "p3", "barrier": True}, interlace.Choice("p3", True)]
    (later,) = {interlace.simulate("vgg16", network, each).iteration_time for each in barriers}
    assert later > interlace.simulate("vgg16", network, "p3").iteration_time


def test_sweeps_and_predictions() -> None:
    clusters: list[Any] = [CLUSTER, {**JSON, "workers": 4}]
    cells = interlace.sweep("two_layers", clusters, ["ddp", interlace.Choice("wfbp"), "plan"])
    assert [cell.workers for cell in cells] == [8, 4]
    one = interlace.plan("two_layers").iteration_time_us
    assert cells[0].times[2] == one
    options = ScalingOptions(buffers=(0, 5))
    rows = [
        interlace.predict("two_layers", [(4, CLUSTER), (8, CLUSTER)], options),
        interlace.predict("two_layers", [{**JSON, "workers": 4}, JSON], {"buffers_bytes": [0, 5]}),
        interlace.predict(
            RAW,
            [(n, interlace.network_of(interlace.Cluster(n, 10.0, 50.0))) for n in (4, 8)],
            options,
        ),
    ]
    assert rows[0] == rows[1] == rows[2]
    assert [row.workers for row in rows[0]] == [4, 8]
    assert interlace.sweep("two_layers", [], ["ddp"]) == ()
    assert interlace.predict("two_layers", []) == ()


def test_a_sweep_ends_at_its_limit() -> None:
    clusters = [JSON | {"workers": n} for n in (2, 4, 8)]
    cut = interlace.sweep("two_layers", clusters, ["ddp"], sweep_limit_s=1e-9)
    assert (len(cut), cut.cells_asked) == (1, 3)
    assert repr(cut) == "<Sweep: 1 of 3 cells of ddp; ddp fastest in 1>"
    asked = {"graph": RAW, "cluster": JSON, "sweep_limit_s": 1e-9}
    assert interlace.sweep(asked, clusters, ["ddp"]) == cut
    assert len(interlace.sweep("two_layers", clusters, ["ddp"])) == len(clusters)
    with pytest.raises(interlace.InvalidOptions, match="sweep_limit_s must be"):
        interlace.sweep("two_layers", clusters, ["ddp"], sweep_limit_s=0)


def test_a_sweep_is_of_the_graph_as_it_is_changed() -> None:
    """The same cells by an argument, by a field of the request, and of a graph that was changed."""
    change = interlace.Change("*", bytes_factor=0.1)
    body = {"match": "*", "bytes_factor": 0.1}
    clusters = [JSON, {**JSON, "workers": 4}]

    def cells(graph: Any, **how: Any) -> interlace.Sweep:
        return interlace.sweep(graph, clusters, ["ddp", "plan"], **how)

    expected = cells(interlace.apply_changes(read(PlanRequest, RAW, CLUSTER, {}).graph, [change]))
    assert expected != cells("two_layers")
    assert cells("two_layers", changes=[change]) == expected
    assert cells("two_layers", changes=[body]) == expected
    assert cells({"graph": RAW, "changes": [body]}) == expected
    assert cells({"graph": RAW, "changes": [body]}, changes=[]) == cells("two_layers")
    with pytest.raises(interlace.InvalidOptions, match="matches 'none'") as caught:
        cells("two_layers", changes=[interlace.Change("none", remove=True)])
    assert [fault.pointer for fault in caught.value.faults] == ["/changes/0/match"]


def test_an_export_of_a_cluster_in_any_form() -> None:
    plan = interlace.plan("two_layers", None, {"barrier": True})
    files = [
        interlace.export("ddp", network, plan).files
        for network in (CLUSTER, JSON, interlace.network_of(CLUSTER))
    ]
    assert files[0] == files[1] == files[2]
    with pytest.raises(interlace.InterlaceError, match=r"Format must be one of .*mean horovod\?"):
        interlace.export("horovodd", CLUSTER, plan)


@pytest.mark.parametrize(
    ("graph", "kind", "said"),
    [
        ("vgg61", interlace.InvalidGraph, "No example has this name. Did you mean vgg16?"),
        ("xyzzy", interlace.InvalidGraph, 'Graph "xyzzy": No example has this name.'),
        (3, interlace.InvalidGraph, "the name of an example or files, got 3"),
        ([], interlace.InvalidGraph, "the name of an example or files"),
        ("nowhere.json", FileNotFoundError, "nowhere.json"),
        (Path("nowhere"), FileNotFoundError, "nowhere"),
        ({"ops": []}, interlace.InvalidGraph, "The graph has no compute op."),
        ({"opps": RAW["ops"]}, interlace.InvalidRequest, "Opps is not a known field."),
    ],
)
def test_what_is_no_graph(graph: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said.replace("?", r"\?")):
        interlace.plan(graph, CLUSTER)


@pytest.mark.parametrize(
    ("kind", "cluster", "said"),
    [
        ("send_recv", {"bandwidth_gbps": 10}, "'s' is a send_recv without a channel of its own"),
        ("all_reduce", {"bandwidth_gbps": 10}, "Cluster: workers is missing."),
        (
            "all_reduce",
            {"workers": 2, "bandwidth_gbps": 10, "links": {"nic0": {"bandwidth_gbps": 10}}},
            "bandwidth_gbps is not a known field. Did you mean capacity_gbps?",
        ),
    ],
)
def test_what_to_do_is_said(kind: str, cluster: dict[str, Any], said: str) -> None:
    ops = [
        {"id": "b", "kind": "compute", "duration_us": 1},
        {"id": "s", "kind": kind, "bytes": 5, "after": ["b"]},
    ]
    with pytest.raises(interlace.InvalidRequest) as refused:
        read_parsed({"graph": {"ops": ops}, "cluster": cluster}, PlanRequest)
    assert any(said in fault.detail for fault in refused.value.faults)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("{", "not_json", "The body is not JSON"),
        ('{"ops": [], "ops": []}', "duplicate_key", "twice"),
        ("hello", "wrong_format", "it is no JSON, and of none of the known formats"),
        ("[1]", "wrong_type", "must be an object"),
        ("", "empty", "The file is empty."),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, code: str, said: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(interlace.InterlaceError, match=said) as caught:
        interlace.plan(path, CLUSTER)
    assert [fault.code for fault in caught.value.faults] == [code]


def test_a_cluster_is_missing_where_nothing_brings_one(file: Path) -> None:
    for graph in (file, RAW, interlace.MODELS["vgg16"]()):
        with pytest.raises(interlace.InvalidCluster, match="Cluster is missing"):
            interlace.plan(graph)


def test_all_clusters_of_a_sweep_at_once() -> None:
    wrong: list[Any] = [{"workers": 0}, CLUSTER, interlace.Cluster(8, -1.0), {"startup_u": 2}]
    with pytest.raises(interlace.InvalidRequest) as caught:
        interlace.sweep("two_layers", wrong, ["ddp", "dpd"])
    assert {(fault.pointer, fault.code) for fault in caught.value.faults} == {
        ("/clusters/0/workers", "out_of_range"),
        ("/clusters/2/bandwidth_gbps", "out_of_range"),
        ("/clusters/3/startup_u", "extra_field"),
        ("/policies/1", "out_of_range"),
    }
    with pytest.raises(interlace.InvalidOptions) as of_policies:
        interlace.sweep("fsdp_llama_7b", [A100_NODES], ["plan", {"policy": "p3", "slice_bytes": 1}])
    assert [fault.pointer for fault in of_policies.value.faults] == ["/policies/1/slice_bytes"]


def test_what_only_the_solver_finds_has_the_place_that_the_service_gives() -> None:
    slot = {"slot_us": 1e-6}
    with pytest.raises(interlace.InvalidOptions) as caught:
        interlace.plan("two_layers", CLUSTER, slot)
    assert caught.value.faults[0].pointer == "/options/slot_us"
    with pytest.raises(interlace.InvalidOptions, match="pace is not defined where"):
        interlace.simulate("fsdp_llama_7b", None, "pace")
    with pytest.raises(interlace.InvalidOptions, match="change it with apply_changes"):
        interlace.plan({**TWO_LAYERS, "what_if": [{"match": "g1", "remove": True}]})


def test_numbers_of_numpy_are_numbers() -> None:
    raw = plain({"a": np.float64(4.0), "b": (np.int64(3), 0.5), "c": {"d": np.bool_(True)}})
    assert raw == {"a": 4, "b": [3, 0.5], "c": {"d": True}}
    assert [type(raw["a"]), type(raw["b"][0]), type(raw["c"]["d"])] == [int, int, bool]
    cluster = interlace.Cluster(np.int64(8), np.float64(10), 50.0)  # type: ignore[arg-type]
    assert interlace.plan("two_layers", cluster) == interlace.plan("two_layers", CLUSTER)
