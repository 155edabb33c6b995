"""What ``make test`` sees of a server: an earlier release's database, a job, a page, Ctrl-C."""

import json
import os
import signal
from collections.abc import Iterator

import pytest

from tests.app.here import here
from tests.app.long import gone, needs_proc, search
from tests.app.service import Service, running, two_layers
from tests.app.test_storage import insert, of_revision
from tests.benchmarks.kills import Server
from tests.waiting import until

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server on a database that had no jobs yet, but a plan."""
    folder = tmp_path_factory.mktemp("smoke")
    engine = of_revision(folder, "0004")
    row = {
        "id": "old",
        "state": "succeeded",
        "created_at": "2026-11-01T00:00:00.000000Z",
        "finished_at": "2026-11-01T00:00:01.000000Z",
        "name": "two layers",
        "request": json.dumps(two_layers()),
        "result": '{"status": "optimal", "iteration_time_us": 1.5}',
        "status": "optimal",
        "iteration_time_us": 1.5,
    }
    with engine.begin() as connection:
        insert(connection, "plans", row)
    engine.dispose()
    with running(folder) as found:
        yield found
    assert "Traceback" not in found.log.read_text(), "the server failed inside"


def test_what_an_earlier_release_kept(smoke: Service) -> None:
    found = smoke.client.get("/v1/plans/old").json()
    assert (found["state"], found["iteration_time_us"]) == ("succeeded", 1.5)


def test_a_job(smoke: Service) -> None:
    made = smoke.post(two_layers())
    assert (made.status_code, made.json()["iteration_time_us"]) == (201, 8400.0)
    assert smoke.client.get(made.headers["location"]).json() == made.json()


def test_a_page_of_it(smoke: Service) -> None:
    pages = pytest.importorskip("tests.pages.conftest")
    if pages.CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    how = {"executable_path": pages.CHROMIUM, "args": pages.CHROMIUM_ARGUMENTS}
    made = smoke.post(two_layers()).json()
    with pages.sync_playwright() as playwright, playwright.chromium.launch(**how) as browser:
        page = browser.new_page(base_url=str(smoke.client.base_url))
        page.set_default_timeout(0)
        page.goto(f"/plans/{made['id']}")
        page.locator(".summary", has_text=made["summary"]).wait_for()


@needs_proc
def test_an_interrupt_leaves_no_process(smoke: Service) -> None:
    """With a job at work, which it hands back."""
    place = smoke.client.post("/v1/plans", json=search(), params={"wait": 0}).headers["location"]
    until(lambda: smoke.client.get(place).json()["progress"])
    processes = [*Server(smoke.log.parent).processes()]
    assert len(processes) > 1
    os.kill(smoke.process, signal.SIGINT)
    assert smoke.ended() == 130
    until(lambda: gone(processes))
    with here(smoke.log.parent) as client:
        assert client.get(place).json()["state"] == "queued"
