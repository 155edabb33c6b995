"""What cannot work ends the start with a sentence; a setting that is none is warned of."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.operations.settings import unknown_variables
from app.routers.cost_models import EXAMPLE
from tests.app.command import Done, Run, interlace
from tests.app.privileges import MODES_HOLD
from tests.app.service import _MAIN, environment, running


def serve(data_dir: Path, **settings: str) -> Done:
    """Start the service where it cannot work, without what root may."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MODES_HOLD + _MAIN, "serve", "--port", "0"],
        capture_output=True,
        env=environment(data_dir, **settings),
        text=True,
        check=False,
        timeout=60,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def sentence(done: Done) -> str:
    """Return the one line that a start ended with."""
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("interlace: ")
    return line.removeprefix("interlace: ")


def test_a_data_directory_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        told = sentence(serve(tmp_path))
    finally:
        tmp_path.chmod(0o700)
    assert told == f"The data directory {tmp_path} cannot be written: permission denied."


def test_a_data_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "data"
    told = sentence(serve(folder))
    assert told == f"The data directory {folder} cannot be made: not a directory."


def test_a_directory_of_a_url_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(0o500)
    told = sentence(serve(tmp_path, INTERLACE_DATABASE_URL=f"sqlite:///{folder}/mine.db"))
    assert told == f"The directory of the database {folder} cannot be written: permission denied."


def test_a_temporary_directory_too_deep_for_sockets(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    told = sentence(serve(tmp_path, TMPDIR=str(folder)))
    assert told.startswith(f"No socket can lie in the temporary directory {folder}: AF_UNIX path")
    assert not list(folder.iterdir())


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "interlace.db"
    file.write_text("not a database " * 100)
    told = sentence(serve(tmp_path))
    assert told == f"The file {file} is no sound SQLite database: file is not a database."
    assert file.read_text().startswith("not a database"), "it is left as it was"


def test_a_database_that_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "interlace.db").mkdir()
    assert sentence(serve(tmp_path)) == f"The database {tmp_path / 'interlace.db'} is no file."


def test_a_database_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "interlace.db"
    file.touch(0o400)
    told = sentence(serve(tmp_path))
    assert told == f"The database {file} cannot be read and written: permission denied."


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("INTERLACE_RETENTION_DAY", "did you mean INTERLACE_RETENTION_DAYS?"),
        ("interlace_worker", "did you mean INTERLACE_WORKERS?"),
        ("INTERLACE_XYZZY", "`interlace config show` lists all."),
    ],
)
def test_what_an_unknown_variable_may_have_meant(name: str, hint: str) -> None:
    known = ["INTERLACE_SERVER", "INTERLACE_API_KEY", "Interlace_Workers", "PATH"]
    (told,) = unknown_variables([name, *known])
    assert told == f"{name} is no setting and has no effect; {hint}"


def test_an_unknown_variable_is_warned_of(tmp_path: Path, run: Run) -> None:
    with running(tmp_path, INTERLACE_MAX_QUEUE="5") as service:
        lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    (warned,) = [line for line in lines if "INTERLACE_MAX_QUEUE" in line["message"]]
    assert warned["level"] == "warning"
    assert "did you mean INTERLACE_MAX_QUEUED?" in warned["message"]
    done = run("config", "show", INTERLACE_MAX_QUEUE="5")
    assert done.returncode == 0
    assert done.stderr.startswith("interlace: INTERLACE_MAX_QUEUE is no setting")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_for_its_user_alone(tmp_path: Path) -> None:
    """Whatever the umask allows, and for files that an earlier release made, too."""
    folder = tmp_path / "made" / "data"
    before = os.umask(0)
    try:
        for loosened in (False, True):
            with running_in(folder, tmp_path) as service:
                assert service.client.post("/v1/cost-models", json=EXAMPLE).status_code == 201
                assert mode(folder) == 0o700
                found = {path.name: mode(path) for path in folder.iterdir()}
                names = ("interlace.db", "interlace.db-shm", "interlace.db-wal")
                assert found == dict.fromkeys(names, 0o600)
                assert interlace(folder, "backup", str(tmp_path / f"{loosened}.db")).stderr == ""
                assert mode(tmp_path / f"{loosened}.db") == 0o600
            (folder / "interlace.db").chmod(0o666)
    finally:
        os.umask(before)


def running_in(folder: Path, log_dir: Path):
    """Run a server whose data is elsewhere than its log."""
    return running(log_dir, INTERLACE_DATA_DIR=str(folder))
