"""Several servers share a PostgreSQL database: their clocks, their start, its restarts."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from app.errors import StorageUnavailable
from app.jobs import leases, queue
from app.jobs.kinds import PLAN
from app.jobs.leases import Claim
from app.jobs.pool import SILENT_S, Pool
from app.jobs.progress import ProgressWriter
from app.jobs.queue import NewJob, Room, Submission
from app.operations.settings import Settings
from app.routers.cost_models import EXAMPLE
from app.storage.clock import ago
from app.storage.database import Store
from app.storage.tables import JobRow
from tests.app.long import gone, needs_proc, search
from tests.app.postgres import Cluster
from tests.app.service import ROOT, Json, Service, faults, running, two_layers
from tests.benchmarks.restarts import restarted
from tests.waiting import pause, until

PLANS = "/v1/plans"
#: Read by each Python at its start: the clock of the machine is wrong.
_WRONG_CLOCK = """
import app.storage.clock as clock
from datetime import datetime, timedelta

class Wrong(datetime):
    @classmethod
    def now(cls, zone=None):
        return datetime.now(zone) + timedelta(seconds={seconds})

clock.datetime = Wrong
"""


def with_clock(folder: Path, seconds: float) -> dict[str, str]:
    """Return what starts a server whose clock is ahead so much [s]."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_WRONG_CLOCK.format(seconds=seconds))
    return {"PYTHONPATH": f"{folder}:{ROOT}", "INTERLACE_WORKERS": "1"}


def begin(service: Service, body: Json) -> str:
    """Post without waiting; return the place of the job."""
    answer = service.client.post(PLANS, json=body, params={"wait": 0})
    assert answer.status_code == 202
    place: str = answer.headers["location"]
    return place


def state(service: Service, place: str) -> str:
    found: str = service.client.get(place).json()["state"]
    return found


@pytest.mark.live
@needs_proc
def test_two_servers_and_their_database(tmp_path: Path, postgresql: Cluster) -> None:
    """Neither takes the other's job: not for its clock, nor while the database is away."""
    url = postgresql.make()
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    with (
        running(right, database_url=url, **with_clock(right, 0)) as one,
        running(wrong, database_url=url, **with_clock(wrong, -8)) as other,
    ):
        places = [begin(service, search()) for service in (one, other)]
        until(lambda: {state(one, place) for place in places} == {"running"})
        clocks_differ(one, places)
        the_database_goes_and_comes(postgresql, one, other, places)
        for service in (one, other):
            log = service.log.read_text()
            assert "of another server" not in log
            assert "Traceback" not in log
        os.kill(one.process, signal.SIGKILL)
        until(lambda: gone([one.process]))
        until(lambda: "queued" in {state(other, place) for place in places})
        lost, its = sorted(places, key=partial(state, other))
        ended(other, its)
        until(lambda: state(other, lost) == "running")
        ended(other, lost)


def ended(service: Service, place: str) -> None:
    """Cancel a job; it ended after it began."""
    found = service.client.post(f"{place}/cancel").json()
    assert found["state"] == "cancelled"
    assert found["started_at"] <= found["finished_at"]


def clocks_differ(one: Service, places: list[str]) -> None:
    heard: set[str] = set()

    def is_heard() -> bool:
        for place in places:
            found = one.client.get(place).json()
            assert (found["state"], found["attempts"]) == ("running", 1)
            assert found["created_at"] <= found["started_at"]
            if found["progress"]:
                assert found["started_at"] <= found["progress"]["heartbeat_at"]
                heard.add(found["progress"]["heartbeat_at"])
        return len(heard) >= 12  # one each second of both, while each server looks every two

    until(is_heard)


def the_database_goes_and_comes(
    postgresql: Cluster, one: Service, other: Service, places: list[str]
) -> None:
    """Longer than a job may be silent."""
    client = one.client
    with ThreadPoolExecutor(1) as listeners:
        stream = listeners.submit(client.get, f"{places[0]}/events")
        until(lambda: client.get(places[0]).json()["progress"])
        postgresql.stop()
        for answer in (
            client.get(places[0]),
            client.get(PLANS),
            client.get("/readyz"),
            client.post(f"{places[0]}/cancel"),
            client.delete(places[0]),
            client.post(PLANS, json=two_layers()),
            client.post("/v1/cost-models", json=EXAMPLE),
        ):
            faults(answer)
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
            assert int(answer.headers["retry-after"]) > 0
            assert str(postgresql.folder) not in answer.text, "where it is, the log is told"
        assert str(postgresql.folder) in one.log.read_text()
        assert client.get("/healthz").status_code == 200
        assert "interlace_storage_up 0.0" in client.get("/metrics").text
        assert "event: running" in stream.result().text
    pause(SILENT_S + 1)
    postgresql.start()
    for service in (one, other):
        until(lambda: service.client.get("/readyz").status_code == 200)  # noqa: B023
    beats = [client.get(place).json()["progress"]["heartbeat_at"] for place in places]

    def has_beaten() -> bool:
        found = [client.get(place).json() for place in places]
        assert [(job["state"], job["attempts"]) for job in found] == [("running", 1)] * 2
        now = [job["progress"]["heartbeat_at"] for job in found]
        return all(after > before for after, before in zip(now, beats, strict=True))

    until(has_beaten)


@pytest.mark.long
@needs_proc
def test_restarts_under_load(tmp_path: Path, postgresql: Cluster) -> None:
    """What python -m tests.benchmarks.restarts does for minutes, for seconds."""
    found, is_good = restarted(tmp_path, postgresql, seconds=14, every_s=4, seed=1)
    assert is_good, found


def test_an_outage_has_kept_others_silent_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their jobs are left to them when the database comes back, for a while."""
    settings = Settings(data_dir=tmp_path)
    with closing(Store(settings)) as store:
        new = NewJob(PLAN, "", b"{}", [], "", None, "")
        queue.add_all(store, [Submission(new, fresh=True)], Room(1, 2**40))
        assert leases.claim(store, "another", ["small", "solves"])
        with store.writing() as connection:
            connection.execute(update(JobRow).values(heartbeat_at=ago(60)))
        pool = Pool(store, settings)
        pool.leave()  # so that it takes no job that waits
        tick, ticks = pool._tick, iter([False, True, True])

        def away_at_first() -> None:
            if next(ticks):
                tick()
                pool._stopped.set()
            else:
                raise StorageUnavailable("It is away.")

        monkeypatch.setattr(pool, "_tick", away_at_first)
        monkeypatch.setattr("app.jobs.pool.time", SimpleNamespace(monotonic=lambda: 1_000.0))
        pool._run()
        assert states_of(store) == ["running"]
        assert pool._due["recover"] > 1_000 + SILENT_S
        pool._due["recover"] = 0.0
        pool._stopped.clear()
        pool._looked = None  # this test's clock stands still, the database's does not
        pool._run()
        assert states_of(store) == ["queued"]


@pytest.mark.parametrize("jump_s", [86_400, -86_400])
def test_who_seems_silent_since_the_clock_jumped_has_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    """Both clocks are the test's: after a jump all have been silent for a day, or will be."""
    settings = Settings(data_dir=tmp_path)
    ran_s, day = 1_000.0, datetime(2026, 1, 1, tzinfo=UTC)

    class Day(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return day

    monkeypatch.setattr("app.storage.clock.datetime", Day)
    monkeypatch.setattr("app.jobs.pool.time", SimpleNamespace(monotonic=lambda: ran_s))
    with closing(Store(settings)) as store:
        new = NewJob(PLAN, "", b"{}", [], "", None, "")
        queue.add_all(store, [Submission(new, fresh=True)], Room(1, 2**40))
        assert leases.claim(store, "another", ["small", "solves"])
        pool = Pool(store, settings)
        assert pool.recover() == 0
        ran_s, day = ran_s + 1, day + timedelta(seconds=1 + jump_s)
        assert pool.recover() == 0, "its heartbeat is of before the jump"
        assert pool._due["recover"] > ran_s + SILENT_S
        ran_s, day = ran_s + 10, day + timedelta(seconds=10)
        assert pool.recover() == 1, "it had time to show itself"


def states_of(store: Store) -> list[str]:
    """Return the states of all jobs."""
    with store.reading() as connection:
        return list(connection.scalars(select(JobRow.state)))


def test_a_draft_waits_for_the_database(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether an attempt before had a better one is asked later; this one is kept till then."""
    job = Claim(1, "id", "plan", "name", 1.0, "", "lease", 1)
    text = '{"status": "feasible", "iteration_time_us": 5.0, "lower_bound_us": 4.0}'
    with closing(Store(Settings(), is_migrated=True)) as store:
        writer = ProgressWriter(job, lambda _: None, lambda: leases.drafted(store, job))
        writer.draft(lambda: text)
        with monkeypatch.context() as away:
            away.setattr(leases, "drafted", _unusable)
            assert writer._news(is_last=True).draft is None
        monkeypatch.setattr(leases, "drafted", lambda *_: {})
        told = writer._news(is_last=True)
        assert told.draft is not None
        assert told.draft.text == text.encode()
    assert [line.message for line in caplog.records] == ["A draft waits: It is away."]


def _unusable(*_: object) -> dict[str, object]:
    raise StorageUnavailable("It is away.")


def test_new_connections_after_a_restart(postgresql: Cluster, tmp_path: Path) -> None:
    """None of those that are kept is used that the restart has cut."""
    with closing(Store(Settings(data_dir=tmp_path, database_url=postgresql.make()))) as store:
        store.check()
        postgresql.stop("immediate")
        with pytest.raises(StorageUnavailable, match=r"^The database cannot be used: it does"):
            store.check()
        postgresql.start()
        store.check()
