"""What is old is deleted, and a clock that is wrong deletes nothing at once."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from app.errors import NotFound
from app.jobs import expiry, queue
from app.jobs import pool as pool_module
from app.jobs import table as jobs
from app.jobs.expiry import RATE, START_S, Expiry
from app.jobs.pool import Pool
from app.jobs.queue import NewJob, Receipt, Room, Submission
from app.operations.settings import Settings
from app.storage import clock, library
from app.storage.clock import ago, distance_s, now, shifted
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey
from app.storage.tables import CostModelRow, GraphRow, JobRow

DAY_S, HOUR_S = 86_400.0, 3_600.0


class Times:
    """The clock of the machine, ahead by so much, and how long the service has run [s]."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead_s = self.ran_s = 0.0
        times = self

        class Moved(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + timedelta(seconds=times.ahead_s)

        monkeypatch.setattr(clock, "datetime", Moved)
        monkeypatch.setattr(expiry, "time", SimpleNamespace(monotonic=lambda: self.ran_s))

    def run(self, seconds: float) -> None:
        """Let time pass, for both."""
        self.ahead_s += seconds
        self.ran_s += seconds


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    return Times(monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = Store(Settings(data_dir=tmp_path))
    found.open()
    return found


def ended(store: Store, name: str, days: float = 0) -> str:
    """Keep a job that ended so many days ago, with an idempotency key of then."""
    new = NewJob("plan", name, b"{}", [], "r", 1.0, name)
    [found] = queue.add_all(
        store, [Submission(new, IdempotencyKey(name, "f"), True)], Room(1_000, 2**40)
    )
    assert isinstance(found, Receipt)
    jobs.cancel(store, "plan", found.id)
    with store.writing() as connection:
        which = update(JobRow).where(JobRow.id == found.id)
        connection.execute(which.values(finished_at=ago(days * DAY_S)))
    return found.id


def left(store: Store, ids: list[str]) -> list[str]:
    found = []
    for job_id in ids:
        try:
            jobs.get(store, "plan", job_id)
        except NotFound:
            continue
        found.append(job_id)
    return found


def swept(store: Store, **settings: Any) -> Expiry:
    """Return the sweeps of a server, after the first."""
    found = Expiry(store, Settings(**settings))
    found.sweep()
    return found


def test_a_clock_that_jumps_deletes_nothing_at_once(store: Store, times: Times, caplog) -> None:
    ids = [ended(store, str(days), days) for days in (29, 20, 0)]
    sweeps = swept(store, retention_days=30)
    times.ahead_s += 40 * DAY_S
    for _ in range(3):
        times.run(600)
        assert sweeps.sweep() == 0
    assert left(store, ids) == ids
    assert caplog.text.count("The clock is 39 days") == 1, "it is said, and once"
    times.ahead_s -= 40 * DAY_S
    times.run(600)
    assert sweeps.sweep() == 0
    assert left(store, ids) == ids


def test_a_clock_that_is_ahead_at_the_start_deletes_nothing_at_once(
    store: Store, times: Times
) -> None:
    ids = [ended(store, str(days), days) for days in (29.5, 20, 0)]
    swept(store, retention_days=30)
    times.ahead_s += 40 * DAY_S
    assert swept(store, retention_days=30).sweep() == 0  # a server that starts then
    ended(store, "of then")
    assert swept(store, retention_days=30).sweep() == 0  # and once more: what is new is no proof
    assert left(store, ids) == ids


def test_a_clock_that_stays_ahead_is_followed_a_day_in_an_hour(store: Store, times: Times) -> None:
    old, older = ended(store, "a", 19.9), ended(store, "b", 27.9)
    sweeps = swept(store, retention_days=30)
    times.ahead_s += 40 * DAY_S
    gone_h: dict[str, int] = {}
    for hour in range(1, 42):
        times.run(HOUR_S)
        sweeps.sweep()
        for job_id in {old, older} - set(left(store, [old, older])) - gone_h.keys():
            gone_h[job_id] = hour
    assert RATE == 24
    assert gone_h == {older: 3, old: 11}  # 2.1 and 10.1 days


def test_what_is_old_is_deleted_in_its_time(store: Store, times: Times) -> None:
    ids = [ended(store, str(days), days) for days in (31, 29.9, 0)]
    sweeps = Expiry(store, Settings(retention_days=30))
    assert sweeps.sweep() == 1
    assert left(store, ids) == ids[1:]
    for _ in range(24):
        times.run(600)
        sweeps.sweep()
    assert left(store, ids) == ids[2:]


def test_a_server_that_was_off_follows_by_an_hour_when_it_starts(
    store: Store, times: Times
) -> None:
    ids = [ended(store, str(hours), 30 - hours / 24) for hours in (0.5, 1.5)]
    swept(store, retention_days=30)
    times.ahead_s += 50 * DAY_S
    assert START_S == HOUR_S
    swept(store, retention_days=30)
    assert left(store, ids) == ids[1:]


def test_keys_stay_when_the_clock_jumps(store: Store, times: Times) -> None:
    job_id = ended(store, "a")
    sweeps = swept(store)
    times.ahead_s += 40 * DAY_S
    times.run(600)
    sweeps.sweep()
    times.ahead_s -= 40 * DAY_S
    assert queue.id_of_key(store, IdempotencyKey("a", "f")) == job_id


def test_a_server_with_a_clock_of_the_future(
    tmp_path: Path, store: Store, times: Times, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """On what another has left: it sweeps again and again, and warns once."""
    monkeypatch.setattr(pool_module, "_EXPIRE_S", 0.0)
    ids = [ended(store, "a")]
    times.ahead_s += 40 * DAY_S
    pool = Pool(store, Settings(data_dir=tmp_path))
    pool.leave()  # so that it takes no job
    for _ in range(3):
        pool._tick()
    assert caplog.text.count("The clock is 39 days") == 1
    ids.append(ended(store, "b"))
    assert jobs.get(store, "plan", ids[-1]).created_at > shifted(now(), -DAY_S)
    assert left(store, ids) == ids


def kept(store: Store, kind: Any, name: str, used_at: str | None, created_at: str) -> None:
    values = {"name": name, "request": "{}", "result": "{}", "created_at": created_at}
    own = {"algorithm": "ring"} if kind is CostModelRow else {"format": "csv", "ops": 1}
    store.add(kind(id=name, **values, **own))
    with store.writing() as connection:
        connection.execute(update(kind).where(kind.id == name).values(used_at=used_at))


@pytest.mark.parametrize("kind", [CostModelRow, GraphRow])
def test_what_is_not_used_is_deleted(
    tmp_path: Path, database: Callable[[], str | None], kind: Any
) -> None:
    store = Store(Settings(data_dir=tmp_path, database_url=database()))
    long_ago, lately = ago(100 * DAY_S), ago(DAY_S)
    for name, used_at, created_at in (
        ("unused", long_ago, long_ago),
        ("of an earlier release", None, long_ago),
        ("used", lately, long_ago),
        ("new", None, lately),
    ):
        kept(store, kind, name, used_at, created_at)
    assert library.expire(store, 90, now()) == 2
    assert {row.id for row in store.newest(kind, 9)} == {"used", "new"}
    store.close()


def test_a_graph_that_is_named_lives_on(tmp_path: Path, database: Callable[[], str | None]) -> None:
    store = Store(Settings(data_dir=tmp_path, database_url=database()))
    long_ago = ago(100 * DAY_S)
    kept(store, GraphRow, "g", long_ago, long_ago)
    found = library.library_of(store)
    assert found.graph("g") == "{}"
    used_at = store.get(GraphRow, "g").used_at
    assert used_at is not None
    assert abs(distance_s(used_at, now())) < 60
    assert found.graph("g") == "{}"
    assert store.get(GraphRow, "g").used_at == used_at, "not written again for an hour"
    assert library.expire(store, 90, now()) == 0
    store.close()


def test_times_of_day() -> None:
    assert shifted("2026-11-24T00:00:00.000000Z", -0.5) == "2026-11-23T23:59:59.500000Z"
    assert shifted("2026-11-24T00:00:00.000000Z", -1e12) == "0001-01-01T00:00:00.000000Z"
    assert distance_s("2026-11-24T00:00:00.000000Z", "2026-11-24T00:00:01.500000Z") == 1.5
