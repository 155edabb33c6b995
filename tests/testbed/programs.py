"""Programs that do what a line of JSON on their standard input says, and answer with one."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.testbed.sessions import ROOT


class HostProgram(NamedTuple):
    """A program on its host, and where it writes what goes wrong."""

    process: "subprocess.Popen[str]"
    log: Path


def ask(program: HostProgram, cell: Mapping[str, Any]) -> None:
    """Say what a program does next."""
    print(json.dumps(cell), file=program.process.stdin, flush=True)


def answer_of(program: HostProgram) -> dict[str, Any]:
    """Wait for what a program says.

    Raises
    ------
    RuntimeError
        When it has ended, with what it wrote last.
    """
    assert program.process.stdout is not None
    line = program.process.stdout.readline()
    if not line:
        raise RuntimeError(f"A program has ended: {program.log.read_text()[-1500:]}")
    said: dict[str, Any] = json.loads(line)
    return said


@contextmanager
def started(
    commands: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]] = ()
) -> Iterator[list[HostProgram]]:
    """Start programs, wait until each has said something, and kill them at the end.

    Parameters
    ----------
    commands
        How each is run.
    environments
        What each has in its environment besides; none for nothing.
    """
    common = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        programs = []
        for i, command in enumerate(commands):
            path = folder / f"{i}.log"
            log = stack.enter_context(path.open("w"))
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**common, **(environments[i] if environments else {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            programs.append(HostProgram(process, path))
        for program in programs:
            answer_of(program)
        yield programs
