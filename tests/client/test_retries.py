"""What is sent again, when, and what is not."""

import logging
from typing import Any

import httpx
import pytest

from interlace_client import (
    PLANS,
    AsyncClient,
    Client,
    ProblemError,
    Unreachable,
    WaitTimeout,
    problems,
)
from tests.client.conftest import Ask, asked
from tests.client.fake import FakeService, lost, lost_answer, plain, refused

PASSING = [
    lost(),
    lost(httpx.ReadTimeout),
    lost(httpx.RemoteProtocolError),
    lost_answer,
    plain(502, "<html>bad gateway"),
    plain(504, ""),
    refused(503, "queue_full", retry_after="2"),
    refused(503, "storage_unavailable"),
    refused(503, "code_of_a_newer_server"),
    refused(408, "request_timeout"),
    plain(429, "slow down"),
]


@pytest.mark.parametrize("trouble", PASSING)
def test_passing_trouble(ask: Ask, trouble: Any, caplog: pytest.LogCaptureFixture) -> None:
    service = FakeService(trouble, ends_at=3)
    with caplog.at_level(logging.WARNING, "interlace_client"):
        assert ask(service, "run", PLANS, {}).iteration_time_us == 110
    first, second = service.seen
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.read() == second.read()
    assert len(service.jobs) == 1
    (line,) = caplog.messages
    assert "POST /v1/plans" in line
    assert "(1 of 3)" in line


@pytest.mark.parametrize(
    "trouble",
    [
        refused(400, "not_json"),
        refused(404, "not_found"),
        refused(409, "no_result"),
        refused(413, "too_large"),
        refused(422, "cycle"),
        refused(500, "internal_error"),
        refused(503, "time_limit"),
        refused(503, "worker_died"),
        refused(503, "out_of_memory"),
        refused(503, "code_of_a_newer_server", location="/v1/plans/7"),
        plain(501, "no"),
    ],
)
def test_lasting_trouble(ask: Ask, trouble: Any) -> None:
    service = FakeService(trouble)
    with pytest.raises(ProblemError):
        ask(service, "run", PLANS, {})
    assert len(service.seen) == 1


def test_tries_end(ask: Ask) -> None:
    service = FakeService(*[lost()] * 9)
    with pytest.raises(Unreachable, match=r"^POST http://fake/under/v1/plans: lost on"):
        ask(service, "run", PLANS, {}, retries=3)
    assert len(service.seen) == 4
    assert len({each.headers["idempotency-key"] for each in service.seen}) == 1
    for pause, longest in zip(service.slept, [0.5, 1, 2], strict=True):
        assert longest / 2 <= pause <= longest


@pytest.mark.parametrize(
    ("base_url", "told"),
    [
        ("http://planner:8000", "http://planner:8000/v1/plans"),
        ("https://me:secret@planner/under/", "https://planner/under/v1/plans"),
        ("http://me%40here:se%3Acret@[::1]:8000", "http://[::1]:8000/v1/plans"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_unreachable_tells_where(kind: type, base_url: str, told: str) -> None:
    transport = FakeService(lost()).transport
    with pytest.raises(Unreachable) as caught:
        asked(kind, base_url, "list", PLANS, tag="t", client={"transport": transport, "retries": 0})
    assert str(caught.value) == f"GET {told}: lost on the way"


def test_last_refusal_is_the_error(ask: Ask) -> None:
    service = FakeService(*[refused(503, "queue_full")] * 9)
    with pytest.raises(problems.QueueFull, match=r"It is queue_full\. \(queue_full, 503\)"):
        ask(service, "run", PLANS, {}, retries=2)
    assert len(service.seen) == 3


def test_pause_that_the_server_asks_for(ask: Ask) -> None:
    service = FakeService(
        refused(503, "queue_full", retry_after="7"),
        refused(503, "queue_full", retry_after="Fri, 31 Dec 1999 23:59:59 GMT"),
        refused(503, "queue_full", retry_after="soon"),
        refused(503, "queue_full", retry_after="Fri, 31 Dec 2099 23:59:59 GMT"),
        ends_at=300,
    )
    ask(service, "run", PLANS, {}, retries=4)
    assert service.slept[0] == 7
    assert all(pause <= 8 for pause in service.slept[1:3])
    assert service.slept[3] == 60  # no longer, whatever it says


def test_no_pause_goes_beyond_the_timeout(ask: Ask) -> None:
    service = FakeService(*[refused(503, "queue_full", retry_after="30")] * 9)
    with pytest.raises(problems.QueueFull):
        ask(service, "run", PLANS, {}, timeout_s=10)
    assert service.slept == []


def test_request_gets_no_more_time_than_is_left(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    with pytest.raises(WaitTimeout):
        ask(service, "run", PLANS, {}, timeout_s=5)
    times = [each.extensions["timeout"]["read"] for each in service.seen]
    assert times[0] == 5
    assert all(time <= 3 for time in times[1:])
    unbound = FakeService(ends_at=100)
    ask(unbound, "run", PLANS, {})
    assert [each.extensions["timeout"]["read"] for each in unbound.seen] == [60, 60]


def test_later_try_asks_for_a_shorter_wait(ask: Ask) -> None:
    def slow(service: FakeService) -> Any:
        service.now += 6
        raise httpx.ReadTimeout("nothing came")

    service = FakeService(slow, ends_at=100)
    with pytest.raises(WaitTimeout) as caught:  # and not Unreachable: the job is known by then
        ask(service, "run", PLANS, {}, timeout_s=10)
    assert caught.value.job_id
    first, second = (each.headers["prefer"] for each in service.seen[:2])
    assert (first, second in {"wait=1", "wait=2"}) == ("wait=5", True), "half of what is left"


def test_trouble_between_polls(ask: Ask) -> None:
    service = FakeService(ends_at=100)
    job = ask(service, "submit", PLANS, {})
    service.troubles = [lost(), plain(502, "restarting"), refused(503, "storage_unavailable")]
    assert ask(service, "wait", job).id == job.id
    service = FakeService(ends_at=100)
    job = ask(service, "submit", PLANS, {})
    service.troubles = [lost()] * 9
    with pytest.raises(Unreachable) as caught:
        ask(service, "wait", job)
    assert caught.value.job_id == job.id


def test_job_that_was_deleted_already(ask: Ask) -> None:
    service = FakeService(ends_at=0)
    job = ask(service, "submit", PLANS, {})
    service.troubles = [lost(), refused(404, "not_found")]
    ask(service, "delete", job)  # the first try did it
    service.troubles = [refused(404, "not_found")]
    with pytest.raises(problems.NotFound):
        ask(service, "delete", job)


def test_each_request_has_a_key_of_its_own(ask: Ask) -> None:
    service = FakeService(ends_at=0)
    ask(service, "run", PLANS, {})
    ask(service, "run", PLANS, {})
    assert len(service.jobs) == 2


@pytest.mark.parametrize("url", ["service:8000", "ftp://service", "http://", "http://a:b:c"])
def test_wrong_base_url(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL"):
        Client(url)


def test_nan_is_not_sent(ask: Ask) -> None:
    service = FakeService()
    with pytest.raises(ValueError, match="not JSON compliant"):
        ask(service, "plan", {"ops": [{"duration_us": float("nan")}]}, cluster={})
    assert service.seen == []
