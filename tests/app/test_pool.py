"""Many small things on all cores: order, progress, errors, and processes that die."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from app.errors import WorkerDied
from app.operations.settings import cores
from app.services.sweeps import parallel as pool
from app.services.sweeps.parallel import each
from tests.app.service import environment

#: Starts a pool whose items say who does them and never end.
ENDLESS = """
import sys
from tests.app.test_pool import endless
from app.pool import each
if __name__ == "__main__":
    each(endless, [sys.argv[1]] * 4, short_s=0)
"""


#: The same, whose processes take long to start.
SLOW = """
import os, sys, time
from pathlib import Path
if __name__ == "__mp_main__":
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(2)
""" + ENDLESS.removeprefix("\nimport sys")


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch):
    monkeypatch.setattr(pool, "cores", lambda: 2)


def late(longest: int, item: int) -> tuple[int, int]:
    """The first items take longest."""
    time.sleep(0.02 * (longest - item))
    return item, os.getpid()


def dying(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def failing(item: int) -> int:
    if item >= 3:
        raise ValueError(f"item {item}")
    return item


def endless(folder: str) -> None:
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)


def test_results_come_in_order_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    found = each(partial(late, 9), range(9), lambda *done: told.append(done), short_s=0)
    assert [item for item, _ in found] == list(range(9))
    assert os.getpid() not in {process for _, process in found}
    assert list(dict.fromkeys(told)) == [(done, 9) for done in range(10)]


def test_what_is_short_is_done_here(monkeypatch) -> None:
    assert {process for _, process in each(partial(late, 3), range(3))} == {os.getpid()}
    assert each(failing, [], short_s=0) == []
    monkeypatch.setattr(pool, "cores", lambda: 1)
    (other,) = {process for _, process in each(partial(late, 3), range(3), short_s=0)}
    assert other != os.getpid()  # a process of its own can be ended


def test_the_cores_are_those_that_may_be_used() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(WorkerDied, match="killed, or out of memory"):
        each(dying, range(20), short_s=0)
    assert each(failing, range(3), short_s=0) == [0, 1, 2]  # the next pool is a new one


def test_an_error_is_the_first_one_found() -> None:
    with pytest.raises(ValueError, match="item"):
        each(failing, range(20), short_s=0)


class GivenUpError(Exception):
    """Of whoever waits for the items."""


def test_who_waits_may_give_up_at_any_time(tmp_path) -> None:
    def impatient(_done: int, _all: int) -> None:
        if len(list(tmp_path.iterdir())) == 2:
            raise GivenUpError

    with pytest.raises(GivenUpError):
        each(endless, [str(tmp_path)] * 4, impatient, short_s=0)
    assert_gone([int(path.name) for path in tmp_path.iterdir()])


def test_who_waits_for_another_pool_may_give_up_too() -> None:
    asked: list[tuple[int, ...]] = []

    def impatient(*done: int) -> None:
        asked.append(done)
        if len(asked) == 3:
            raise GivenUpError

    with pool._ONE_POOL, pytest.raises(GivenUpError):
        each(failing, range(3), impatient, short_s=0)
    assert asked == [(0, 3)] * 3
    assert each(failing, range(3), short_s=0) == [0, 1, 2]


def test_nothing_is_begun_for_who_has_given_up() -> None:
    def gone(_done: int, _all: int) -> None:
        raise GivenUpError

    with pytest.raises(GivenUpError):
        each(failing, [3], gone)


def started(folder: Path, content: str = ENDLESS) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a pool in a process of its own; return it and the processes of its pool."""
    script = folder / "endless.py"
    script.write_text(content)
    busy = folder / "busy"
    busy.mkdir()
    parent = subprocess.Popen(
        [sys.executable, "-W", "error", str(script), str(busy)],
        env=environment(folder),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    wanted = min(2, cores())
    while len(found := [int(path.name) for path in busy.iterdir()]) < wanted:
        assert time.monotonic() < deadline
        assert parent.poll() is None, parent.stderr.read()
        time.sleep(0.05)
    return parent, found


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{process}/status")
    return status.is_file() and "\nState:\tZ" in status.read_text()


def assert_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + 20
    while not all(map(gone, processes)):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.05)


def test_no_process_outlives_its_parent(tmp_path) -> None:
    parent, processes = started(tmp_path)
    parent.kill()
    parent.communicate()
    assert_gone(processes)


def test_an_interrupt_ends_all_at_once(tmp_path) -> None:
    parent, processes = started(tmp_path)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
    _, errors = parent.communicate(timeout=20)
    assert_gone(processes)
    assert errors.count("Traceback") == 1
    assert "KeyboardInterrupt" in errors


def test_an_interrupt_of_processes_that_start(tmp_path) -> None:
    parent, processes = started(tmp_path, SLOW)
    os.killpg(parent.pid, signal.SIGINT)
    _, errors = parent.communicate(timeout=20)
    assert_gone(processes)
    assert errors.count("Traceback") == 1
    assert "KeyboardInterrupt" in errors
