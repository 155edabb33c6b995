"""Figures for Prometheus: as its own parser reads them, of the real server."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app import VERSION
from app.operations.metrics import MAX_BYTES, Metrics, bounded
from tests.app.here import Here, here
from tests.app.service import Service, two_layers
from tests.waiting import until

Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Here]:
    """A service that only one test asks."""
    with here(tmp_path) as found:
        yield found


def parsed(text: str) -> dict[Sample, float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(client: Any) -> dict[Sample, float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parsed(answer.text)


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def test_requests(own: Here) -> None:
    plan = own.post("/v1/plans", json=two_layers()).json()["id"]
    for _ in range(3):
        own.get(f"/v1/plans/{plan}")
    own.get("/v1/plans/nobody")
    own.put("/v1/plans", content=b"x" * 1_000)
    found = scraped(own)
    name, route = "interlace_http_requests_total", "/v1/plans/{job_id}"
    assert value(found, name, method="GET", route=route, status="200") == 3
    assert value(found, name, method="GET", route=route, status="404") == 1
    assert value(found, name, method="POST", route="/v1/plans", status="202") == 1
    assert value(found, name, method="PUT", route="/v1/plans", status="405") == 1
    took = "interlace_http_request_duration_seconds"
    assert value(found, f"{took}_count", method="GET", route=route) == 4
    assert value(found, f"{took}_bucket", method="GET", route=route, le="60.0") == 4
    assert 0 < value(found, f"{took}_sum", method="GET", route=route) < 60
    assert value(found, "interlace_http_request_bytes_total", route="/v1/plans") > 500
    assert value(found, "interlace_http_response_bytes_total", route=route) > 1_000
    assert value(found, "interlace_http_requests_in_flight") == 1  # this one


def test_no_client_makes_new_labels(own: Here) -> None:
    def ask(word: str) -> None:
        own.get(f"/{word}")
        own.get(f"/v1/plans/{word}")
        own.get(f"/swagger/{word}")
        own.get(f"/v1/plans?{word}={word}")
        own.request(word.upper(), "/healthz")
        own.request(word.upper(), f"/{word}")

    ask("first")
    before = scraped(own).keys()
    for i in range(5):
        ask(f"again{i}")
    after = scraped(own).keys()
    assert {name for name, labels in after - before if ("route", "/metrics") not in labels} == set()
    assert not any("again" in label for _, labels in after for _, label in labels)
    assert ("method", "other") in set().union(*(labels for _, labels in after))


def test_jobs(service: Service) -> None:
    ended = "interlace_jobs_ended_total"
    began: dict[str, float] = {}

    def since(name: str, **labels: str) -> float:
        found = scraped(service.client).get((name, frozenset(labels.items())), 0.0)
        return found - began.setdefault(name, found)

    how = ("interlace_job_wait_seconds_count", "interlace_job_run_seconds_count")
    since(ended, kind="plan", state="succeeded")
    for name in (*how, "interlace_job_run_seconds_sum"):
        since(name, kind="plan")
    service.post(two_layers(seed=5))
    until(lambda: since(ended, kind="plan", state="succeeded") == 1)  # after its call is answered
    assert [since(name, kind="plan") for name in how] == [1, 1]
    assert since("interlace_job_run_seconds_sum", kind="plan") > 0
    found = scraped(service.client)
    for kind in ("plan", "simulation", "sweep", "parameter_server", "ranking", "import"):
        for state in ("queued", "running"):
            assert value(found, "interlace_jobs", kind=kind, state=state) == 0
    ended_ones = {name for name, labels in found if ("state", "succeeded") in labels}
    assert "interlace_jobs" not in ended_ones


def test_the_process_and_the_release(own: Here) -> None:
    found = scraped(own)
    assert value(found, "interlace_build_info", version=VERSION) == 1
    assert value(found, "interlace_storage_up") == 1
    if Path("/proc/self/stat").is_file():
        assert value(found, "process_resident_memory_bytes") > 2**24
        assert value(found, "process_open_fds") > 3


def test_while_the_database_is_locked(own: Here, tmp_path: Path) -> None:
    """It is locked until the figures have come."""
    assert value(scraped(own), "interlace_storage_up") == 1
    with closing(sqlite3.connect(tmp_path / "interlace.db", isolation_level=None)) as locked:
        locked.execute("BEGIN EXCLUSIVE")
        scraped(own)
        locked.execute("ROLLBACK")


def test_times_of_jobs() -> None:
    metrics, at = Metrics(["plan", "sweep"]), "2026-01-01T00:00:{}Z".format
    metrics.job_ended("plan", "failed", at("01"), at("03.5"), at("07.25"))
    metrics.job_ended("plan", "failed", at("01"), None, at("02"))
    metrics.job_ended("plan", "failed", at("05"), at("04"), at("04"))
    metrics.child_died("plan", "by signal SIGKILL")
    counts = [("plan", "queued", 7), ("sweep", "running", 1), ("plan", "failed", 3)]
    found = parsed(metrics.render(counts).decode())
    assert value(found, "interlace_jobs_ended_total", kind="plan", state="failed") == 3
    assert value(found, "interlace_job_wait_seconds_sum", kind="plan") == 2.5
    assert value(found, "interlace_job_run_seconds_sum", kind="plan") == 3.75
    assert value(found, "interlace_job_wait_seconds_count", kind="plan") == 2
    died = "interlace_job_children_died_total"
    assert value(found, died, kind="plan", reason="by signal SIGKILL") == 1
    assert value(found, "interlace_jobs", kind="plan", state="queued") == 7
    assert value(found, "interlace_jobs", kind="sweep", state="running") == 1
    assert value(found, "interlace_jobs", kind="plan", state="running") == 0


def test_each_service_counts_for_itself() -> None:
    one, other = Metrics(["plan"]), Metrics(["plan"])
    one.child_died("plan", "x")
    assert b"interlace_job_children_died_total{" in one.render(None)
    assert b"interlace_job_children_died_total{" not in other.render(None)


def test_what_is_too_long_leaves_out_its_largest_families() -> None:
    metrics = Metrics(["plan"])
    short = metrics.render([])
    assert bounded(short, len(short)) == short
    assert b"left_out" not in short
    for route in range(400):
        metrics.request_began()
        metrics.request_ended("GET", f"/v1/route {route}", 200, 0.1, read=1, sent=2)
    text = metrics.render([("plan", "queued", 7)])
    assert MAX_BYTES / 4 < len(text) <= MAX_BYTES
    found = parsed(text.decode())
    took = "interlace_http_request_duration_seconds"
    assert value(found, "interlace_metrics_left_out", family=took) == 1
    assert not any(name.startswith(took) for name, _ in found)
    requests = [name for name, _ in found if name == "interlace_http_requests_total"]
    assert len(requests) == 400, "what is there is whole"
    assert value(found, "interlace_jobs", kind="plan", state="queued") == 7
    assert len(bounded(text, 1_000)) <= 2_000, "families that are left out are named"
