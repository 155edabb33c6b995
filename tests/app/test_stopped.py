"""A process of a job that is stopped: it holds up nobody, and its job ends by its limit."""

import math
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from app.jobs import leases
from app.jobs.pool import SILENT_S
from tests.app.long import busy, drafted_us, gone, needs_proc, search
from tests.app.service import Json, Service, two_layers
from tests.waiting import until

pytestmark = [needs_proc, pytest.mark.live]
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


def begun(service: Service, body: Json) -> str:
    """Begin a plan; return its place as soon as it has one in hand."""
    place: str = service.client.post(PLANS, json=body, params={"wait": 0}).headers["location"]
    until(lambda: (service.client.get(place).json()["progress"] or {}).get("incumbent_us"))
    until(lambda: busy(service))
    return place


def test_no_write_is_held_up_by_a_stopped_process(one_worker: Service) -> None:
    place = begun(one_worker, search())
    children, database = busy(one_worker), one_worker.log.parent / "interlace.db"
    for _ in range(20):
        while not is_locked(database):  # the job shows itself every second, for a moment
            pass
        with stopped(children):
            until(lambda: not is_locked(database))
    one_worker.client.delete(place)


def test_another_server_leaves_the_job_of_a_stopped_process_alone(one_worker: Service) -> None:
    """So it does that of one that hardly gets a processor: its server is there and sees to it."""
    place = begun(one_worker, search())

    def shown_at() -> str:
        found = one_worker.client.get(place).json()
        assert (found["state"], found["attempts"]) == ("running", 1)
        text: str = found["progress"]["heartbeat_at"]
        return text

    with closing(one_worker.store()) as store, stopped(busy(one_worker)):
        for _ in range(3):
            before = shown_at()
            until(lambda: shown_at() > before)  # noqa: B023
            assert leases.recover(store, "another", SILENT_S) == 0
    one_worker.client.delete(place)


def test_the_job_of_a_stopped_process_ends_by_its_limit(one_worker: Service) -> None:
    """Far from its process: that one is stopped until the job has ended."""
    place = begun(one_worker, search(options={"time_limit_s": 8}))
    with stopped(busy(one_worker)):
        small = {key: two_layers()[key] for key in ("graph", "cluster")}
        assert one_worker.post(small, "/v1/sweeps").status_code == 201, "others are served"
        until(lambda: one_worker.client.get(place).json()["finished_at"])
    assert one_worker.client.get(place).json()["state"] in {"succeeded", "timed_out"}


def test_what_a_stopped_process_told_is_kept_when_it_is_cancelled(one_worker: Service) -> None:
    place = begun(one_worker, search())
    job_id = place.rpartition("/")[2]
    until(lambda: drafted_us(one_worker, job_id) < math.inf)
    children = busy(one_worker)
    with stopped(children):
        known = drafted_us(one_worker, job_id)
        found = one_worker.client.post(f"{place}/cancel").json()
        assert (found["state"], found["iteration_time_us"]) == ("cancelled", known)
        until(lambda: gone(children))
