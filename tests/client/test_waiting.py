"""How the clients wait for jobs, against a service that is on paper."""

import json
import pickle
from typing import Any

import pytest

from interlace_client import (
    PLANS,
    Cancelled,
    Plan,
    ProblemError,
    UnexpectedAnswer,
    WaitTimeout,
    problems,
)
from tests.client.conftest import Ask
from tests.client.fake import NOTHING, PLAN, FakeService, lost, plain, refused

CLUSTER = {"workers": 2, "bandwidth_gbps": 10, "startup_us": 0}


def test_plan_that_is_made_within_the_wait(ask: Ask) -> None:
    service = FakeService(ends_at=3)
    plan = ask(service, "plan", {"ops": []}, cluster=CLUSTER, options={"seed": 1}, tags=["a", "b"])
    assert isinstance(plan, Plan)
    assert (plan.iteration_time_us, plan.gap, plan.status) == (110, 0.1, "feasible")
    assert plan.buckets[0].tensors == ("g1", "g2")
    assert (plan.parts[0].bucket, plan.baselines[0].iteration_time_us) == ("b0", None)
    assert plan.raw["version"] == "9"
    assert service.requests() == [("POST", "/under/v1/plans?tag=a&tag=b")]
    sent = service.seen[0]
    assert sent.read() == (
        b'{"graph": {"ops": []}, "cluster": {"workers": 2, "bandwidth_gbps": 10, "startup_us": 0}, '
        b'"options": {"seed": 1}}'
    )
    assert sent.headers["prefer"] == "wait=50"
    assert "cache-control" not in sent.headers


def test_stored_graph_and_a_new_answer(ask: Ask) -> None:
    service = FakeService(ends_at=0)
    ask(service, "plan", "f00d", cluster=CLUSTER, use_stored=False, idempotency_key="mine")
    sent = service.seen[0]
    assert sent.read().startswith(b'{"graph_id": "f00d", "cluster"')
    assert sent.headers["cache-control"] == "no-store"
    assert sent.headers["idempotency-key"] == "mine"


def test_long_polls_until_the_end(ask: Ask) -> None:
    service = FakeService(ends_at=120)
    assert ask(service, "run", PLANS, {}).iteration_time_us == 110
    waits = [path.partition("?")[2] for _, path in service.requests()]
    assert waits == ["", "wait=50.000", "wait=50.000"]
    assert service.now == 120
    assert service.slept == []


def test_progress_is_heard_within_a_second(ask: Ask) -> None:
    service = FakeService(ends_at=9.25)
    service.progress = lambda now: {"phase": "search", "completed": int(now), "total": 10}
    heard: list[Any] = []
    ask(service, "run", PLANS, {}, on_progress=lambda told: heard.append((service.now, told)))
    counts = [told.completed for _, told in heard]
    assert counts == [*range(10), 9]
    assert [told.state for _, told in heard] == ["running"] * 10 + ["succeeded"]
    assert all(now - told.completed < 1 for now, told in heard)
    assert {told.phase for _, told in heard} == {"search"}
    assert heard[0][1].gap is None


def test_timeout_leaves_the_job(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    with pytest.raises(WaitTimeout, match="did not end in 10 s; it goes on") as caught:
        ask(service, "run", PLANS, {}, timeout_s=10)
    assert service.now <= 10
    assert service.now > 9.9
    assert service.seen[0].headers["prefer"] == "wait=5"  # half, so that the job is known
    assert (caught.value.job_id, caught.value.job.state) == ("0" * 16, "running")
    assert (caught.value.cancelled, caught.value.result) == (False, None)
    assert all(method != "DELETE" for method, _ in service.requests())
    assert ask(service, "wait", caught.value.job).iteration_time_us == 110


def test_timeout_cancels_if_asked(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    service.cancelled_with = PLAN
    with pytest.raises(WaitTimeout, match="was cancelled") as caught:
        ask(service, "run", PLANS, {}, timeout_s=2, cancel_on_timeout=True)
    assert service.requests()[-1] == ("POST", f"/under/v1/plans/{'0' * 16}/cancel")
    assert caught.value.cancelled
    assert caught.value.result.iteration_time_us == 110
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.job_id, again.result, again.cancelled) == ("0" * 16, caught.value.result, True)


def test_job_that_ends_while_it_is_cancelled(ask: Ask) -> None:
    class Late(FakeService):
        def handle(self, request: Any) -> Any:
            if request.url.path.endswith("/cancel"):
                self.ends_at = self.now
                request = type(request)("GET", str(request.url).removesuffix("/cancel"))
            return super().handle(request)

    service = Late(ends_at=100)
    plan = ask(service, "run", PLANS, {}, timeout_s=2, cancel_on_timeout=True)
    assert plan.iteration_time_us == 110


def test_cancellation_that_does_not_arrive(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    job = ask(service, "submit", PLANS, {})
    service.troubles = [lost()] * 9
    with pytest.raises(WaitTimeout, match="nor was it cancelled") as caught:
        ask(service, "wait", job, timeout_s=0, cancel_on_timeout=True)
    assert not caught.value.cancelled
    assert len(service.seen) == 2  # once: nobody waits for it any more


@pytest.mark.parametrize("best", [None, PLAN])
def test_cancelled_by_somebody(ask: Ask, best: Any) -> None:
    service = FakeService(ends_at=60, state="cancelled", **(best or NOTHING))
    with pytest.raises(Cancelled) as caught:
        ask(service, "run", PLANS, {})
    assert (caught.value.result is None) == (best is None)
    assert pickle.loads(pickle.dumps(caught.value)).job_id == caught.value.job_id == "0" * 16


@pytest.mark.parametrize("ends_at", [1, 60], ids=["within the wait", "later"])
@pytest.mark.parametrize(
    ("state", "status", "code", "kind"),
    [
        ("timed_out", 503, "time_limit", problems.TimeLimit),
        ("failed", 503, "worker_died", problems.WorkerDied),
        ("failed", 503, "out_of_memory", problems.OutOfMemory),
        ("failed", 500, "internal_error", problems.InternalError),
        ("failed", 422, "cycle", problems.Cycle),
        ("failed", 503, "code_of_a_newer_server", ProblemError),
    ],
)
def test_job_that_failed(
    ask: Ask, ends_at: float, state: str, status: int, code: str, kind: type
) -> None:
    errors = [{"pointer": "/graph", "code": code, "detail": "That."}]
    error = {"status": status, "code": code, "detail": "So it is.", "errors": errors}
    service = FakeService(ends_at=ends_at, state=state, error=error, **NOTHING)
    with pytest.raises(ProblemError) as caught:
        ask(service, "run", PLANS, {})
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code, caught.value.job_id) == (status, code, "0" * 16)
    assert caught.value.instance == "/v1/plans/" + "0" * 16
    assert caught.value.faults[0].pointer == "/graph"
    assert len(service.seen) == (1 if ends_at == 1 else 2)  # never again: the work itself failed


def test_server_that_does_not_wait_is_not_asked_all_the_time(ask: Ask) -> None:
    class Leaving(FakeService):
        def pass_(self, seconds: float) -> None:
            self.now += 0.001

    service = Leaving(ends_at=10)
    ask(service, "run", PLANS, {})
    assert len(service.seen) < 25


def test_methods_of_jobs(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    job = ask(service, "submit", PLANS, {"graph": 1}, tags=["a"])
    assert (job.state, job.result, job.tags, job.attempts) == ("running", None, ("a",), 1)
    assert service.seen[0].headers["prefer"] == "wait=0"
    assert ask(service, "get", PLANS, job.id) == job
    service.cancelled_with = PLAN
    cancelled = ask(service, "cancel", job)
    assert (cancelled.state, cancelled.has_ended) == ("cancelled", True)
    assert cancelled.result.buckets[0].id == "b0"
    assert ask(service, "delete", job) is None


def test_list(ask: Ask) -> None:
    summary = {"id": "1", "state": "running", "name": "n", "iteration_time_us": 7.0, "status": None}
    pages = [{"plans": [], "next_cursor": None}, {"plans": [summary], "next_cursor": "c2"}]
    service = FakeService(*[plain(200, json.dumps(each)) for each in pages])
    assert ask(service, "list", PLANS).jobs == ()
    page = ask(service, "list", PLANS, limit=1, cursor="c1", states=["queued", "running"], tag="a")
    assert service.requests()[1][1] == (
        "/under/v1/plans?limit=1&cursor=c1&state=queued&state=running&tag=a"
    )
    assert (page.next_cursor, page.jobs[0].id, page.jobs[0].result) == ("c2", "1", None)
    assert page.jobs[0].raw["name"] == "n"


@pytest.mark.parametrize(
    "text", ["<html>", "[1]", "{}", '{"id": "1"}', '{"id": "1", "state": "queued", "progress": 3}']
)
def test_answer_of_something_else(ask: Ask, text: str) -> None:
    with pytest.raises(UnexpectedAnswer):
        ask(FakeService(plain(200, text), plain(200, text)), "run", PLANS, {})
    with pytest.raises(UnexpectedAnswer):
        ask(FakeService(plain(200, text)), "list", PLANS)


def test_poll_that_fails_names_the_job(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    job = ask(service, "submit", PLANS, {})
    service.troubles = [refused(404, "not_found")]
    with pytest.raises(problems.NotFound) as caught:
        ask(service, "wait", job)
    assert caught.value.job_id == job.id
