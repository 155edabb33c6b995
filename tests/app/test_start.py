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
from tests.app.command import Run
from tests.app.here import here
from tests.app.privileges import MODES_HOLD
from tests.app.service import Service, environment

#: Tries to serve with these variables, one after the other; prints how each start ended.
STARTING = """
import contextlib, io, json, os, sys, tempfile
from app.cli.main import main
for variables in json.loads(sys.argv.pop(1)):
    os.environ.update(variables)
    tempfile.tempdir = None
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
    for name in variables:
        del os.environ[name]
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def sentences(folder: Path, starts: list[dict[str, str]]) -> list[str]:
    """Start the service where it cannot work, without what root may; return what it said."""
    asked = ("serve", "--port", "0")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MODES_HOLD + STARTING, json.dumps(starts), *asked],
        stdout=subprocess.PIPE,
        env=environment(folder),
        check=True,
    )
    found = []
    for line in done.stdout.splitlines():
        code, printed, said = json.loads(line)
        assert (code, printed) == (1, "")
        (sentence,) = said.splitlines()
        assert sentence.startswith("interlace: ")
        found.append(sentence.removeprefix("interlace: "))
    return found


@pytest.mark.live
def test_what_cannot_work_ends_the_start(tmp_path: Path) -> None:
    names = ["closed", "file", "url", "deep", "text", "folder", "mode"]
    closed, file, url, deep, text, folder, mode = (tmp_path / name for name in names)
    closed.mkdir(0o500)
    file.touch()
    url.mkdir()
    (url / "closed").mkdir(0o500)
    deep.mkdir()
    (deep / ("x" * 100)).mkdir()
    text.mkdir()
    (text / "interlace.db").write_text("not a database " * 100)
    (folder / "interlace.db").mkdir(parents=True)
    mode.mkdir()
    (mode / "interlace.db").touch(0o400)
    of_url = {"INTERLACE_DATABASE_URL": f"sqlite:///{url}/closed/mine.db"}
    told = sentences(
        tmp_path,
        [
            {"INTERLACE_DATA_DIR": str(closed)},
            {"INTERLACE_DATA_DIR": str(file / "data")},
            {"INTERLACE_DATA_DIR": str(url), **of_url},
            {"INTERLACE_DATA_DIR": str(deep), "TMPDIR": str(deep / ("x" * 100))},
            {"INTERLACE_DATA_DIR": str(text)},
            {"INTERLACE_DATA_DIR": str(folder)},
            {"INTERLACE_DATA_DIR": str(mode)},
        ],
    )
    too_deep = told.pop(3)
    assert told == [
        f"The data directory {closed} cannot be written: permission denied.",
        f"The data directory {file}/data cannot be made: not a directory.",
        f"The directory of the database {url}/closed cannot be written: permission denied.",
        f"The file {text}/interlace.db is no sound SQLite database: file is not a database.",
        f"The database {folder}/interlace.db is no file.",
        f"The database {mode}/interlace.db cannot be read and written: permission denied.",
    ]
    where = f"No socket can lie in the temporary directory {deep}/{'x' * 100}: AF_UNIX path"
    assert too_deep.startswith(where)
    assert not list((deep / ("x" * 100)).iterdir())
    assert (text / "interlace.db").read_text().startswith("not a database"), "it is left as it was"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("INTERLACE_RETENTION_DAY", "Did you mean INTERLACE_RETENTION_DAYS?"),
        ("interlace_worker", "Did you mean INTERLACE_WORKERS?"),
        ("INTERLACE_XYZZY", "`interlace config show` lists all."),
    ],
)
def test_what_an_unknown_variable_may_have_meant(name: str, hint: str) -> None:
    known = ["INTERLACE_SERVER", "INTERLACE_API_KEY", "Interlace_Workers", "PATH"]
    (told,) = unknown_variables([name, *known])
    assert told == f"{name} is no setting and has no effect. {hint}"


@pytest.mark.live
def test_an_unknown_variable_is_warned_of(one_worker: Service, run: Run) -> None:
    lines = [json.loads(line) for line in one_worker.log.read_text().splitlines()]
    (warned,) = [line for line in lines if "INTERLACE_MAX_QUEUE " in line["message"]]
    assert warned["level"] == "warning"
    assert "Did you mean INTERLACE_MAX_QUEUED?" in warned["message"]
    done = run("config", "show", INTERLACE_MAX_QUEUE="5")
    assert done.returncode == 0
    assert done.stderr.startswith("interlace: INTERLACE_MAX_QUEUE is no setting")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_for_its_user_alone(tmp_path: Path, run: Run) -> None:
    """Whatever the umask allows, and for files that an earlier release made, too."""
    folder = tmp_path / "made" / "data"
    before = os.umask(0)
    try:
        for loosened in (False, True):
            with here(folder) as client:
                client.store.prepare()
                assert client.post("/v1/cost-models", json=EXAMPLE).status_code == 201
                assert mode(folder) == 0o700
                found = {path.name: mode(path) for path in folder.iterdir()}
                names = ("interlace.db", "interlace.db-shm", "interlace.db-wal")
                assert found == dict.fromkeys(names, 0o600)
                copy = tmp_path / f"{loosened}.db"
                assert run("backup", str(copy), INTERLACE_DATA_DIR=str(folder)).stderr == ""
                assert mode(copy) == 0o600
            (folder / "interlace.db").chmod(0o666)
    finally:
        os.umask(before)
