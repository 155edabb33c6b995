"""What the library and the command do without: modules that nothing asks for, and extras."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import app.cli
from app.cli.extras import _EXTRAS
from app.errors import NotInstalled
from app.services.drawing import drawn
from app.services.examples import TWO_LAYERS
from tests.app.command import Run
from tests.app.service import environment

#: What takes time to import, and what a service alone needs.
HEAVY = (
    *("scipy", "networkx", "highspy", "google.protobuf", "rich.progress", "matplotlib"),
    *("solver.traces.readers", "solver.exports", "app.schemas.sweeps", "app.services.programs"),
    *_EXTRAS["service"],
    *_EXTRAS["remote"],
)

#: Imports the library, plans, and prints what of a list each has imported.
IMPORTED = """
import json, sys
import interlace
heavy = json.loads(sys.argv.pop())
loaded = lambda more: [name for name in (*heavy, *more) if name in sys.modules]
print(loaded(["numpy", "pydantic", "solver"]), file=sys.stderr)
from app.cli.main import main
try:
    main()
finally:
    print(loaded([]), file=sys.stderr)
"""


@pytest.mark.live
def test_neither_the_library_nor_a_plan_imports_more_than_it_needs(tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps(TWO_LAYERS))
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, "plan", "two.json", json.dumps(HEAVY)],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize(
    ("command", "missing", "what", "extra"),
    [
        ("serve", "fastapi", "serve", "service"),
        ("demo", "uvicorn", "demo", "service"),  # whose server is another process
        ("keys list", "sqlalchemy", "keys list", "service"),
        ("config show", "pydantic_settings", "config show", "service"),
        ("sweep - --svg plots", "matplotlib", "--svg", "plots"),
        ("parameter-server - --plot a.svg", "matplotlib", "--plot", "plots"),
        ("plan - --server http://127.0.0.1:9", "httpx", "--server", "remote"),
    ],
)
def test_an_extra_that_is_missing_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, missing: str, what: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for name in ("keys", "server", "environment"):  # else they are not imported again
        monkeypatch.delitem(sys.modules, f"app.cli.{name}", raising=False)
        monkeypatch.delattr(app.cli, name, raising=False)
    monkeypatch.delitem(sys.modules, "app.operations.settings", raising=False)
    done = run(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    line = f"interlace: {what} needs the extra '{extra}': pip install 'interlace[{extra}]'\n"
    assert done.stderr == line


def test_a_service_without_plots_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NotInstalled, match=r"extra 'plots'.*pip install 'interlace\[plots\]'"):
        drawn(lambda axes: None)


def test_a_module_of_no_extra_is_a_bug(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "app.cli.files", None)
    with pytest.raises(ModuleNotFoundError, match=r"app\.cli\.files"):
        run("plan", "-")


def test_the_extras_bring_what_is_looked_for() -> None:
    """Modules are named by hand: each is there where all extras are, as in these tests."""
    for modules in _EXTRAS.values():
        for module in modules:
            assert __import__(module).__name__ == module
