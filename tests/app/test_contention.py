"""Ops that state slowdowns, and channels that share a card: on the wire and on the command line."""

import copy
import json
from pathlib import Path

import pytest

from app.cli.clusters import on
from app.errors import InvalidRequest
from app.reading.placement_faults import faults_of as placement_faults_of
from app.reading.requests import read_body, read_parsed
from app.schemas.clusters import ClusterBody
from app.schemas.parameter_servers import ParameterServerRequest
from app.schemas.placements import PlacementsRequest
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.problem import CheckedRequest
from app.services.parameter_servers.steps import steps_of
from app.services.plans import solve
from app.services.predictions import answer_of
from tests.app.command import Run
from tests.app.service import Json, Service, faults, two_layers

#: Beside g2, from 800 on, b1 takes 1,800 us; nothing else runs beside a launch.
G1_RELEASED = 800 + 2 * 900
WFBP_US = 8750


def stating(slowdown: Json | None = None, op: int = 2, **options: object) -> Json:
    """Return the example whose b1 states a slowdown."""
    body = two_layers(**options)
    body["graph"]["ops"][op]["slowdown"] = {"network": 2} if slowdown is None else slowdown
    return body


def sharing() -> Json:
    """Return two launches at once, of 800 us of bytes and 50 of start-up each, on one card."""
    return {
        "graph": {
            "ops": [
                {"id": "b", "kind": "compute", "duration_us": 100},
                {"id": "x", "kind": "broadcast", "bytes": 1_000_000, "after": ["b"]},
                {
                    "id": "y",
                    "kind": "broadcast",
                    "bytes": 1_000_000,
                    "after": ["b"],
                    "channel": "ib",
                },
            ]
        },
        "cluster": {
            "workers": 2,
            "bandwidth_gbps": 10,
            "startup_us": 50,
            "shares": "nic0",
            "channels": {"ib": {"bandwidth_gbps": 10, "startup_us": 50, "shares": "nic0"}},
        },
    }


def problem(body: Json) -> CheckedRequest[PlanRequest]:
    """Read a request as the service does."""
    return CheckedRequest(*read_parsed(body, PlanRequest))


def write(tmp_path: Path, body: Json) -> str:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body))
    return str(path)


def test_a_plan_says_what_is_not_known_of_it() -> None:
    answer = solve(problem(stating(baselines=["wfbp"])))
    assert (answer.ideal_us, answer.osf, answer.schedule.slots) == (None, None, [])
    (warning,) = answer.warnings
    assert (warning.pointer, warning.code) == ("/graph/ops", "compute_slowed")
    assert "the slowdowns that ops state, 'b1'; " in warning.detail
    (wfbp,) = answer.baselines
    assert wfbp.iteration_time_us == pytest.approx(WFBP_US)
    assert answer.fused_graph is not None
    said = {op["id"]: op.get("slowdown") for op in answer.fused_graph["ops"]}
    assert said["b1"] == {"network": 2}


def test_an_ops_own_statement_wins_over_the_clusters() -> None:
    body = stating({})
    body["cluster"]["compute_slowdown"] = 2
    plain = solve(problem(two_layers()))
    answer = solve(problem(body))  # nothing but b1 runs beside a launch of this plan
    assert answer.iteration_time_us == pytest.approx(plain.iteration_time_us)
    assert [warning.code for warning in answer.warnings] == ["compute_slowed"]


def test_launches_share_a_card() -> None:
    answer = solve(problem(sharing()))
    assert answer.iteration_time_us == pytest.approx(100 + 50 + 1600)
    assert (answer.status, answer.bound.kind) == ("optimal", "shared")
    assert answer.bound.release_us == 100
    (warning,) = answer.warnings
    assert (warning.pointer, warning.code) == ("/cluster/channels/ib/shares", "card_shared")
    assert "'ib' and 'network' sharing the card 'nic0'" in warning.detail
    assert answer.critical_path is not None
    assert [step.slowed_us for step in answer.critical_path] == pytest.approx([0, 800])
    assert "contention costs launches beside other work 800 us" in str(answer.summary)
    apart = sharing()
    apart["cluster"]["shares"] = "nic1"
    answer = solve(problem(apart))
    assert answer.iteration_time_us == pytest.approx(100 + 50 + 800)
    assert answer.warnings == []


BAD = [
    ({"nvlink": 2}, "/graph/ops/2/slowdown/nvlink", "unknown_channel"),  # carries nothing
    ({"network": 0.5}, "/graph/ops/2/slowdown/network", "out_of_range"),
    ({"network": 101}, "/graph/ops/2/slowdown/network", "out_of_range"),
    ({"network": "2"}, "/graph/ops/2/slowdown/network", "wrong_type"),
    ({"network": None}, "/graph/ops/2/slowdown/network", "wrong_type"),
    (2, "/graph/ops/2/slowdown", "wrong_type"),
    ({f"c{i}": 1 for i in range(4_099)}, "/graph/ops/2/slowdown", "out_of_range"),
]


@pytest.mark.parametrize(("slowdown", "pointer", "code"), BAD)
def test_what_is_no_slowdown(slowdown: Json, pointer: str, code: str) -> None:
    for read in (
        lambda body: read_parsed(body, PlanRequest),
        lambda body: read_body(json.dumps(body).encode(), PlanRequest),
    ):
        with pytest.raises(InvalidRequest) as caught:
            read(stating(slowdown))
        assert [(f.pointer, f.code) for f in caught.value.faults] == [(pointer, code)]


def test_too_many_channels_and_a_collective_that_states() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(stating({f"c{i}": 1 for i in range(4_098)}), PlanRequest)
    places = [(f.pointer, f.code) for f in caught.value.faults]
    assert places == [("/graph/ops/2/slowdown", "out_of_range")]
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(stating(op=1), PlanRequest)
    places = [(f.pointer, f.code) for f in caught.value.faults]
    assert places == [("/graph/ops/1/slowdown", "extra_field")]


def test_all_faults_are_told_at_once() -> None:
    body = stating({"nvlink": 2})
    body["graph"]["ops"][0]["slowdown"] = {"network": 0}
    body["graph"]["ops"][4]["after"].append("nobody")
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(body, PlanRequest)
    assert {(f.pointer, f.code) for f in caught.value.faults} == {
        ("/graph/ops/0/slowdown/network", "out_of_range"),
        ("/graph/ops/2/slowdown/nvlink", "unknown_channel"),
        ("/graph/ops/4/after/2", "unknown_op"),
    }
    body["graph"]["ops"][1]["channel"] = 7  # it might be the one
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(body, PlanRequest)
    assert "/graph/ops/2/slowdown/nvlink" not in {f.pointer for f in caught.value.faults}


def test_the_service_keeps_what_an_op_states(service: Service) -> None:
    body = stating()
    stored = service.client.post("/v1/graphs", json=body["graph"]).json()
    read = service.client.get(f"/v1/graphs/{stored['id']}").json()
    ops = (read.get("graph") or read)["ops"]
    assert {op["id"]: op.get("slowdown") for op in ops}["b1"] == {"network": 2}
    by_id = {"graph_id": stored["id"], **{k: v for k, v in body.items() if k != "graph"}}
    answer = service.post(by_id)
    assert answer.status_code in {200, 201}
    assert answer.json()["iteration_time_us"] == service.post(body).json()["iteration_time_us"]
    refused = service.post(stating({"nvlink": 2}))
    assert faults(refused) == {("/graph/ops/2/slowdown/nvlink", "unknown_channel")}


def test_predictions_are_simulated_and_the_recursion_is_left_out() -> None:
    body = stating()
    raw = {"graph": body["graph"], "cluster": body["cluster"]}
    graph, request = read_parsed(raw, PredictionRequest)
    answer = answer_of(graph, request)
    assert answer.why_no_osf == (
        "OSF needs compute that communication does not slow down; op 'b1' states a slowdown."
    )
    (row,) = answer.rows
    assert (row.csf, row.osf) == (None, None)
    raw["graph"] = stating({"network": 1})["graph"]
    graph, request = read_parsed(raw, PredictionRequest)
    answer = answer_of(graph, request)
    assert answer.why_no_osf is None
    assert answer.rows[0].osf is not None


def test_what_knows_no_slowdown_refuses_it() -> None:
    body = stating()
    raw = {"graph": body["graph"], "bandwidths_gbps": [10], "worker_counts": [4]}
    graph, _ = read_parsed({"graph": body["graph"], "cluster": body["cluster"]}, PlanRequest)
    request = ParameterServerRequest.model_construct(
        steps=None, servers=1, update_us_per_byte=0.0, **raw
    )
    with pytest.raises(InvalidRequest) as caught:
        steps_of(graph, request)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [
        ("/graph/ops/2/slowdown", "extra_field")
    ]
    placed = PlacementsRequest.model_validate({"workers": 4})
    places = [(f.pointer, f.code) for f in placement_faults_of(placed, graph)]
    assert ("/graph/ops/2/slowdown", "extra_field") in places


def test_a_simulation_a_sweep_and_what_ifs(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, stating())
    done = run("simulate", path, "--policy", "wfbp", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["iteration_time_us"] == pytest.approx(WFBP_US)
    (g1,) = [each for each in answer["tensors"] if each["id"] == "g1"]
    assert g1["release_us"] == pytest.approx(G1_RELEASED)
    cell = json.loads(run("sweep", path, "--workers", "8", "--json").stdout)["cells"][0]
    assert cell["iteration_time_us"]["wfbp"] == pytest.approx(WFBP_US)
    body = stating()
    body = {"graph": body["graph"], "cluster": body["cluster"], "policy": {"policy": "wfbp"}}
    body["what_if"] = [{"match": "g2", "remove": True}]
    body["jitter"] = {"spread": 0.0, "runs": 2, "rivals": []}
    done = run("simulate", write(tmp_path, body), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["jitter"]["p50_us"] == pytest.approx(answer["iteration_time_us"])
    assert answer["what_if"]["iteration_time_us"] < answer["iteration_time_us"]


def test_a_channel_that_a_what_if_empties_slows_nothing(tmp_path: Path, run: Run) -> None:
    body = sharing()
    body["graph"]["ops"].append(
        {"id": "c", "kind": "compute", "duration_us": 1600, "slowdown": {"ib": 2}}
    )
    body |= {"policy": {"policy": "wfbp"}, "what_if": [{"match": "y", "remove": True}]}
    body["barrier"] = True
    done = run("simulate", write(tmp_path, body), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["what_if"]["iteration_time_us"] == pytest.approx(1600)
    assert answer["iteration_time_us"] == pytest.approx(1600 + (1750 - 100) / 2)


def test_what_a_plan_is_printed_with(tmp_path: Path, run: Run) -> None:
    done = run("plan", write(tmp_path, sharing()))
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert "channel network: on the card nic0" in said
    assert "start-up 50 us a launch, on the card nic0" in said
    assert "2 tensors on one network card after 0.100 ms" in said
    assert "'ib' and 'network' sharing the card 'nic0'" in said


@pytest.mark.parametrize("form", ["chakra", "csv", "chrome"])
def test_an_export_says_what_it_does_not_know(form: str, tmp_path: Path, run: Run) -> None:
    body = sharing()
    body["graph"]["ops"].append(
        {"id": "c", "kind": "compute", "duration_us": 1000, "slowdown": {"ib": 2}}
    )
    out = tmp_path / "out"
    done = run("export", write(tmp_path, body), "--format", form, "--out", str(out))
    assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    if form == "chakra":
        assert "compute beside communication takes longer: ASTRA-sim does not slow it" in said
        assert "share network cards in the plan" in said


def test_an_exported_graph_keeps_the_field(tmp_path: Path, run: Run) -> None:
    done = run(
        "export", write(tmp_path, stating()), "--format", "ddp", "--out", str(tmp_path / "x")
    )
    assert done.returncode == 0, done.stderr
    printed = run("plan", write(tmp_path, stating()), "--json")
    assert printed.returncode == 0, printed.stderr
    fused = json.loads(printed.stdout)["fused_graph"]["ops"]
    assert {op["id"]: op.get("slowdown") for op in fused}["b1"] == {"network": 2}


def test_flags_keep_the_card() -> None:
    model = {"cost_model": {"algorithm": "linear"}}
    kept = on({"workers": 4, "shares": "nic0", "startup_us": 3}, model, {"network"})
    assert kept == {"workers": 4, "shares": "nic0", **model}
    cluster = ClusterBody(workers=4, shares="nic0").to_cluster()
    assert cluster.shares == "nic0"
    raw = copy.deepcopy(sharing()["cluster"])
    ib = dict(ClusterBody.model_validate(raw).to_cluster().channels)["ib"]
    assert ib.shares == "nic0"
