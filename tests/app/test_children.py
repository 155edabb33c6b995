"""Children, forked or programs of their own: how they begin, and how each of their ends is told."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.children.exit_reason import reason_of
from app.children.process import GONE_S, Child, bury, fork, forking, kill, reason
from app.children.program import ProgramChild
from app.operations.settings import Settings
from tests.app.long import gone
from tests.waiting import until


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (None, "unseen"),
        (0, "with exit code 0"),
        (3, "with exit code 3"),
        (-9, "by signal SIGKILL"),
        (-64, "by signal SIGRTMAX"),
        (-200, "by signal 200"),
    ],
)
def test_how_a_process_ended(code: int | None, told: str) -> None:
    assert reason_of(code) == told


@pytest.mark.live
def test_who_starts_programs_imports_no_more_of_the_service() -> None:
    """A Dask worker does, and has memory for its jobs."""
    heavy = {"pydantic", "sqlalchemy", "numpy", "app.operations.settings"}
    script = f"import sys, app.jobs.engines.children; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.fixture(params=["app.jobs.worker:work", "app.calls.process:serve"])
def child(request: pytest.FixtureRequest, tmp_path: Path) -> Child:
    return fork(forking([]), Settings(data_dir=tmp_path), request.param)


@pytest.mark.live
def test_an_order_that_cannot_be_read_is_the_end(child: Child) -> None:
    """Who sent it would wait for ever for what becomes of it."""
    child.pipe.send_bytes(b"no pickle")
    with pytest.raises((EOFError, OSError)):
        child.pipe.recv()
    assert reason(child, GONE_S) == "by signal SIGKILL"
    bury(child)


@pytest.mark.live
def test_a_parent_that_lets_go_is_the_end(child: Child) -> None:
    child.pipe.close()
    child.process.join()
    assert reason(child) == "by signal SIGKILL"
    bury(child)


@pytest.mark.live
def test_a_child_that_is_killed(child: Child) -> None:
    kill(child)
    assert reason(child, GONE_S) == "by signal SIGKILL"
    kill(child)  # once more, of one that has gone
    bury(child)


@pytest.fixture
def program() -> ProgramChild:
    child = ProgramChild("app.jobs.engines.child", has_group=True)
    assert child.hear(lambda _: None) is None, "it waits for something to do"
    return child


@pytest.mark.live
def test_a_large_parent_makes_no_large_program() -> None:
    """A Dask worker has its own data; what it starts begins small, and works."""
    script = (
        "from app.children.program import ProgramChild\n"
        "held = b'1' * (600 << 20)\n"
        "child = ProgramChild('app.jobs.engines.child', has_group=True)\n"
        "assert child.hear(lambda _: None) is None\n"
        "child.kill()\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.live
def test_a_program_that_is_sent_what_it_cannot_read(program: ProgramChild) -> None:
    program.pipe.send_bytes(b"no pickle")
    with pytest.raises((EOFError, OSError)):
        program.hear(lambda _: None)
    assert program.reason() == "by signal SIGKILL"


@pytest.mark.live
def test_a_program_ends_by_its_parent_alone(program: ProgramChild) -> None:
    """Signals to all processes of a service are meant for its parent."""
    pid = program._process.pid
    assert os.getpgid(pid) == pid, "it has a group of its own"
    for sent in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid, sent)
    assert program.kill() == -signal.SIGKILL
    until(lambda: gone([pid]))
