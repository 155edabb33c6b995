"""``interlace config show``: every setting, where it comes from, and no password."""

import json
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.operations import settings as settings_module
from app.operations.databases import url_of
from app.operations.settings import Settings
from tests.app.command import Run


def test_every_setting_is_shown(tmp_path: Path, run: Run) -> None:
    done = run("config", "show", "--json", INTERLACE_LOG_LEVEL="warning")
    assert (done.returncode, done.stderr) == (0, "")
    found = {setting["variable"]: setting for setting in json.loads(done.stdout)}
    assert list(found) == [f"INTERLACE_{name.upper()}" for name in Settings.model_fields]
    assert found["INTERLACE_DATA_DIR"]["value"] == str(tmp_path)
    assert found["INTERLACE_DATA_DIR"]["source"] == "environment"
    assert found["INTERLACE_MAX_BODY_BYTES"]["value"] == 256 * 2**20
    assert found["INTERLACE_MAX_BODY_BYTES"]["source"] == "default"
    assert found["INTERLACE_DATABASE_URL"]["value"] is None
    assert found["INTERLACE_LOG_LEVEL"]["value"] == "warning"
    assert all(setting["meaning"].endswith(".") for setting in found.values())


def test_for_people(tmp_path: Path, run: Run) -> None:
    done = run("config", "show")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"INTERLACE_DATA_DIR = {tmp_path}  (environment)"
    assert lines[2] == "INTERLACE_DATABASE_URL = -  (default)"
    assert len(lines) == 2 * len(Settings.model_fields)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////x/y.db?password=geheim",
        "sqlite://someone:geheim@/x.db",
        "sqlite:////x/y.db?sslPassword=geheim&passfile=geheim",
    ],
)
def test_passwords_are_hidden(tmp_path: Path, url: str, run: Run) -> None:
    for form in ((), ("--json",)):
        done = run("config", "show", *form, INTERLACE_DATABASE_URL=url)
        assert done.returncode == 0
        assert "sqlite:" in done.stdout
        assert "geheim" not in done.stdout + done.stderr


WRONG = {
    "INTERLACE_MAX_BODY_BYTES": "x",
    "INTERLACE_WORKERS": "0",
    "INTERLACE_DATABASE_URL": "postgresql://someone:geheim@host:port/x",
    "INTERLACE_LOG_FORMAT": "xml",
    "INTERLACE_LOG_LEVEL": "LOUD",
}


@pytest.mark.parametrize("command", [("config", "show"), ("serve",), ("backup", "x")])
@pytest.mark.live  # it looks an address up
def test_wrong_values_are_named_all_at_once(
    tmp_path: Path, command: tuple[str, ...], run: Run
) -> None:
    done = run(*command, **WRONG)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        f"INTERLACE_{name.upper()}"
        for name in Settings.model_fields
        if f"INTERLACE_{name.upper()}" in WRONG
    ]
    assert "geheim" not in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "mysql://someone:geheim@host/x",
            "A database is sqlite:// or postgresql://, got mysql://.",
        ),
        (
            "postgresql+asyncpg://u:geheim@host/x",
            "The driver of postgresql is psycopg, got asyncpg.",
        ),
        ("postgres://u:geheim@host:port/x", "This is no database URL."),
        ("geheim", "This is no database URL."),
    ],
)
def test_what_is_no_database(tmp_path: Path, url: str, said: str, run: Run) -> None:
    done = run("config", "show", INTERLACE_DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"interlace: INTERLACE_DATABASE_URL: {said}\n"


def test_without_the_driver(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = run("config", "show", INTERLACE_DATABASE_URL="postgresql://u:geheim@host/x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "interlace: INTERLACE_DATABASE_URL: PostgreSQL needs psycopg, which is not installed: "
        "pip install 'interlace[postgresql]'.\n"
    )


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_the_driver_need_not_be_named(scheme: str) -> None:
    pytest.importorskip("psycopg")
    found = url_of(f"{scheme}://u:p@host:5433/x?sslmode=require")
    assert found.render_as_string(hide_password=False) == (
        "postgresql+psycopg://u:p@host:5433/x?sslmode=require"
    )


def test_a_scheduler_without_the_extra_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "find_spec", lambda _name: None)
    with pytest.raises(ValidationError, match=r"pip install 'interlace\[cluster\]'"):
        Settings(scheduler="tcp://127.0.0.1:8786")
