"""POST /v1/simulations: policies and plans, explained, with jitter and what-ifs."""

import json
from typing import Any

import pytest

from app.schemas.lists import JobOut
from solver.policies import POLICIES
from tests.app.service import Json, Service, faults, two_layers

PATH = "/v1/simulations"


def two(**fields: Any) -> Json:
    body = two_layers()
    del body["options"]
    return body | fields


def near(value: float) -> Any:
    return pytest.approx(value, abs=0.01)


@pytest.fixture(scope="module")
def fsdp(service: Service) -> Json:
    found: Json = service.client.get("/v1/examples/fsdp_llama_7b").json()
    return found


def test_wfbp_by_hand(service: Service) -> None:
    # g2 800..6450, g1 6450..7900, then f1 and f2; b1 hides 900 of the 7100 us that are sent
    answer = service.post(two(policy="wfbp", bins=2), PATH)
    assert answer.status_code == 201
    found = answer.json()
    assert answer.headers["location"] == f"{PATH}/{found['id']}"
    assert found["iteration_time_us"] == near(8750)
    assert found["compute_time_us"] == 2550
    assert found["exposed_us"] == near(6200)
    assert found["policy"] == {"policy": "wfbp", "parameters": {}}
    parts = [(p["bucket"], p["start_us"], p["bytes"]) for p in found["schedule"]["parts"]]
    assert parts == [("b0", 800, 4_000_000), ("b1", near(6450), 1_000_000)]
    (channel,) = found["channels"]
    assert channel["busy_us"] == near(7100)
    assert channel["busy"] == [near((4375 - 800) / 4375), near((7900 - 4375) / 4375)]
    assert found["breakdown"] == {
        "negotiate_us": near(100),
        "all_reduce_us": near(7000),
        "wait_us": near(6450 - 1700),
        "other_us": near(0),
    }
    exposed = {tensor["id"]: tensor["exposed_us"] for tensor in found["tensors"]}
    assert exposed == {"g2": near(6450 - 1700), "g1": near(1450)}
    path = [(step["kind"], step["ops"]) for step in found["critical_path"]]
    assert path == [
        ("compute", ["b2"]),
        ("all_reduce", ["g2"]),
        ("all_reduce", ["g1"]),
        ("compute", ["f1"]),
        ("compute", ["f2"]),
    ]
    assert found["limited_by"] == "tensor"
    assert found["summary"].startswith("One tensor limits this iteration: 'g2'")
    doubled = next(s for s in found["sensitivities"] if s["name"] == "bandwidth_double")
    assert doubled["iteration_time_us"] == near(800 + 50 + 2800 + 50 + 700 + 850)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_takes_the_time_that_a_plan_says(service: Service, policy: str) -> None:
    simulated = service.post(two(policy=policy), PATH).json()
    plan = service.post(two_layers(baselines=[policy])).json()
    assert simulated["iteration_time_us"] == plan["baselines"][0]["iteration_time_us"]


@pytest.mark.parametrize("name", ["two_layers", "resnet50", "fsdp_llama_7b", "tp_gpt_8b"])
@pytest.mark.parametrize("barrier", [False, True])
def test_a_plan_takes_exactly_its_time(service: Service, name: str, barrier: bool) -> None:
    asked = service.client.get(f"/v1/examples/{name}").json()
    asked["options"] |= {"barrier": barrier, "time_limit_s": 1}
    plan = service.post(asked).json()
    body = {"graph": asked["graph"], "cluster": asked["cluster"], "barrier": barrier, "plan": plan}
    found = service.post(body, PATH).json()
    assert found["iteration_time_us"] == plan["iteration_time_us"]
    assert found["schedule"]["parts"] == plan["schedule"]["parts"]
    assert found["policy"] is None
    again = {**body, "plan": {key: found[key] for key in ("buckets", "schedule")}}
    assert service.post(again, PATH).json()["schedule"] == found["schedule"]


def test_channels_are_told_apart(service: Service, fsdp: Json) -> None:
    body = {"graph": fsdp["graph"], "cluster": fsdp["cluster"], "policy": "tictac"}
    found = service.post(body, PATH).json()
    used = {channel["channel"]: channel["launches"] for channel in found["channels"]}
    assert used == {"nvlink": 197, "network": 66}
    drawn = service.client.get(f"{PATH}/{found['id']}/timeline.json").json()
    threads = {e["args"]["name"] for e in drawn["traceEvents"] if e["name"] == "thread_name"}
    assert threads == {"nvlink", "network", "gpu"}
    kinds = {e["cat"] for e in drawn["traceEvents"] if e["ph"] == "X"}
    assert kinds == {"compute", "all_gather", "reduce_scatter", "all_reduce"}


def test_found_again_and_listed(service: Service) -> None:
    made = service.post(two(policy="ddp"), PATH).json()
    assert service.client.get(f"{PATH}/{made['id']}").json() == made
    newest = service.client.get(f"{PATH}?limit=1").json()["simulations"]
    assert [(s["id"], s["policy"], s["name"]) for s in newest] == [
        (made["id"], "ddp", "two layers")
    ]
    assert service.client.get(f"{PATH}/nothing").status_code == 404


def test_jitter(service: Service) -> None:
    asked = {"spread": 0.2, "seed": 7, "runs": 50, "rivals": ["p3", "pace", "wfbp"]}
    first, again, other = (
        service.post(two(policy="wfbp", jitter=asked | {"seed": seed}), PATH).json()
        for seed in (7, 7, 8)
    )
    found = first["jitter"]
    assert found == again["jitter"] != other["jitter"]
    assert found["p50_us"] < found["p95_us"]
    assert [rival["policy"] for rival in found["rivals"]] == ["p3", "pace", "wfbp"]
    assert found["rivals"][2]["faster"] == 0
    assert found["rivals"][1]["faster"] > 0.5
    assert first["iteration_time_us"] == near(8750)  # itself without jitter
    still = service.post(two(policy="pace", jitter={"spread": 0}), PATH).json()
    assert still["jitter"]["p95_us"] == still["iteration_time_us"]


def test_what_if_a_tensor_is_gone(service: Service) -> None:
    gone = [{"match": "g2", "remove": True}]
    found = service.post(two(policy="wfbp", what_if=gone), PATH).json()
    # g1 alone: 1700 + 1450 + 850
    assert found["what_if"]["iteration_time_us"] == near(4000)
    assert found["what_if"]["gain_us"] == near(4750)
    plan = service.post({**two_layers(), "what_if": gone}).json()
    assert plan["what_if"]["iteration_time_us"] == near(4000)
    assert plan["request"]["what_if"][0]["match"] == "g2"
    given = service.post(two(plan=plan, what_if=gone), PATH).json()
    assert given["what_if"]["iteration_time_us"] == near(4000)
    everything = [{"match": "g?", "remove": True}]
    for answer in (
        service.post(two(policy="ddp", what_if=everything), PATH),
        service.post({**two_layers(), "what_if": everything}),
        service.post({**two_layers(barrier=True), "what_if": everything}),
    ):
        assert answer.json()["what_if"]["iteration_time_us"] == 2550


def test_the_same_simulation_is_the_same_bytes(service: Service) -> None:
    answers = [service.post(two(policy="horovod"), PATH).json() for _ in range(2)]
    for answer in answers:
        for field in (*JobOut.model_fields, "runtime_s"):
            del answer[field]
    assert json.dumps(answers[0]) == json.dumps(answers[1])


GIVEN = {
    "buckets": [{"id": "b0", "tensors": ["g2"]}, {"id": "b1", "tensors": ["g1"]}],
    "schedule": {"parts": [{"bucket": "b0", "bytes": 4_000_000}, {"bucket": "b1", "bytes": 10**6}]},
}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        # neither, and both
        ({}, {("/policy", "missing_field")}),
        ({"policy": "wfbp", "plan": GIVEN}, {("/plan", "extra_field")}),
        # no such policy, no such parameter, out of its range
        ({"policy": "best"}, {("/policy", "out_of_range")}),
        ({"policy": {"policy": "ddp", "cap": 1}}, {("/policy/cap", "extra_field")}),
        ({"policy": {"policy": "p3", "slice_bytes": 0}}, {("/policy/slice_bytes", "out_of_range")}),
        ({"policy": 5}, {("/policy", "wrong_type")}),
        # too many launches to list
        ({"policy": {"policy": "p3", "slice_bytes": 10}}, {("/policy", "out_of_range")}),
        # a plan of other tensors, of other bytes
        (
            {"plan": {**GIVEN, "buckets": [{"id": "b0", "tensors": ["b1", "g1"]}]}},
            {
                ("/plan/buckets/0/tensors/0", "unknown_op"),
                ("/plan/buckets", "missing_field"),
                ("/plan/buckets/0", "out_of_range"),
                ("/plan/schedule/parts/1/bucket", "unknown_op"),
            },
        ),
        (
            {"plan": {**GIVEN, "schedule": {"parts": [{"bucket": "b0", "bytes": 0}]}}},
            {("/plan/schedule/parts/0/bytes", "out_of_range")},
        ),
        ({"plan": {"buckets": []}}, {("/plan/schedule", "missing_field")}),
        # jitter
        ({"policy": "wfbp", "jitter": {}}, {("/jitter/spread", "missing_field")}),
        (
            {"policy": "wfbp", "jitter": {"spread": -1, "runs": 0, "rivals": ["x", "wfbp"]}},
            {
                ("/jitter/spread", "out_of_range"),
                ("/jitter/runs", "out_of_range"),
                ("/jitter/rivals/0", "out_of_range"),
            },
        ),
        (
            {"policy": {"policy": "p3", "slice_bytes": 100}, "jitter": {"spread": 1, "runs": 999}},
            {("/jitter/runs", "out_of_range")},
        ),
        # what-ifs
        (
            {"policy": "wfbp", "what_if": [{"match": "x*"}]},
            {("/what_if/0/match", "unknown_op")},
        ),
        (
            {"policy": "wfbp", "what_if": [{"match": "g*", "bytes_factor": -1}]},
            {("/what_if/0/bytes_factor", "out_of_range")},
        ),
        # bins
        ({"policy": "wfbp", "bins": 0}, {("/bins", "out_of_range")}),
        # a field of plans
        ({"policy": "wfbp", "options": {"seed": 1}}, {("/options/seed", "extra_field")}),
    ],
)
def test_refused(service: Service, fields: Json, found: set[tuple[str, str]]) -> None:
    answer = service.post(two(**fields), PATH)
    assert answer.status_code == 422, answer.text
    assert faults(answer) == found


def test_a_policy_may_have_a_barrier(service: Service) -> None:
    by_policy = two(policy={"policy": "wfbp", "barrier": True})
    found = service.post(by_policy, PATH).json()
    again = service.post(two(policy="wfbp", barrier=True), PATH).json()
    plan = service.post(two_layers(baselines=[by_policy["policy"]])).json()
    assert found["iteration_time_us"] == again["iteration_time_us"]
    assert found["iteration_time_us"] == plan["baselines"][0]["iteration_time_us"]
    assert found["request"]["barrier"] is True
    rivals = [{"policy": "wfbp", "barrier": True}]
    refused = service.client.post(
        PATH, json=two(policy="wfbp", jitter={"spread": 0, "rivals": rivals})
    )
    assert faults(refused) == {("/jitter/rivals/0/barrier", "extra_field")}


def test_only_lanes_in_use_need_a_cost(service: Service) -> None:
    body = two(policy="wfbp")
    for op in body["graph"]["ops"]:
        if op["kind"] == "all_reduce":
            op["kind"] = "all_gather"
    tables = {"all_gather": [[1, 10.0], [10_000_000, 1000.0]]}
    body["cluster"] = {"workers": 8, "algorithm": "table", "tables": tables}
    assert service.post(body, PATH).status_code == 201
    body["cluster"]["tables"] = {}
    found = faults(service.post(body, PATH))
    assert found == {("/cluster/tables/all_gather", "missing_field")}


def test_pace_is_refused_where_it_is_not_defined(service: Service, fsdp: Json) -> None:
    body = {"graph": fsdp["graph"], "cluster": fsdp["cluster"], "policy": "pace"}
    assert faults(service.post(body, PATH)) == {("/policy", "not_layered")}


def test_launches_that_wait_for_each_other_are_refused(service: Service, fsdp: Json) -> None:
    body = {"graph": fsdp["graph"], "cluster": fsdp["cluster"], "policy": "wfbp"}
    found = service.post(body, PATH).json()
    given = {"buckets": found["buckets"], "schedule": {"parts": found["schedule"]["parts"][::-1]}}
    body = {"graph": fsdp["graph"], "cluster": fsdp["cluster"], "plan": given}
    answer = service.post(body, PATH)
    assert faults(answer) == {("/plan/schedule/parts", "deadlock")}
