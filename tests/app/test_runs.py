"""Runs over HTTP: begun, reported, told, ended, deleted; what is sent twice, and what is wrong."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from app.routers.runs import EXAMPLE, PLAN, TRIAL_EXAMPLE
from tests.app.service import Json, Service, faults, two_layers

PATH = "/v1/runs"
UNKNOWN: Json = {"workers": 8, "cost_model": "x"}
SLOWER: Json = {"workers": 8, "bandwidth_gbps": 5, "startup_us": 50}


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)


def request(**fields: Any) -> Json:
    """Return the example's request; None leaves a field out."""
    body = {**copy.deepcopy(EXAMPLE), **fields}
    return {key: value for key, value in body.items() if value is not None}


def begun(service: Service, **fields: Any) -> Json:
    answer = service.client.post(PATH, json=request(**fields))
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    assert answer.headers["location"] == f"{PATH}/{found['id']}"
    return found


def taken(*numbers: Any, plan: int = 0, us: Any = 10_000.0, **fields: Any) -> list[Json]:
    """Return steps that took so long."""
    return [{"step": n, "measured_us": us, "plan": plan, **fields} for n in numbers]


def report(service: Service, run: Json, steps: list[Json]) -> Json:
    answer = service.client.post(f"{PATH}/{run['id']}/steps", json={"steps": steps})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def refused(service: Service, run: Json, what: str, body: Any) -> set[tuple[str, str]]:
    answer = service.client.post(f"{PATH}/{run['id']}/{what}", json=body)
    assert answer.status_code == 422, answer.text
    return faults(answer)


def take_over(service: Service, run: Json, **fields: Any) -> Json:
    body = {"from_step": 10, "why": "drift", "plan": PLAN, **fields}
    body = {key: value for key, value in body.items() if value is not None}
    answer = service.client.post(f"{PATH}/{run['id']}/plans", json=body)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    assert answer.headers["location"] == f"{PATH}/{run['id']}/plans/{found['index']}"
    return found


def told(service: Service, run: Json) -> Json:
    answer = service.client.get(f"{PATH}/{run['id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def test_a_run_from_its_begin_to_its_end(service: Service) -> None:
    run = begun(service, barrier=True)
    # g2 800..6450, g1 ..7900, then f1 and f2: WFBP by hand, in both cases
    assert run["plans"][0]["predicted_us"] == near(8750)
    assert (run["state"], run["workers"], run["barrier"]) == ("running", 8, True)
    assert (run["steps"], run["last_step"], run["error"], run["history"]) == (0, None, None, [])
    assert report(service, run, taken(0, 1, 2)) == {"stored": 3, "known": 0, "steps": 3}
    second = take_over(service, run, cluster=SLOWER, predicted_us=12_000)
    assert (second["index"], second["from_step"], second["why"]) == (1, 10, "drift")
    assert report(service, run, taken(10, plan=1, note="noisy", ready_spread_us=7))["steps"] == 4
    ended = service.client.post(f"{PATH}/{run['id']}/end", json={"why": "failed"}).json()
    assert (ended["state"], ended["ended_why"], ended["last_step"]) == ("ended", "failed", 10)
    found = told(service, run)
    assert found == ended
    assert [(plan["steps"], plan["measured_us"]) for plan in found["plans"]] == [
        (3, 10_000),
        (1, 10_000),
    ]
    assert found["history"][3] == {
        "step": 10,
        "plan": 1,
        "measured_us": 10_000,
        "predicted_us": 12_000,
        "ready_spread_us": 7,
        "note": "noisy",
    }
    again = service.client.post(f"{PATH}/{run['id']}/end", json={"why": "finished"}).json()
    assert again == ended  # as it was
    assert service.client.delete(f"{PATH}/{run['id']}").status_code == 204
    for path in ("", "/steps", "/plans/0"):
        assert service.client.get(f"{PATH}/{run['id']}{path}").status_code == 404


def test_errors_of_the_prediction_by_hand(service: Service) -> None:
    run = begun(service, predicted_us=100)
    times = [80, 100, 125, 100, 50]
    steps = [{"step": i, "measured_us": t, "plan": 0} for i, t in enumerate(times)]
    steps[4]["predicted_us"] = 60
    report(service, run, steps)
    take_over(service, run, predicted_us=100)
    report(service, run, taken(10, plan=1, us=400))
    found = told(service, run)
    first, second = found["plans"]
    # 1/4, 0, 1/5, 0, 1/5: in order 0, 0, 1/5, 1/5, 1/4, and 0.95 of 4 steps is 1/5 + 0.8 / 20
    assert first["error"] == {"median": near(0.2), "p95": near(0.24)}
    assert first["measured_us"] == 100
    assert second["error"] == {"median": near(0.75), "p95": near(0.75)}
    # 0, 0, 1/5, 1/5, 1/4, 3/4
    assert found["error"] == {"median": near(0.2), "p95": near(0.25 + 0.75 * 0.5)}
    assert [step["predicted_us"] for step in found["history"]] == [100, 100, 100, 100, 60, 100]


def test_graph_and_plan_by_their_ids(service: Service) -> None:
    graph = EXAMPLE["graph"]
    trace = (
        b"node1 -- Linear -- forward_compute_time=4.0, backward_compute_time=8.0, "
        b"activation_size=1.0, parameter_size=4000000.0"
    )
    stored = service.client.post("/v1/graphs", params={"name": "runs"}, content=trace).json()
    cluster = stored["cluster"]
    made = service.post({"graph": stored["graph"], "cluster": cluster})
    assert made.status_code == 201, made.text
    plan = made.json()
    ids: Json = {"graph": None, "graph_id": stored["id"], "plan": None, "plan_id": plan["id"]}
    run = begun(service, cluster=cluster, **ids)
    assert service.client.delete(f"/v1/plans/{plan['id']}").status_code == 204
    (first,) = told(service, run)["plans"]
    assert first["plan_id"] == plan["id"]
    assert first["predicted_us"] == near(plan["iteration_time_us"])
    assert first["buckets"] == len(plan["buckets"])
    whole = service.client.get(f"{PATH}/{run['id']}/plans/0").json()
    simulated = service.post(whole["request"], "/v1/simulations").json()
    assert simulated["iteration_time_us"] == near(plan["iteration_time_us"])
    answer = service.client.post(PATH, json=request(**{**ids, "graph": graph, "graph_id": None}))
    assert faults(answer) == {("/plan_id", "unknown_plan")}


def test_a_plan_of_another_graph_is_named_by_its_id(service: Service) -> None:
    plan = service.post(two_layers()).json()
    graph = copy.deepcopy(EXAMPLE["graph"])
    graph["ops"] = [op for op in graph["ops"] if op["id"] != "g1"]
    for op in graph["ops"]:
        op["after"] = [name for name in op["after"] if name != "g1"]
    body = request(graph=graph, plan=None, plan_id=plan["id"])
    answer = service.client.post(PATH, json=body)
    assert answer.status_code == 422
    assert {place for place, _ in faults(answer)} == {"/plan_id"}
    inline = request(graph=graph, plan=plan)
    places = {place for place, _ in faults(service.client.post(PATH, json=inline))}
    assert places
    assert all(place.startswith("/plan/") for place in places)


def test_a_report_may_be_sent_again(service: Service) -> None:
    run = begun(service)
    first = taken(1, 2, 3, note="a")
    assert report(service, run, first)["stored"] == 3
    assert report(service, run, first) == {"stored": 0, "known": 3, "steps": 3}
    assert report(service, run, taken(3, 4, note="a")) == {"stored": 1, "known": 1, "steps": 4}
    assert report(service, run, taken(0)) == {"stored": 1, "known": 0, "steps": 5}  # an older one
    assert told(service, run)["last_step"] == 4
    changed = [*taken(3, note="a"), *taken(4, note="b"), *taken(9)]
    assert refused(service, run, "steps", {"steps": changed}) == {("/steps/1", "step_reported")}
    assert told(service, run)["steps"] == 5  # nor is what was right of it
    service.client.post(f"{PATH}/{run['id']}/end", json={})
    assert report(service, run, first)["known"] == 3  # its answer may have been lost
    late = service.client.post(f"{PATH}/{run['id']}/steps", json={"steps": taken(5)})
    assert (late.status_code, late.json()["code"]) == (409, "run_ended")
    assert told(service, run)["steps"] == 5


def test_many_report_at_once(service: Service) -> None:
    run = begun(service)
    batches = [taken(*range(start, start + 40)) for start in range(0, 160, 20)]
    with ThreadPoolExecutor(8) as clients:
        receipts = list(clients.map(lambda steps: report(service, run, steps), batches))
    assert sum(receipt["stored"] for receipt in receipts) == 180
    assert sum(receipt["known"] for receipt in receipts) == 140
    found = told(service, run)
    assert found["steps"] == 180
    assert [step["step"] for step in found["history"]] == list(range(180))


def test_a_key_is_one_run(service: Service) -> None:
    key = {"idempotency-key": uuid4().hex}
    first = service.client.post(PATH, json=request(), headers=key)
    assert first.status_code == 201
    report(service, first.json(), taken(0))
    again = service.client.post(PATH, json=request(), headers=key)
    assert again.status_code == 201
    assert again.json()["id"] == first.json()["id"]
    assert again.json()["steps"] == 1
    other = service.client.post(PATH, json=request(name="other"), headers=key)
    assert faults(other) == {("/header/Idempotency-Key", "idempotency_key_reused")}
    assert begun(service)["id"] != begun(service)["id"]  # without a key


def test_what_a_plan_leaves_out_is_as_before(service: Service) -> None:
    run = begun(service)
    graph = copy.deepcopy(EXAMPLE["graph"])
    graph["ops"][0]["duration_us"] = 1_800  # fresh figures
    assert take_over(service, run, graph=graph)["predicted_us"] == near(9_750)
    assert take_over(service, run, from_step=20, cluster=SLOWER)["index"] == 2
    whole = service.client.get(f"{PATH}/{run['id']}/plans/2").json()["request"]
    assert whole["graph"]["ops"][0]["duration_us"] == 1_800
    assert whole["cluster"]["bandwidth_gbps"] == 5
    assert [bucket["tensors"] for bucket in whole["plan"]["buckets"]] == [["g2"], ["g1"]]
    # g2 1,800 + 50 + 11,200 at 10,000 / 28 bytes/us, g1 2,850 more, then f1 and f2
    assert told(service, run)["plans"][2]["predicted_us"] == near(
        1_800 + 50 + 5_600 * 2 + 50 + 1_400 * 2 + 850
    )


def test_a_plan_is_taken_over_once(service: Service) -> None:
    run = begun(service)
    first = take_over(service, run)
    report(service, run, taken(10, 11, plan=1))
    assert take_over(service, run) == first  # its answer may have been lost
    place = ("/from_step", "out_of_range")
    other = {"plan": PLAN, "why": "drift"}
    for wrong in ({**other, "from_step": 10, "why": "other"}, {**other, "from_step": 11}):
        assert refused(service, run, "plans", wrong) == {place}
    assert take_over(service, run, from_step=12)["index"] == 2
    assert refused(service, run, "plans", {**other, "from_step": 12, "cluster": SLOWER}) == {place}
    service.client.post(f"{PATH}/{run['id']}/end", json={})
    assert take_over(service, run, from_step=12)["index"] == 2
    late = service.client.post(f"{PATH}/{run['id']}/plans", json={**other, "from_step": 13})
    assert (late.status_code, late.json()["code"]) == (409, "run_ended")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (taken(3, 3), {("/steps/1/step", "out_of_range")}),  # twice
        (taken(3, 1, 2, 0), {("/steps/1/step", "out_of_range"), ("/steps/3/step", "out_of_range")}),
        (taken(3, plan=2), {("/steps/0/plan", "unknown_plan")}),
        (taken(9, 10), {("/steps/1/plan", "out_of_range")}),  # plan 1 is in use from 10 on
        (taken(9, plan=1), {("/steps/0/plan", "out_of_range")}),
        (taken(-1), {("/steps/0/step", "out_of_range")}),
        (taken(2**40 + 1), {("/steps/0/step", "out_of_range")}),
        (taken(1.5), {("/steps/0/step", "wrong_type")}),
        (taken(1, us=0), {("/steps/0/measured_us", "out_of_range")}),
        (taken(1, us="1"), {("/steps/0/measured_us", "wrong_type")}),
        (taken(1, predicted_us=-1), {("/steps/0/predicted_us", "out_of_range")}),
        (taken(1, ready_spread_us=-1), {("/steps/0/ready_spread_us", "out_of_range")}),
        (taken(1, note="a\nb"), {("/steps/0/note", "out_of_range")}),
        (taken(1, colour=1), {("/steps/0/colour", "extra_field")}),
        (taken(1, **{f"k{i}": 0 for i in range(100)}), {("/steps/0", "extra_field")}),
        ([{"step": 1, "plan": 0}], {("/steps/0/measured_us", "missing_field")}),
        ([{"step": 1, "measured_us": 1}], {("/steps/0/plan", "missing_field")}),
        ([], {("/steps", "out_of_range")}),
        (None, {("/steps", "wrong_type")}),
    ],
)  # fmt: skip
def test_steps_that_are_refused(service: Service, steps: Any, expected: Any) -> None:
    run = begun(service)
    take_over(service, run)
    assert refused(service, run, "steps", {"steps": steps}) == expected
    assert told(service, run)["steps"] == 0


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"plan": None}, {("/plan", "missing_field")}),
        ({"graph": None}, {("/graph", "missing_field")}),
        ({"cluster": None}, {("/cluster", "missing_field")}),
        ({"graph_id": "x"}, {("/graph_id", "extra_field")}),  # beside a graph
        ({"plan_id": "x"}, {("/plan_id", "extra_field")}),
        ({"graph": None, "graph_id": "x"}, {("/graph_id", "unknown_graph")}),
        ({"plan": None, "plan_id": "x"}, {("/plan_id", "unknown_plan")}),
        ({"colour": 1, "name": 1}, {("/name", "wrong_type"), ("/colour", "extra_field")}),
        ({"plan": {"buckets": []}}, {("/plan/schedule", "missing_field")}),
        ({"cluster": {**SLOWER, "workers": 0}}, {("/cluster/workers", "out_of_range")}),
        ({"cluster": UNKNOWN}, {("/cluster/cost_model", "unknown_cost_model")}),
        ({"predicted_us": 0}, {("/predicted_us", "out_of_range")}),
        ({"name": "a\x00"}, {("/name", "out_of_range")}),
        ({"barrier": 1}, {("/barrier", "wrong_type")}),
    ],
)  # fmt: skip
def test_runs_that_are_refused(service: Service, fields: Json, expected: Any) -> None:
    answer = service.client.post(PATH, json=request(**fields))
    assert answer.status_code == 422, answer.text
    assert faults(answer) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"plan": PLAN, "why": "drift"}, {("/from_step", "missing_field")}),
        ({"plan": PLAN, "from_step": 5}, {("/why", "missing_field")}),
        ({"plan": PLAN, "from_step": 5, "why": ""}, {("/why", "out_of_range")}),
        ({"plan": PLAN, "from_step": 0, "why": "drift"}, {("/from_step", "out_of_range")}),
        ({"from_step": 5, "why": "drift"}, {("/plan", "missing_field")}),
        ([], {("", "wrong_type")}),
    ],
)
def test_plans_that_are_refused(service: Service, body: Any, expected: Any) -> None:
    assert refused(service, begun(service), "plans", body) == expected


def test_a_long_history_is_thinned_and_paged(service: Service) -> None:
    run = begun(service)
    limits = service.client.get("/v1/limits").json()["run"]
    numbers = range(0, 5_002, 2)
    assert report(service, run, taken(*numbers))["steps"] == 2_501
    found = told(service, run)
    assert found["every"] == 3
    shown = [step["step"] for step in found["history"]]
    assert shown == list(numbers)[1::3]
    assert shown[-1] == found["last_step"] == 5_000
    assert len(shown) <= limits["history"]
    assert found["plans"][0]["steps"] == found["steps"] == 2_501
    paged: list[int] = []
    cursor: Json = {}
    while True:
        answer = service.client.get(f"{PATH}/{run['id']}/steps", params=cursor).json()
        paged += [step["step"] for step in answer["steps"]]
        if answer["next_cursor"] is None:
            break
        assert len(answer["steps"]) == 1_000
        cursor = {"cursor": answer["next_cursor"]}
    assert paged == list(numbers)
    most = limits["steps_at_once"]
    assert report(service, run, taken(*range(10_000, 10_000 + most)))["stored"] == most
    over = taken(*range(30_000, 30_001 + most))
    assert refused(service, run, "steps", {"steps": over}) == {("/steps", "out_of_range")}


def test_lists(service: Service) -> None:
    made = [begun(service, name=f"listed {i}")["id"] for i in range(3)]
    service.client.post(f"{PATH}/{made[1]}/end", json={})
    first = service.client.get(PATH, params={"limit": 2}).json()
    assert [run["id"] for run in first["runs"]] == made[:0:-1]
    assert (first["runs"][0]["name"], first["runs"][0]["plans"]) == ("listed 2", 1)
    second = service.client.get(PATH, params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert [run["id"] for run in second["runs"]] == made[:1]
    ended = service.client.get(PATH, params={"state": "ended", "limit": 1}).json()
    assert [run["id"] for run in ended["runs"]] == made[1:2]
    for wrong in ({"state": "done"}, {"cursor": "x"}, {"limit": 0}):
        assert service.client.get(PATH, params=wrong).status_code == 422


def test_what_nobody_knows(service: Service) -> None:
    run, unknown = begun(service), {"id": "0" * 16}
    for method, what, body in (
        ("GET", "", None),
        ("GET", "/steps", None),
        ("GET", "/plans/0", None),
        ("DELETE", "", None),
        ("POST", "/steps", {"steps": taken(0)}),
        ("POST", "/plans", {"plan": PLAN, "from_step": 1, "why": "drift"}),
        ("POST", "/end", {}),
    ):
        answer = service.client.request(method, f"{PATH}/{unknown['id']}{what}", json=body)
        assert (answer.status_code, answer.json()["detail"]) == (404, "No run has this id.")
    for index in ("1", "-1", "x", "9" * 30):
        answer = service.client.get(f"{PATH}/{run['id']}/plans/{index}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_trial_is_kept_once(service: Service) -> None:
    run = begun(service)
    path = f"{PATH}/{run['id']}/trials"
    for _ in range(2):
        answer = service.client.post(path, json=TRIAL_EXAMPLE)
        assert answer.status_code == 201, answer.text
        assert {k: v for k, v in answer.json().items() if k != "created_at"} == TRIAL_EXAMPLE
    early = {**TRIAL_EXAMPLE, "before_step": 0, "kept": 0, "promised": None}
    assert service.client.post(path, json=early).status_code == 201
    assert [each["before_step"] for each in told(service, run)["trials"]] == [0, 44]
    assert refused(service, run, "trials", {**TRIAL_EXAMPLE, "gain": 1.03}) == {
        ("/before_step", "step_reported")
    }
    assert service.client.post(f"{PATH}/{run['id']}/end", json={}).status_code == 200
    assert service.client.post(path, json={**early, "before_step": 1}).status_code == 409


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"kept": 2}, ("/kept", "out_of_range")),  # there are two
        ({"gain": 1.5}, ("/gain", "out_of_range")),  # above the high end
        ({"gain_low": 0}, ("/gain_low", "out_of_range")),  # no ratio of times
        ({"before_step": -1}, ("/before_step", "out_of_range")),
        ({"promised": "much"}, ("/promised", "wrong_type")),
        ({"arms": TRIAL_EXAMPLE["arms"][:1]}, ("/arms", "out_of_range")),  # beside what?
    ],
)
def test_trials_that_are_none(service: Service, fields: Json, found: tuple[str, str]) -> None:
    assert refused(service, begun(service), "trials", {**TRIAL_EXAMPLE, **fields}) == {found}
