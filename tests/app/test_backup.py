"""A backup while the service runs, put in the place of another database."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import pytest

from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.command import Run
from tests.app.here import here
from tests.app.postgres import Cluster
from tests.app.service import Json, Service, two_layers


@pytest.mark.live
@pytest.mark.parametrize("kind", ["service", "on_postgresql"])
def test_a_backup_is_one_state_of_the_database(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, run: Run
) -> None:
    service: Service = request.getfixturevalue(kind)
    url, copy = service.database_url, tmp_path / "copy.db"
    anew = None if url is None else request.getfixturevalue("postgresql").make()
    path = f"/v1/plans?tag={uuid4().hex}"
    before = service.post(two_layers(), path).json()
    one = {"INTERLACE_DATA_DIR": str(service.log.parent), **named(url)}
    with ThreadPoolExecutor(1) as clients:
        enough = Event()
        posts = clients.submit(keep_posting, service, path, enough)
        try:
            done = run("backup", str(copy), **one)
        finally:
            enough.set()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{copy}: {copy.stat().st_size:,} bytes\n"
        later = [plan["id"] for plan in posts.result()]
        assert later, "nothing was written meanwhile"
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]
    assert copy.stat().st_mode & 0o777 == 0o600
    back = run("restore", str(copy), **named(anew))
    assert (back.returncode, back.stderr) == (0, "")
    again = run("restore", str(copy), **named(anew))
    assert (again.returncode, again.stdout) == (1, "")
    assert "already" in again.stderr
    with here(tmp_path, database_url=anew) as client:
        client.store.check()
        assert client.get(f"/v1/plans/{before['id']}").json() == before
        there, kept = ids(service.client, path), ids(client, path)
        assert before["id"] in kept
        assert kept <= there == {before["id"], *later}, "and nothing else"
        made = client.post("/v1/plans", json=two_layers())  # it goes on from there
        assert made.status_code == 202
        assert made.json()["id"] not in there
        assert client.get("/v1/plans").json()["plans"][0]["id"] == made.json()["id"]


def ids(client: Any, path: str) -> set[str]:
    return {plan["id"] for plan in client.get(f"{path}&limit=200").json()["plans"]}


def named(url: str | None) -> dict[str, str]:
    """Return the settings that name a database."""
    return {} if url is None else {"INTERLACE_DATABASE_URL": url}


def keep_posting(service: Service, path: str, enough: Event) -> list[Json]:
    found: list[Json] = []
    while not enough.is_set():
        answer = service.post(two_layers(seed=len(found) + 1), path)
        assert answer.status_code == 201
        found.append(answer.json())
    return found


def with_database(data_dir: Path, **settings: Any) -> None:
    """Make an empty database, as a server does when it starts."""
    store = Store(Settings(data_dir=data_dir, **settings))
    store.open()
    store.close()


def test_a_file_is_not_overwritten(tmp_path: Path, run: Run) -> None:
    with_database(tmp_path)
    kept = tmp_path / "kept"
    kept.write_text("mine")
    done = run("backup", str(kept))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"interlace: {kept}: exists already\n"
    assert kept.read_text() == "mine"


def test_no_database(tmp_path: Path, run: Run) -> None:
    done = run("backup", str(tmp_path / "copy.db"))
    assert done.returncode == 1
    assert done.stderr == f"interlace: {tmp_path / 'interlace.db'}: no such database\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"not a database " * 1_000, b""])
def test_no_sound_database(tmp_path: Path, content: bytes, run: Run) -> None:
    (tmp_path / "interlace.db").write_bytes(content)
    done = run("backup", str(tmp_path / "copy.db"))
    assert (tmp_path / "copy.db").exists() == (done.returncode == 0) == (not content)
    assert "Traceback" not in done.stderr


def test_another_place(tmp_path: Path, run: Run) -> None:
    url = f"sqlite:///{tmp_path}/mine.db"
    with_database(tmp_path, database_url=url)
    copy = tmp_path / "copy.db"
    done = run("backup", str(copy), INTERLACE_DATABASE_URL=url)
    assert done.returncode == 0
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT COUNT(*) FROM alembic_version").fetchone() == (1,)


def test_nowhere_to_put_it(tmp_path: Path, run: Run) -> None:
    with_database(tmp_path)
    done = run("backup", str(tmp_path / "nowhere" / "copy.db"))
    assert done.returncode == 1
    assert done.stderr.startswith("interlace: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", [b"not a database " * 1_000, b""])
def test_what_is_no_backup_is_not_restored(
    tmp_path: Path, content: bytes, database: Callable[[], str | None], run: Run
) -> None:
    file, url = tmp_path / "copy", database()
    file.write_bytes(content)
    done = run("restore", str(file), **named(url))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"interlace: {file}: ")
    assert not (tmp_path / "interlace.db").exists()
    gone = run("restore", str(tmp_path / "gone"), **named(url))
    assert (gone.returncode, gone.stderr.count("\n")) == (1, 1)
    assert f"{tmp_path / 'gone'}: " in gone.stderr


def test_what_a_removed_database_left(tmp_path: Path, run: Run) -> None:
    with_database(tmp_path)
    assert run("backup", str(tmp_path / "copy")).returncode == 0
    (tmp_path / "interlace.db").unlink()
    (tmp_path / "interlace.db-wal").touch()
    done = run("restore", str(tmp_path / "copy"))
    assert done.stderr == f"interlace: {tmp_path / 'interlace.db-wal'}: exists already\n"


def test_a_dump_that_cannot_be_made(
    tmp_path: Path, postgresql: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left of it, and no password is shown."""
    file = tmp_path / "copy"
    away = f"postgresql://u:geheim@/none?host={postgresql.folder}"
    done = run("backup", str(file), INTERLACE_DATABASE_URL=away)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert 'role "u" does not exist' in done.stderr
    assert "geheim" not in done.stderr
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        done = run("backup", str(file), INTERLACE_DATABASE_URL=postgresql.make())
    assert done.stderr == (
        f"interlace: {file}: pg_dump is not installed; PostgreSQL's client programs have it\n"
    )
    assert not list(tmp_path.iterdir())
