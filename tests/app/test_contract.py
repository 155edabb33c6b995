"""The contract of POST /v1/plans, with the figures that were worked out by hand."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest

from app import VERSION
from app.schemas.lists import JobOut
from interlace_check.__main__ import check
from solver.policies import POLICIES
from tests.app.service import Json, Service, two_layers

NONE = {"fusion": "none", "slot_us": 50}


@pytest.fixture(scope="module")
def by_hand(service: Service) -> Json:
    answer = service.post(two_layers(**NONE))
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/plans/{answer.json()['id']}"
    found: Json = answer.json()
    return found


def near(value: Any) -> Any:
    return pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "feasible"),
        ("iteration_time_us", near(8400)),  # b0 is cut at 1700, so it pays 50 us again
        ("compute_time_us", 2550),  # b2 b1 f1 f2
        ("lower_bound_us", near(8400)),  # g2 around g1, its start-up twice: 800 + 7150 + 450
        ("gap", pytest.approx(0, abs=1e-6)),
        ("scaling_factor", pytest.approx(2550 / 8400, abs=1e-6)),
        ("exposed_us", near(5850)),
        ("overlap", pytest.approx(1 - 5850 / 7150, abs=1e-5)),
        ("ideal_us", near(8350)),
        ("state", "succeeded"),
        ("version", VERSION),
    ],
)
def test_figure(by_hand: Json, field: str, value: Any) -> None:
    assert by_hand[field] == value


def test_buckets(by_hand: Json) -> None:
    sent = {"kind": "all_reduce", "channel": "network"}
    b0 = {"tensors": ["g2"], "bytes": 4_000_000, "release_us": 800, "tail_us": 450}
    b1 = {"tensors": ["g1"], "bytes": 1_000_000, "release_us": 1700, "tail_us": 850}
    assert by_hand["buckets"] == [{"id": "b0", **sent, **b0}, {"id": "b1", **sent, **b1}]


def test_schedule(by_hand: Json) -> None:
    schedule = by_hand["schedule"]
    parts = [(p["bucket"], p["offset_bytes"], p["bytes"]) for p in schedule["parts"]]
    # 850 us of wire time at 5000/7 bytes/us carry 607,142 bytes before the cut
    assert parts == [("b0", 0, 607_142), ("b1", 0, 1_000_000), ("b0", 607_142, 3_392_858)]
    times = [(p["start_us"], p["end_us"]) for p in schedule["parts"]]
    assert times == [near((800, 1700)), near((1700, 3150)), near((3150, 7950))]
    assert schedule["slot_us"] == 50
    assert schedule["slots_iteration_time_us"] == 8350
    # slots 16 to 157: 18 of b0, 29 of b1, the other 95 of b0
    assert schedule["slots"] == [
        {"slot": 16, "count": 18, "bucket": "b0"},
        {"slot": 34, "count": 29, "bucket": "b1"},
        {"slot": 63, "count": 95, "bucket": "b0"},
    ]


def test_evidence(by_hand: Json) -> None:
    assert by_hand["proof"] == {
        "critical_buckets": ["b0", "b1"],
        "release_us": 800,
        "work_us": near(7100),
        "tail_us": 450,
    }
    assert by_hand["bound"]["kind"] == "nested"
    assert by_hand["bound"]["tensors"] == ["g2", "g1"]
    wfbp = by_hand["baselines"][0]
    assert wfbp["policy"] == "wfbp"
    assert wfbp["iteration_time_us"] == near(8750)  # g2 800..6450, g1 ..7900, then 850
    assert wfbp["speedup"] == pytest.approx(8750 / 8400, abs=1e-5)
    assert wfbp["headroom"] == pytest.approx(8750 / 8400 - 1, abs=1e-5)
    assert (wfbp["barrier"], wfbp["parameters"]) == (False, {})


def test_request_is_repeated(by_hand: Json) -> None:
    request = by_hand["request"]
    assert request["cluster"] == {
        "workers": 8,
        "bandwidth_gbps": 10,
        "startup_us": 50,
        "hop_us": 0,
        "reduction_gbps": None,
        "algorithm": "ring",
        "table": [],
        "tables": {},
        "node_workers": None,
        "node_bandwidth_gbps": None,
        "node_hop_us": 0,
        "shared_nic": True,
        "placement": "cs",
        "cost_model": None,
        "extrapolate": False,
        "shares": None,
        "compute_slowdown": 1,
        "channels": {},
    }
    assert request["options"] == {
        "fusion": "none",
        "schedule": "jackson",
        "slot_us": 50,
        "baselines": [
            {"policy": "wfbp", "barrier": False},
            {"policy": "pace", "barrier": False},
        ],
        "barrier": False,
        "seed": 0,
        "time_limit_s": 60,
        "effort": 1,
        "launch_tolerance": 0.001,
        "prove_s": 0.0,
    }
    assert re.fullmatch("[0-9a-f]{64}", request["graph_sha256"])


def test_baselines_with_parameters(service: Service) -> None:
    asked: list[Any] = [
        "horovod",
        {"policy": "ddp", "bucket_cap_mb": 25, "first_bucket_mb": 1, "barrier": True},
        {"policy": "bytescheduler", "credit_bytes": "auto"},
    ]
    answer = service.post(two_layers(**NONE, baselines=asked)).json()
    horovod, ddp, bytescheduler = answer["baselines"]
    # g2 at the tick of 1000 until 6650, g1 until 8100, then f1 and f2
    assert horovod["iteration_time_us"] == near(8950)
    assert horovod["headroom"] == pytest.approx(8950 / 8400 - 1, abs=1e-5)
    assert horovod["parameters"] == {
        "cycle_time_us": 1000,
        "fusion_threshold_bytes": 2**27,
        "waits_for_sends": False,
        "tensor_time_us": 0,
    }
    # g2 exceeds 1 MiB, so it goes alone: 800..6450, g1 ..7900; then f1 and f2
    assert (ddp["iteration_time_us"], ddp["barrier"]) == (near(8750), True)
    assert ddp["parameters"] == {"bucket_cap_mb": 25, "first_bucket_mb": 1}
    # one slice each: whatever the credit, g2 and then g1; the first that is tried is one slice
    assert bytescheduler["parameters"] == {
        "partition_bytes": 4_000_000,
        "credit_bytes": 4_000_000,
        "tensor_time_us": 0,
    }
    assert answer["request"]["options"]["baselines"] == [
        {
            "policy": "horovod",
            "barrier": False,
            "cycle_time_us": 1000,
            "fusion_threshold_bytes": 2**27,
            "waits_for_sends": False,
            "tensor_time_us": 0,
        },
        asked[1],
        {
            "policy": "bytescheduler",
            "barrier": False,
            "partition_bytes": 4_000_000,
            "credit_bytes": "auto",
            "cycle_time_us": None,
            "tensor_time_us": 0,
        },
    ]
    again = two_layers()
    again["options"] = answer["request"]["options"]
    assert service.post(again).json()["baselines"] == answer["baselines"]
    assert service.client.get(f"/v1/plans/{answer['id']}").json() == answer


def test_the_headline_is_that_of_plans_with_and_without_the_barrier(service: Service) -> None:
    barred, free = (
        service.post(two_layers(baselines=["ddp"], barrier=barrier)).json()
        for barrier in (True, False)
    )
    assert barred["headline"] == free["headline"]
    headline = free["headline"]
    assert [(gain["over"], gain["barrier"]) for gain in headline["gains"]] == [
        ("ddp", True),
        ("ddp_tuned", True),
        ("ddp", False),
        ("ddp_tuned", False),
    ]
    assert headline["sentence"].startswith("As long as DDP")
    for gain, answer in zip(headline["gains"][::2], (barred, free), strict=True):
        assert gain["plan_us"] == near(answer["iteration_time_us"])
        assert gain["today_us"] == near(answer["baselines"][0]["iteration_time_us"])
        assert gain["lower_bound_us"] == near(answer["lower_bound_us"])
        assert gain["gain"] == pytest.approx(1 - gain["plan_us"] / gain["today_us"])
        assert gain["gain_low"] <= gain["gain"] <= gain["gain_high"]
        assert gain["verdict"] in {"worth_it", "too_close", "nothing"}
        assert gain["runtime"]


def test_every_policy_may_be_asked_for(service: Service) -> None:
    answer = service.post(two_layers(baselines=list(POLICIES), barrier=True))
    assert answer.status_code == 201
    plan = answer.json()
    assert [baseline["policy"] for baseline in plan["baselines"]] == list(POLICIES)
    assert all(baseline["barrier"] for baseline in plan["baselines"])
    assert all(baseline["headroom"] >= 0 for baseline in plan["baselines"])


def test_barrier(service: Service) -> None:
    plan = service.post(two_layers(barrier=True)).json()
    # g2 at 800 until 6450, g1 until 7900, then f1 and f2: all wait for the last send
    assert plan["iteration_time_us"] == near(8750)
    assert plan["status"] == "optimal"
    assert {bucket["tail_us"] for bucket in plan["buckets"]} == {850}
    trace = service.client.get(f"/v1/plans/{plan['id']}/timeline.json").json()
    starts = [e["ts"] for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == "f1"]
    assert starts == [near(7900)] * 2  # in the plan, and in FIFO


def test_found_again(service: Service, by_hand: Json) -> None:
    again = service.client.get(f"/v1/plans/{by_hand['id']}")
    assert again.status_code == 200
    assert again.json() == by_hand


def test_fused_graph_can_be_planned_again(service: Service, by_hand: Json) -> None:
    body = {**two_layers(**NONE), "graph": by_hand["fused_graph"]}
    assert service.post(body).json()["iteration_time_us"] == near(8400)


def test_options_may_be_left_out(service: Service) -> None:
    body = two_layers()
    del body["options"]
    left_out, stated = service.post(body).json(), service.post(two_layers()).json()
    assert left_out["request"] == stated["request"]
    assert left_out["request"]["options"]["fusion"] == "joint"


def test_joint_is_beaten_by_nothing(service: Service) -> None:
    joint = service.post(two_layers(baselines=list(POLICIES))).json()
    times = [baseline["iteration_time_us"] for baseline in joint["baselines"]]
    times += [
        service.post(two_layers(fusion=fusion)).json()["iteration_time_us"]
        for fusion in ("maxmin", "none")
    ]
    assert joint["iteration_time_us"] <= min(times) * (1 + 1e-9)
    assert joint["ideal_us"] <= joint["iteration_time_us"] * (1 + 1e-9)


def test_under_joint_the_schedule_decides_the_slots_alone(service: Service) -> None:
    jackson, lp = (
        service.post(two_layers(slot_us=50, schedule=schedule)).json()
        for schedule in ("jackson", "lp")
    )
    assert jackson["schedule"]["parts"] == lp["schedule"]["parts"]
    values = [plan["schedule"]["slots_iteration_time_us"] for plan in (jackson, lp)]
    assert values[0] == values[1]


def test_time_limit_is_kept(service: Service) -> None:
    body = service.client.get("/v1/examples/resnet50").json()
    body["options"] |= {"time_limit_s": 0.05, "baselines": list(POLICIES)}
    plan = service.post(body).json()
    assert plan["request"]["options"]["time_limit_s"] == 0.05
    best = min(baseline["iteration_time_us"] for baseline in plan["baselines"])
    assert plan["iteration_time_us"] <= best * (1 + 1e-9)


def test_longest_id_may_be_fused(service: Service) -> None:
    names = ["x" * 511 + digit for digit in "12"]
    body = two_layers(fusion="maxmin")
    for op, name in zip((1, 3), names, strict=True):
        body["graph"]["ops"][op]["id"] = name
    body["graph"]["ops"][4]["after"] = ["b1", names[1]]
    body["graph"]["ops"][5]["after"] = ["f1", names[0]]
    body["cluster"]["startup_us"] = 5000  # one launch is best
    answer = service.post(body)
    assert answer.status_code == 201
    assert answer.json()["buckets"][0]["tensors"] == names
    again = {**body, "graph": answer.json()["fused_graph"]}
    assert service.post(again).status_code == 201


TINY = 5e-324


@pytest.mark.parametrize("slot", [None, 1])
@pytest.mark.parametrize("fusion", ["joint", "maxmin", "none"])
def test_least_times_of_all(service: Service, fusion: str, slot: float | None) -> None:
    body = two_layers(fusion=fusion, slot_us=slot)
    for op in body["graph"]["ops"]:
        if op["kind"] == "compute":
            op["duration_us"] = TINY
    body["cluster"] = {"workers": 8, "algorithm": "table", "table": [[1, TINY], [10**6, TINY]]}
    assert service.post(body).status_code == 201
    body["graph"] = two_layers()["graph"]
    assert service.post(body).status_code == 201


def test_bandwidth_beside_a_table_is_not_used(service: Service) -> None:
    body = two_layers()
    body["cluster"] |= {"algorithm": "table", "table": [[1_000_000, 1400.0], [4_000_000, 5600]]}
    times = set()
    for bandwidth in (1, 100):
        body["cluster"]["bandwidth_gbps"] = bandwidth
        times.add(service.post(body).json()["iteration_time_us"])
    assert len(times) == 1


def test_byte_order_mark_is_passed_over(service: Service) -> None:
    body = b"\xef\xbb\xbf" + json.dumps(two_layers()).encode()
    assert service.post_raw(body).status_code == 201


@pytest.mark.parametrize("path", ["/docs", "/healthz"])
def test_head_is_get_without_a_body(service: Service, path: str) -> None:
    head, get = service.client.head(path), service.client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(get.content))


def test_lp_agrees_on_the_grid(service: Service, by_hand: Json) -> None:
    lp = service.post(two_layers(**NONE, schedule="lp")).json()
    assert lp["schedule"]["slots_iteration_time_us"] == 8350
    assert lp["ideal_us"] == near(by_hand["ideal_us"])


def test_one_worker_sends_for_free(service: Service) -> None:
    body = two_layers()
    body["cluster"]["workers"] = 1
    plan = service.post(body).json()
    assert plan["iteration_time_us"] == plan["compute_time_us"] == 2550
    assert plan["status"] == "optimal"


def test_two_channels(service: Service) -> None:
    body = two_layers(**NONE, baselines=[])
    body["graph"]["ops"][1] |= {"kind": "all_gather", "channel": "nvlink"}
    body["cluster"]["channels"] = {"nvlink": {"workers": 2, "bandwidth_gbps": 80}}
    plan = service.post(body).json()
    # g2 on its own: half of 4 MB at 10,000 bytes/us, 800..1000; g1 1700..3150, then f1 and f2
    assert plan["iteration_time_us"] == near(4000)
    sent = {p["bucket"]: (p["start_us"], p["end_us"]) for p in plan["schedule"]["parts"]}
    assert {b["channel"]: sent[b["id"]] for b in plan["buckets"]} == {
        "nvlink": near((800, 1000)),
        "network": near((1700, 3150)),
    }
    again = {**body, "graph": plan["fused_graph"]}
    assert service.post(again).json()["iteration_time_us"] == near(4000)


def test_a_stream_runs_one_op_at_a_time(service: Service) -> None:
    body = two_layers(**NONE)
    extra = {"id": "x", "kind": "compute", "duration_us": 5000, "stream": "gpu0"}
    body["graph"]["ops"][5]["stream"] = "gpu0"  # f2 ends at 8400
    body["graph"]["ops"].append(extra)
    assert service.post(body).json()["iteration_time_us"] == near(13_400)


def test_measured_table(service: Service) -> None:
    body = two_layers()
    body["cluster"] = {
        "workers": 8,
        "algorithm": "table",
        "table": [[1_000_000, 1400.0], [4_000_000, 5600]],
    }
    assert service.post(body).status_code == 201


def test_same_request_same_bytes(service: Service) -> None:
    answers = [service.post(two_layers(**NONE)).json() for _ in range(2)]
    for answer in answers:
        for field in (*JobOut.model_fields, "runtime_s"):
            del answer[field]
    assert json.dumps(answers[0]) == json.dumps(answers[1])


def test_graph_hash_knows_the_graph_alone(service: Service) -> None:
    body = two_layers()
    before = service.post(body).json()["request"]["graph_sha256"]
    body["cluster"]["workers"] = 4
    body["graph"]["ops"][0]["duration_us"] = 800.0  # the same number
    assert service.post(body).json()["request"]["graph_sha256"] == before
    body["graph"]["ops"][0]["duration_us"] = 801
    assert service.post(body).json()["request"]["graph_sha256"] != before


def test_newest_first(service: Service) -> None:
    made = []
    for name in ("first", "second", "third"):
        body = two_layers()
        body["graph"]["name"] = name
        made.append(service.post(body).json()["id"])
    listed = service.client.get("/v1/plans?limit=3").json()["plans"]
    assert [plan["id"] for plan in listed] == made[::-1]
    assert [plan["name"] for plan in listed] == ["third", "second", "first"]
    assert set(listed[0]) == {
        "id",
        "state",
        "created_at",
        "started_at",
        "finished_at",
        "tags",
        "attempts",
        "progress",
        "error",
        "name",
        "status",
        "iteration_time_us",
        "gap",
    }


def test_timeline_is_a_chrome_trace(service: Service, by_hand: Json) -> None:
    trace = service.client.get(f"/v1/plans/{by_hand['id']}/timeline.json").json()
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert max(e["ts"] + e["dur"] for e in events) == near(8750)  # FIFO ends last


def test_a_stranger_checks_the_proof(service: Service, by_hand: Json) -> None:
    path = f"/v1/plans/{by_hand['id']}"
    texts = [service.client.get(path + more).text for more in ("/request", "", "/certificate.json")]
    assert check(*(json.loads(text, parse_float=Fraction) for text in texts)).startswith("yes")


@pytest.mark.parametrize("name", ["two_layers", "vgg16", "resnet50"])
def test_example_is_ready_to_post(service: Service, name: str) -> None:
    example = service.client.get(f"/v1/examples/{name}").json()
    answer = service.post(example)
    assert answer.status_code == 201
    plan = answer.json()
    assert plan["lower_bound_us"] <= plan["iteration_time_us"] * (1 + 1e-9)
    assert all(b["iteration_time_us"] >= plan["lower_bound_us"] for b in plan["baselines"])


def test_examples_are_listed(service: Service) -> None:
    listed = service.client.get("/v1/examples").json()["examples"]
    assert {"two_layers", "vgg16", "resnet50"} <= {example["name"] for example in listed}
    assert all(service.client.get(example["url"]).status_code == 200 for example in listed)


def test_health(service: Service) -> None:
    assert service.client.get("/healthz").json() == {"status": "ok"}
    assert service.client.get("/readyz").json() == {"status": "ok"}
    assert service.client.get("/version").json() == {"name": "interlace", "version": VERSION}
