"""A process of a job that is stopped: it holds up nobody, and its job ends by its limit."""

import math
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from app.jobs import leases
from app.jobs.local import HAND_IN_S
from app.jobs.pool import SILENT_S
from tests.app.long import busy, drafted_us, gone, needs_proc, search
from tests.app.service import running, two_layers
from tests.waiting import until

pytestmark = needs_proc
PLANS = "/v1/plans"


@contextmanager
def stopped(processes: list[int]) -> Iterator[None]:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    yield
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def is_locked(database: Path) -> bool:
    """Tell whether somebody writes."""
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


def test_no_write_is_held_up_by_a_stopped_process(tmp_path: Path) -> None:
    with running(tmp_path, INTERLACE_WORKERS="1") as service:
        place = service.client.post(PLANS, json=search(), params={"wait": 0}).headers["location"]
        until(lambda: service.client.get(place).json()["progress"])
        until(lambda: busy(service))
        children, database = busy(service), tmp_path / "interlace.db"
        for _ in range(20):
            deadline = time.monotonic() + 60
            while not is_locked(database):
                assert time.monotonic() < deadline, "the job shows itself every second"
            with stopped(children):
                until(lambda: not is_locked(database))
        service.client.delete(place)


def test_another_server_leaves_the_job_of_a_stopped_process_alone(tmp_path: Path) -> None:
    """So it does that of one that hardly gets a processor: its server is there and sees to it."""
    with running(tmp_path, INTERLACE_WORKERS="1") as service:
        place = service.client.post(PLANS, json=search(), params={"wait": 0}).headers["location"]
        until(lambda: service.client.get(place).json()["progress"])
        until(lambda: busy(service))

        def shown_at() -> str:
            found = service.client.get(place).json()
            assert (found["state"], found["attempts"]) == ("running", 1)
            text: str = found["progress"]["heartbeat_at"]
            return text

        with closing(service.store()) as store, stopped(busy(service)):
            for _ in range(3):
                before = shown_at()
                until(lambda: shown_at() > before)  # noqa: B023
                assert leases.recover(store, "another", SILENT_S) == 0
        service.client.delete(place)


def test_the_job_of_a_stopped_process_ends_by_its_limit(tmp_path: Path) -> None:
    settings = {"INTERLACE_JOB_GRACE_S": "0", "INTERLACE_WORKERS": "2"}
    with running(tmp_path, **settings) as service:
        body = search(options={"time_limit_s": 8})
        place = service.client.post(PLANS, json=body, params={"wait": 0}).headers["location"]
        until(lambda: (service.client.get(place).json()["progress"] or {}).get("incumbent_us"))
        until(lambda: busy(service))
        with stopped(busy(service)):
            assert service.post(two_layers()).status_code == 201
            found = service.client.get(place, params={"wait": 60}).json()
        assert found["state"] in {"succeeded", "timed_out"}
        began, ended = (datetime.fromisoformat(found[at]) for at in ("started_at", "finished_at"))
        assert (ended - began).total_seconds() < 8 + HAND_IN_S + 10  # on a busy machine


def test_what_a_stopped_process_told_is_kept_when_it_is_cancelled(tmp_path: Path) -> None:
    with running(tmp_path, INTERLACE_WORKERS="1") as service:
        place = service.client.post(PLANS, json=search(), params={"wait": 0}).headers["location"]
        job_id = place.rpartition("/")[2]
        until(lambda: drafted_us(service, job_id) < math.inf)
        children = busy(service)
        with stopped(children):
            known = drafted_us(service, job_id)
            found = service.client.post(f"{place}/cancel").json()
            assert (found["state"], found["iteration_time_us"]) == ("cancelled", known)
            until(lambda: gone(children))
