"""The command, and the servers that several files of tests share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.command import Run, runner
from tests.app.postgres import Cluster
from tests.app.privileges import MODES_HOLD
from tests.app.service import Service, for_many


@pytest.fixture
def store(tmp_path: Path, database: Callable[[], str | None]) -> Iterator[Store]:
    """Open an empty database, of SQLite and then of PostgreSQL."""
    found = Store(Settings(data_dir=tmp_path, database_url=database()))
    found.open()
    yield found
    found.close()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""
    return runner(tmp_path, monkeypatch, capfd)


#: Looks at once what other servers look at now and then.
_OFTEN = """
import app.jobs.pool, app.jobs.readiness
app.jobs.pool._EXPIRE_S, app.jobs.readiness._WELL_S = 0.2, 0.1
"""


@pytest.fixture(scope="session")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server that does one job at a time, whose database tests take away and give back."""
    settings = {
        "WORKERS": "1",
        "MAX_QUEUED": "2",
        "JOB_GRACE_S": "0.5",
        "JOB_MEMORY_BYTES": str(2**29),
        "LOG_LEVEL": "debug",
        "MAX_QUEUE": "5",  # no setting
    }
    named = {f"INTERLACE_{name}": value for name, value in settings.items()}
    folder = tmp_path_factory.mktemp("one_worker")
    with for_many(folder, MODES_HOLD + _OFTEN, **named) as found:
        yield found


@pytest.fixture(scope="session")
def on_postgresql(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Cluster
) -> Iterator[Service]:
    """One server whose database is PostgreSQL's."""
    folder = tmp_path_factory.mktemp("on_postgresql")
    with for_many(folder, database_url=postgresql.make()) as found:
        yield found


@pytest.fixture(scope="session", autouse=True)
def _fonts(fonts: None) -> None:
    """Have them for every test here: many commands draw."""
