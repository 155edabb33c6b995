"""/readyz says no, and which check: the file, the room, the writes, the jobs."""

import os
import resource
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.errors import StorageUnavailable
from app.operations.settings import Settings
from app.storage.database import Store
from app.storage.probe import Probe
from tests.app.here import here
from tests.app.long import needs_proc, search, sweep
from tests.app.service import Service, faults
from tests.app.test_survival import begin, forkers
from tests.waiting import until


@pytest.fixture(scope="module")
def server(one_worker: Service) -> Service:
    """A server whose database these tests take away and give back."""
    return one_worker


def said(service: Service) -> str:
    """Return why a server is not ready; empty when it is."""
    answer = service.client.get("/readyz")
    if answer.status_code == 200:
        return ""
    faults(answer)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    detail: str = answer.json()["detail"]
    assert str(service.log.parent) not in detail
    assert "interlace.db" not in detail
    assert service.client.get("/healthz").status_code == 200
    return detail


def file_of(service: Service) -> Path:
    return service.log.parent / "interlace.db"


@contextmanager
def moved(file: Path) -> Iterator[Path]:
    away = file.with_name("away")
    file.rename(away)
    try:
        yield away
    finally:
        away.rename(file)


def test_the_file_is_gone(server: Service) -> None:
    assert not said(server)
    with moved(file_of(server)):
        gone = said(server)
        assert gone.startswith("Not ready (database_file): The file of the database is gone")
        assert not file_of(server).exists(), "no other one is made"
    until(lambda: not said(server))


def test_another_file_in_its_place(server: Service) -> None:
    with moved(file_of(server)) as away:
        file_of(server).write_bytes(away.read_bytes())
        assert said(server).startswith("Not ready (database_file): Another file stands")
    until(lambda: not said(server))


def test_the_file_is_read_only(server: Service) -> None:
    file_of(server).chmod(0o400)
    try:
        assert said(server) == "Not ready (database_file): The file of the database is read-only."
    finally:
        file_of(server).chmod(0o600)
    until(lambda: not said(server))


@needs_proc
def test_nothing_can_be_written(server: Service) -> None:
    """As on a full disk: every write to a file fails."""
    before = resource.prlimit(server.process, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        until(lambda: ": The database cannot be used: " in said(server))  # by `writes`, as a rule
    finally:
        resource.prlimit(server.process, resource.RLIMIT_FSIZE, before)
    until(lambda: not said(server))


def test_the_writes_wait(server: Service) -> None:
    with closing(sqlite3.connect(file_of(server), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            until(lambda: said(server).startswith("Not ready (writes): "))
            with ThreadPoolExecutor(8) as clients:
                url = f"{server.client.base_url}/readyz"
                asked = [clients.submit(server.client.get, url) for _ in range(8)]
                assert {each.result().status_code for each in asked} == {503}
            assert server.client.get("/v1/plans").status_code == 200, "who reads does not wait"
        finally:
            other.execute("ROLLBACK")
    until(lambda: not said(server))


@needs_proc
def test_the_process_that_starts_the_others_hangs(server: Service) -> None:
    places = [begin(server, search())]
    until(lambda: server.client.get(places[0]).json()["state"] == "running")
    (forker,) = forkers(server)
    wanted = sweep(server)
    os.kill(forker, signal.SIGSTOP)
    places.append(begin(server, wanted, "/v1/sweeps"))  # it needs a process of its own
    until(lambda: "process that starts the others" in said(server))
    assert server.client.get("/readyz").json()["code"] == "workers_unavailable"
    until(lambda: not said(server))  # it was killed, and another one starts them
    until(lambda: server.client.get(places[1]).json()["state"] == "running")
    for place in places:
        server.client.delete(place)


def test_too_little_room(tmp_path: Path) -> None:
    with here(tmp_path, min_free_bytes=2**50) as client:
        answer = client.get("/readyz")
    faults(answer)
    assert answer.status_code == 503
    told = answer.json()["detail"]
    assert told.startswith("Not ready (disk): The disk of the database has ")
    assert "(min_free_bytes)" in told


def test_a_probe_writes_and_leaves_nothing(tmp_path: Path) -> None:
    store = Store(Settings(data_dir=tmp_path))
    store.open()
    probe = Probe(store, Settings(data_dir=tmp_path))
    log = tmp_path / "interlace.db-wal"
    before = log.stat().st_size
    probe.check_writes()
    assert log.stat().st_size > before, "a page was written"
    with closing(sqlite3.connect(tmp_path / "interlace.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="locked"):
            probe.check_writes()  # it would wait for ever for who has it, that is here
        other.execute("ROLLBACK")
    probe.check_writes()
    store.close()
