"""The command, inside the process of the tests or, once for each command, as a program."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.cli.main import main
from tests.app.service import environment


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def runner(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Return a function that runs the command in this process, which spares it its imports."""

    def run(*arguments: str, stdin: str = "", **settings: str) -> Done:
        with monkeypatch.context() as patch:
            for name in os.environ.keys() - environment(data_dir, **settings).keys():
                patch.delenv(name)
            for name, value in {"INTERLACE_DATA_DIR": str(data_dir), **settings}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["interlace", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            with pytest.raises(SystemExit) as exit_:
                main()
        return Done(int(exit_.value.code or 0), *capfd.readouterr())

    return run


def interlace(data_dir: Path, *arguments: str, stdin: str = "", **settings: str) -> Done:
    """Run the command as a user does, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "app", *arguments],
        input=stdin,
        capture_output=True,
        env=environment(data_dir, **settings),
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
