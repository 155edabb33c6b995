"""A backup while the service runs, put in the place of another database."""

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.command import Run, interlace
from tests.app.service import Json, Service, running, two_layers


def test_a_backup_is_one_state_of_the_database(tmp_path: Path) -> None:
    one, other, copy = tmp_path / "one", tmp_path / "other", tmp_path / "copy.db"
    one.mkdir()
    other.mkdir()
    with running(one) as service, ThreadPoolExecutor(1) as clients:
        before = service.post(two_layers()).json()
        enough = Event()
        posts = clients.submit(keep_posting, service, enough)
        try:
            done = interlace(one, "backup", str(copy))
        finally:
            enough.set()
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{copy}: {copy.stat().st_size:,} bytes\n"
        later = [plan["id"] for plan in posts.result()]
        assert later, "nothing was written meanwhile"
        listed = {plan["id"] for plan in service.client.get("/v1/plans?limit=200").json()["plans"]}
        assert listed == {before["id"], *later}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "one", "other"]
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    shutil.copy(copy, other / "interlace.db")
    with running(other) as service:
        assert service.client.get("/readyz").status_code == 200
        assert service.client.get(f"/v1/plans/{before['id']}").json() == before
        kept = {plan["id"] for plan in service.client.get("/v1/plans?limit=200").json()["plans"]}
        assert before["id"] in kept
        assert kept <= listed
        made = service.post(two_layers(seed=1_000_000)).json()  # it goes on from there
        assert made["id"] not in kept


def keep_posting(service: Service, enough: Event) -> list[Json]:
    found: list[Json] = []
    while not enough.is_set():
        answer = service.post(two_layers(seed=len(found) + 1))
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
