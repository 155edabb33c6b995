"""Many small things on all cores: order, progress, errors, and processes that die."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from app.errors import WorkerDied
from app.operations.cores import cores
from app.services.sweeps import parallel as pool
from app.services.sweeps.parallel import LostItem, each
from tests.app.items import deadly, dying, dying_once, endless, failing, late
from tests.app.long import gone
from tests.app.service import environment
from tests.waiting import until

pytestmark = pytest.mark.live
T = TypeVar("T")
#: Starts a pool whose items say who does them and never end.
ENDLESS = """
import os, signal, sys
from pathlib import Path
from app.services.sweeps.parallel import each
from tests.app.items import endless
if __name__ == "__main__":
    each(endless, [sys.argv[1]] * 4, short_s=0)
"""
#: The same, whose processes never have started.
STARTING = (
    """
from app.services.sweeps import parallel
parallel._CHILD = "tests.app.unstarted"
"""
    + ENDLESS
)


def done(found: list[T | LostItem]) -> list[T]:
    """Return the results of items of which none was lost."""
    assert not [each for each in found if isinstance(each, LostItem)]
    return [each for each in found if not isinstance(each, LostItem)]


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch):
    monkeypatch.setattr(pool, "cores", lambda: 2)


def test_results_come_in_order_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    found = done(each(partial(late, 9), range(9), lambda *so_far: told.append(so_far), short_s=0))
    assert [item for item, _ in found] == list(range(9))
    assert os.getpid() not in {process for _, process in found}
    assert list(dict.fromkeys(told)) == [(count, 9) for count in range(10)]


def test_what_is_short_is_done_here(monkeypatch) -> None:
    assert {process for _, process in done(each(partial(late, 3), range(3)))} == {os.getpid()}
    assert each(failing, [], short_s=0) == []
    monkeypatch.setattr(pool, "cores", lambda: 1)
    (other,) = {process for _, process in done(each(partial(late, 3), range(3), short_s=0))}
    assert other != os.getpid()  # a process of its own can be ended


def test_the_cores_are_those_that_may_be_used() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_process_that_is_killed_costs_what_it_was_at(tmp_path: Path) -> None:
    done: dict[int, object] = {}
    told: list[int] = []

    def tell(some: int, _all: int) -> None:
        told.append(some)

    found = each(
        partial(dying_once, str(tmp_path)), range(1_024), tell, keep=done.__setitem__, short_s=0
    )
    assert found == [(item, int(item == 3)) for item in range(1_024)]
    assert [done[item] for item in range(1_024)] == found
    assert told == sorted(told)
    assert len(list(tmp_path.iterdir())) == 1_025, "one item was begun twice"


@pytest.mark.parametrize("most", [1, 2])
def test_an_item_whose_processes_always_die_is_lost(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(pool, "cores", lambda: most)
    found = each(dying, range(5), short_s=0)
    assert found == [0, 1, 2, pool.LostItem("by signal SIGKILL"), 4]
    assert str(found[3]) == (
        "Its process ended 4 times before it was done, at last by signal SIGKILL."
    )


def test_where_all_processes_die_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkerDied, match="No part of this could be computed"):
        each(deadly, range(100), short_s=0)
    monkeypatch.setattr(pool, "_CHILD", "tests.app.no_such_program")
    with pytest.raises(WorkerDied, match="exit code 1"):
        each(failing, range(3), short_s=0)
    monkeypatch.undo()
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
    processes = [int(path.name) for path in tmp_path.iterdir()]
    until(lambda: gone(processes))


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


@contextmanager
def started(folder: Path, script: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Start a pool in a process of its own; give it and the processes of its pool."""
    file = folder / "pool.py"
    file.write_text(script)
    busy = folder / "busy"
    busy.mkdir()
    with subprocess.Popen(
        [sys.executable, "-W", "error", str(file), str(busy)],
        env=environment(folder, BUSY=str(busy)),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:

        def all_are_there() -> bool:
            assert parent.poll() is None, parent.stderr.read()
            return len(list(busy.iterdir())) == min(2, cores())

        try:
            until(all_are_there)
            yield parent, [int(path.name) for path in busy.iterdir()]
        finally:
            parent.kill()


def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    with started(tmp_path, ENDLESS) as (parent, processes):
        parent.kill()
    until(lambda: gone(processes))


@pytest.mark.parametrize("script", [ENDLESS, STARTING], ids=["working", "starting"])
def test_an_interrupt_ends_all_at_once(tmp_path: Path, script: str) -> None:
    with started(tmp_path, script) as (parent, processes):
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
        _, errors = parent.communicate()
    until(lambda: gone(processes))
    assert errors.count("Traceback") == 1
    assert "KeyboardInterrupt" in errors


def test_no_file_is_left_of_what_is_killed(tmp_path: Path, monkeypatch) -> None:
    files = tmp_path / "temporary"
    files.mkdir()
    monkeypatch.setenv("TMPDIR", str(files))
    with started(tmp_path, ENDLESS) as (parent, processes):
        assert not list(files.iterdir())
        parent.kill()
    until(lambda: gone(processes))
    assert not list(files.iterdir())
