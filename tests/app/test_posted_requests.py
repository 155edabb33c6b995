"""Requests as they were posted, to be posted again with a change; and what is drawn beside."""

import json

import pytest

from app.names import RIVALS
from app.routers.parameter_servers import EXAMPLE as PREDICTED
from app.routers.shapes import EXAMPLE as RANKED
from app.routers.simulations import EXAMPLE as SIMULATED
from app.routers.sweeps import EXAMPLE as SWEPT
from app.services.examples import TWO_LAYERS
from solver.policies import POLICIES
from tests.app.long import search
from tests.app.service import Json, Service, faults, two_layers


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/plans", TWO_LAYERS),
        ("/v1/simulations", SIMULATED),
        ("/v1/sweeps", SWEPT),
        ("/v1/predictions/parameter-server", PREDICTED),
        ("/v1/shapes/rankings", {**RANKED, "planned": 0}),
    ],
)
def test_what_was_posted_is_given_back(service: Service, path: str, body: Json) -> None:
    made = service.post(body, path)
    assert made.status_code == 201
    answer = service.client.get(f"{made.headers['location']}/request")
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(body))


def test_it_is_there_while_the_job_runs_and_without_its_byte_order_mark(service: Service) -> None:
    body = json.dumps(search()).encode()
    headers = {"content-type": "application/json", "prefer": "wait=0"}
    made = service.client.post("/v1/plans", content=b"\xef\xbb\xbf" + body, headers=headers)
    place = made.headers["location"]
    assert service.client.get(f"{place}/request").content == body
    service.client.delete(place)
    assert service.client.get(f"{place}/request").status_code == 404


def test_a_plan_is_drawn_beside_any_policy(service: Service) -> None:
    slow = {"policy": "ddp", "bucket_cap_mb": 0.001, "barrier": True}
    plan = service.post(two_layers(baselines=["wfbp", slow])).json()
    place = f"/v1/plans/{plan['id']}/timeline.json"
    for name in ["fifo", *POLICIES]:
        trace = service.client.get(place, params={"beside": name}).json()
        told = trace["otherData"][f"{name}_iteration_time_us"]
        ends = [e["ts"] + e["dur"] for e in trace["traceEvents"] if (e["ph"], e["pid"]) == ("X", 2)]
        assert told == pytest.approx(max(ends)), name
    times = {each["policy"]: each["iteration_time_us"] for each in plan["baselines"]}
    for name, time_us in times.items():  # with its parameters, and its barrier
        trace = service.client.get(place, params={"beside": name}).json()
        assert trace["otherData"][f"{name}_iteration_time_us"] == time_us


def test_a_plan_is_drawn_beside_what_you_run(service: Service) -> None:
    plan = service.post(two_layers()).json()
    place = f"/v1/plans/{plan['id']}/timeline.json"
    (today,) = {
        gain["today_us"]
        for gain in plan["headline"]["gains"]
        if (gain["over"], gain["barrier"]) == ("ddp", False)
    }
    alone = service.client.get(place)
    assert alone.json()["otherData"]["ddp_iteration_time_us"] == today
    assert alone.content == service.client.get(place, params={"beside": "ddp"}).content


def test_an_unknown_rival_is_told_the_names(service: Service) -> None:
    plan = service.post(two_layers()).json()
    place = f"/v1/plans/{plan['id']}/timeline.json"
    answer = service.client.get(place, params={"beside": "lifo"})
    assert answer.status_code == 422
    assert all(name in answer.text for name in RIVALS)
    program = service.client.get(place, params={"beside": "xla_lhs"})
    assert faults(program) == {("/query/beside", "not_supported")}


def test_a_changed_graph_is_drawn_below(service: Service) -> None:
    changes = [{"match": "*", "bytes_factor": 0.5}]
    found = service.post(SIMULATED | {"what_if": changes}, "/v1/simulations").json()
    place = f"/v1/simulations/{found['id']}/timeline.json"
    trace = service.client.get(place, params={"what_if": True}).json()
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert names == ["ddp", "what_if"]
    told = trace["otherData"]["what_if_iteration_time_us"]
    assert told == found["what_if"]["iteration_time_us"] < found["iteration_time_us"]
    alone = service.client.get(place).json()["traceEvents"]
    assert alone == trace["traceEvents"][: len(alone)]
    plain = service.post(SIMULATED, "/v1/simulations").json()
    refused = service.client.get(f"/v1/simulations/{plain['id']}/timeline.json?what_if=true")
    assert faults(refused) == {("/query/what_if", "missing_field")}
