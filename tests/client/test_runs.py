"""Runs from both clients, against the real service, and reports whose answer was lost."""

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.routers.runs import TRIAL_EXAMPLE
from app.services.examples import CLUSTER, TWO_LAYERS
from interlace_client import (
    AsyncClient,
    Client,
    Plan,
    PredictionError,
    Run,
    Step,
    UnexpectedAnswer,
    problems,
)
from tests.app.service import Service
from tests.client.conftest import Ask, asked

GRAPH: Any = TWO_LAYERS["graph"]
SLOWER: Any = {**CLUSTER, "bandwidth_gbps": 5}


@pytest.fixture(scope="module")
def plan(service: Service) -> Plan:
    with Client(str(service.client.base_url)) as client:
        return client.plan(GRAPH, cluster=CLUSTER, options={"baselines": []})


def test_a_run(ask_server: Ask, plan: Plan) -> None:
    run = ask_server("start_run", GRAPH, cluster=CLUSTER, plan=plan, name="mine", runtime="a 1")
    assert isinstance(run, Run)
    assert (run.name, run.state, run.workers, run.runtime) == ("mine", "running", 8, "a 1")
    assert run.plans[0].predicted_us == pytest.approx(plan.iteration_time_us)
    assert run.plans[0].error is run.error is None
    us = run.plans[0].predicted_us
    taken = [Step(0, 0, us / 0.9), Step(1, 0, us / 0.8, note="a"), Step(2, 0, us, us * 1.5)]
    assert ask_server("report_steps", run, taken) == 3
    assert ask_server("report_steps", run.id, taken) == 0
    assert ask_server("report_steps", run, []) == 0
    other = ask_server("report_plan", run, plan.id, from_step=5, why="drift", cluster=SLOWER)
    assert (other.index, other.from_step, other.why, other.plan_id) == (1, 5, "drift", plan.id)
    assert other.predicted_us > us
    assert ask_server("report_steps", run, [Step(5, 1, 2 * other.predicted_us)]) == 1
    found = ask_server("read_run", run)
    assert [each.steps for each in found.plans] == [3, 1]
    assert found.plans[0].error.median == pytest.approx(0.2)
    assert isinstance(found.error, PredictionError)
    assert (found.error.median, found.error.p95) == pytest.approx((0.35, 0.5))
    assert [each.step for each in found.history] == [0, 1, 2, 5]
    assert found.history[1] == Step(1, 0, us / 0.8, us, None, "a")
    assert (found.every, found.steps, found.last_step) == (1, 4, 5)
    assert Run.of(json.loads(json.dumps(found.raw))) == found
    trial = ask_server("report_trial", run, TRIAL_EXAMPLE)
    assert (trial.kept, trial.arms[1].is_plan, trial.gain) == (1, True, 1.035)
    assert ask_server("read_run", run).trials == (trial,)
    ended = ask_server("end_run", run, "stopped")
    assert (ended.has_ended, ended.ended_why, found.has_ended) == (True, "stopped", False)
    with pytest.raises(problems.RunEnded):
        ask_server("report_steps", run, [Step(6, 1, 10)])
    ask_server("delete_run", run)
    with pytest.raises(problems.NotFound):
        ask_server("read_run", run.id)


def test_refusals(ask_server: Ask, plan: Plan) -> None:
    with pytest.raises(problems.UnknownPlan):
        ask_server("start_run", GRAPH, cluster=CLUSTER, plan="none")
    with pytest.raises(problems.UnknownGraph):
        ask_server("start_run", "none", cluster=CLUSTER, plan=plan)
    run = ask_server("start_run", GRAPH, cluster=CLUSTER, plan=plan.raw)
    with pytest.raises(problems.UnknownPlan):
        ask_server("report_steps", run, [Step(0, 1, 10)])
    assert ask_server("report_steps", run, [Step(0, 0, 10)]) == 1
    with pytest.raises(problems.StepReported) as caught:
        ask_server("report_steps", run, [Step(0, 0, 11)])
    assert caught.value.instance == f"/v1/runs/{run.id}/steps"


def test_pages(ask_server: Ask, plan: Plan) -> None:
    made = [
        ask_server("start_run", GRAPH, cluster=CLUSTER, plan=plan, name=str(i)).id for i in range(3)
    ]
    ask_server("end_run", made[0])
    first = ask_server("runs", limit=2)
    assert [run.id for run in first.runs] == made[:0:-1]
    assert (first.runs[0].plans, first.runs[0].history, first.runs[0].raw["plans"]) == ((), (), 1)
    second = ask_server("runs", limit=1, cursor=first.next_cursor)
    assert [run.id for run in second.runs] == made[:1]
    assert ask_server("runs", limit=1, states=["ended"]).runs[0].id == made[0]


def test_one_key_is_one_run(ask_server: Ask, plan: Plan) -> None:
    how: Any = {"cluster": CLUSTER, "plan": plan, "idempotency_key": uuid4().hex}
    assert ask_server("start_run", GRAPH, **how).id == ask_server("start_run", GRAPH, **how).id


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_lost_answer(service: Service, plan: Plan, kind: type) -> None:
    """What was done, and whose answer did not arrive, is done once."""
    url = str(service.client.base_url)
    lost: list[str] = []

    def losing(request: httpx.Request) -> httpx.Response:
        place = f"{url}{request.url.path}"
        headers, content = request.headers, request.content
        answer = httpx.post(place, headers=headers, content=content, timeout=None, trust_env=False)
        if request.url.path not in lost:
            lost.append(request.url.path)
            raise httpx.ReadTimeout("lost")
        return httpx.Response(answer.status_code, content=answer.content)

    how: Any = {"client": {"transport": httpx.MockTransport(losing)}}
    run = asked(kind, url, "start_run", GRAPH, cluster=CLUSTER, plan=plan, **how)
    assert asked(kind, url, "report_steps", run, [Step(0, 0, 10)], **how) == 0  # they were there
    taken = asked(kind, url, "report_plan", run, plan, from_step=3, why="drift", **how)
    assert taken.index == 1
    assert len(lost) == 3
    with Client(url) as other:
        found = other.read_run(run)
    assert (found.steps, len(found.plans)) == (1, 2)


def test_no_run(service: Service) -> None:
    answer = httpx.MockTransport(lambda _: httpx.Response(200, json={"id": "x"}))
    with Client("http://fake", transport=answer) as client, pytest.raises(UnexpectedAnswer):
        client.read_run("x")
