"""How the command begins: what it imports, its help, completion, and interrupts at any moment."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli.program import COMMANDS
from app.services.examples import TWO_LAYERS
from app.write_fields import MODULE, module
from solver.traces import READERS
from tests.app.command import Run
from tests.app.service import ROOT, environment

#: What takes time to import, and nothing but work needs.
HEAVY = (
    "numpy", "pydantic", "msgspec", "networkx", "highspy", "scipy", "matplotlib", "google.protobuf",
    "rich", "fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "httpx", "interlace_client",
)  # fmt: skip
#: What only a service needs, or the client of one.
OF_A_SERVICE = (
    "fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "pydantic_settings", "httpx",
    "interlace_client", "scipy", "matplotlib",
)  # fmt: skip

#: Runs commands one after the other, and prints which modules of a list each has imported.
IMPORTED = """
import contextlib, io, json, os, sys
from app.cli.main import main
commands, modules = map(json.loads, sys.argv[1:])
for arguments, variables in commands:
    os.environ.update(variables)
    sys.argv = ["interlace", *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
    for name in variables:
        del os.environ[name]
    imported = [name for name in modules if name in sys.modules]
    print(json.dumps([code, imported, out.getvalue() + err.getvalue()]))
"""


def imported(
    folder: Path, commands: list[tuple[list[str], dict[str, str]]], modules: tuple[str, ...]
) -> list[Any]:
    """Run commands in one process; return exit code, modules that are loaded, and the output."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, json.dumps(commands), json.dumps(modules)],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def completing(words: str) -> dict[str, str]:
    """Return what a bash completion says of a line whose last word is to be completed."""
    last = len(words.split(" ")) - 1
    return {"_INTERLACE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": f"{last}"}


ALL = [*COMMANDS, "config", "keys"]


@pytest.mark.live
def test_help_and_wrong_use_import_no_work(tmp_path: Path) -> None:
    cases = [
        ([], {}, 0, "Usage: interlace"),
        (["--version"], {}, 0, "interlace "),
        (["--help"], {}, 0, "Usage: interlace"),
        (["config"], {}, 0, "Usage: interlace config"),
        (["keys"], {}, 0, "Usage: interlace keys"),
        *(([name, "--help"], {}, 0, f"Usage: interlace {name}") for name in ALL),
        (["nonsense"], {}, 2, "interlace: No such command"),
        (["--nonsense"], {}, 2, "interlace: No such option"),
        (["plan", "graph.json", "--nonsense"], {}, 2, "interlace: No such option"),
        ([], completing("interlace pl"), 0, "plan"),
        ([], completing("interlace sweep --bandw"), 0, "--bandwidths-gbps"),
    ]  # fmt: skip
    found = imported(tmp_path, [case[:2] for case in cases], HEAVY)
    for (arguments, variables, code, begins), (ended, loaded, printed) in zip(
        cases, found, strict=True
    ):
        assert ended == code
        # what a flag may be is pydantic's business, also when one is completed
        assert set(loaded) <= ({"pydantic"} if variables else set()), (arguments, variables)
        assert printed.startswith(begins)


@pytest.mark.live
def test_work_done_here_imports_no_service(tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps(TWO_LAYERS))
    (tmp_path / "samples.csv").write_text("size(B),time(us)\n1,50\n1000,51\n1000000,1050\n")
    commands = [
        "plan two.json",
        "simulate two.json",
        "predict two.json",
        "sweep two.json --policy wfbp",
        "calibrate samples.csv",
        "import two.json",
        "export two.json --format ddp --out ddp",
        "example",
    ]
    found = imported(tmp_path, [(command.split(), {}) for command in commands], OF_A_SERVICE)
    for command, (code, loaded, printed) in zip(commands, found, strict=True):
        assert (command, code, loaded) == (command, 0, []), printed


@pytest.mark.parametrize("command", ["", "config", "keys"])
def test_alone_it_prints_its_help(run: Run, command: str) -> None:
    alone = run(*command.split())
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone == run(*command.split(), "--help")
    assert len(alone.stdout.splitlines()) > 5


def test_each_command_has_a_whole_sentence(run: Run) -> None:
    shown = run().stdout
    assert "..." not in shown.replace("[ARGS]...", "")
    lines = shown.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == ALL
    assert all(line.endswith(".") for line in lines)


@pytest.mark.live
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_shown_and_installed(tmp_path: Path, run: Run, shell: str) -> None:
    # the shell that runs the command is found among its parents; there is none in the tests
    script = f"import shellingham; shellingham.detect_shell = lambda: ({shell!r}, '/bin/{shell}')"
    for flag in ("--show-completion", "--install-completion"):
        done = subprocess.run(
            [sys.executable, "-c", f"{script}\nfrom app.cli.main import main\nmain()", flag],
            env={**environment(tmp_path), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        if flag == "--show-completion":
            script_shown = done.stdout
    assert "_INTERLACE_COMPLETE" in script_shown
    name = {"bash": ".bash_completions/interlace.sh", "zsh": ".zfunc/_interlace"}[shell]
    assert (tmp_path / name).read_text().strip() == script_shown.strip()


#: Runs the command, and interrupts it when it begins to import a module.
INTERRUPTING = """
import os, signal, sys
at = sys.argv.pop(1)
def interrupt(event, arguments):
    if event == "import" and arguments[0] == at:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
from app.cli.main import main
main()
"""


@pytest.mark.live
@pytest.mark.parametrize("is_ignored", [False, True])
@pytest.mark.parametrize("at", ["app.cli.program", "numpy"])
def test_interrupted_while_it_imports(tmp_path: Path, at: str, is_ignored: bool) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO_LAYERS))
    handler = signal.SIG_IGN if is_ignored else signal.SIG_DFL
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERRUPTING, at, "plan", str(file)],
        env=environment(tmp_path),
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, handler),
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "interlace: interrupted\n"


@pytest.mark.live
def test_an_interrupt_that_an_import_would_swallow(tmp_path: Path) -> None:
    # as a callback of a weak reference does, in the middle of importlib
    script = (
        "import os, signal, sys\n"
        "class Swallowed:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.addaudithook(lambda event, arguments: event == 'import' and arguments[0] == 'numpy'"
        " and Swallowed() and None)\n"
        "from app.cli.main import main\n"
        "main()\n"
    )
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO_LAYERS))
    done = subprocess.run(
        [sys.executable, "-c", script, "plan", str(file)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "interlace: interrupted\n")


def test_a_sweep_is_interrupted_in_order(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO_LAYERS))
    ended = []

    def interrupted(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            ended.append("in order")

    monkeypatch.setattr("app.services.sweeps.run.run", interrupted)
    before = signal.getsignal(signal.SIGINT)
    done = run("sweep", str(file))
    assert signal.getsignal(signal.SIGINT) is before
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interlace: interrupted\n")
    assert ended == ["in order"]


def test_a_file_of_another_kind_is_one_sentence(run: Run, tmp_path: Path) -> None:
    formats = ", ".join(READERS)
    for name, content, looks in (
        ("prose.md", b'\n# Notes on "training"\n' + 500 * b"more\n", 'begins with "# Notes on'),
        ("picture.png", b"\x89PNG\r\n\x1a\n\x00", "is not text"),
        ("blank.txt", b" \n\n", "is blank"),
    ):  # fmt: skip
        file = tmp_path / name
        file.write_bytes(content)
        for command in ("plan", "simulate", "predict", "sweep"):
            done = run(command, str(file))
            assert (done.returncode, done.stdout) == (1, "")
            [line] = done.stderr.splitlines()
            assert line.startswith(f"interlace: {file}: The file {looks}")
            assert line.endswith(f"; it is no JSON, and of none of the known formats: {formats}.")


def test_the_article_goes_with_the_format(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO_LAYERS))
    assert run("import", str(file)).stdout.startswith("Read from an interlace file: 6 ops, ")


def test_the_client_may_be_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "interlace_client", None)
    monkeypatch.delitem(sys.modules, "app.cli.remote", raising=False)
    done = run("plan", "-", "--server", "http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "interlace: --server needs the extra 'remote': pip install 'interlace[remote]'\n"
    )


def test_fields_are_those_of_the_requests() -> None:
    assert (ROOT / MODULE).read_text("utf-8") == module(), "stale: run make openapi"


def test_help_has_the_range_and_the_default_of_the_field(run: Run) -> None:
    shown = " ".join(run("plan", "--help").stdout.split())
    for part in (
        "--effort <int> Multiplies the moves of the search. [1 to 100; default: 1]",
        "--workers <int> Data-parallel ranks. [1 to 1,000,000; default: the file's",
        "--fusion <str> joint, maxmin, maxmin_momentum, none. [default: joint]",
        "[1e-06<=x<=1099511627776.0]",  # of a bucket, in MiB
    ):
        assert part in shown


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan --fusion m", ["maxmin", "maxmin_momentum"]),
        ("plan --baseline ddp", ["ddp", "ddp_priority"]),
        ("sweep --policy pl", ["plan"]),
        ("plan --set options.s", ["options.schedule=", "options.slot_us=", "options.seed="]),
        ("simulate --set jitter.r", ["jitter.rivals=", "jitter.runs="]),
        ("simulate --set bin", ["bins="]),
        ("export --format x", ["xla"]),
        ("import --format k", ["kineto"]),
        ("predict --set options.", []),  # it has none
    ],
)
def test_words_and_paths_are_completed(run: Run, line: str, words: list[str]) -> None:
    shown = run(**completing(f"interlace {line}")).stdout
    assert sorted(shown.split()) == sorted(words)
