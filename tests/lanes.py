"""The lanes of the suite: which command runs a test, what it may do there, and what it may cost.

``test``  pure tests, which start nothing and wait for nothing, and a smoke of the rest
``live``  servers, browsers, databases, Dask, kills
``torch`` PyTorch, with ranks that are processes
``long``  every case of the randomized tests, and exact rivals that take minutes

The lane of a test follows from the folder, the fixtures that it asks for, and its marks; without
``--lane`` whatever is asked for is run. docs/explanation/tests.md has budgets and reasons.
"""

import pickle
import sys
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from tests import sampling

LANES = ("test", "live", "torch", "long")
#: Whoever asks for one of these has a server, a database, a browser or a cluster.
LIVE_FIXTURES = frozenset(
    {
        *("service", "ask_server", "keyed_server", "one_worker", "on_postgresql", "server"),
        *("postgresql", "chromium", "shell"),
    }
)
#: CPU time of one pure test [s]: above the first it is named at the end, above the second it is
#: said to be too dear. A second of CPU time does more or less by what runs beside it, so that only
#: five times as much makes it fail.
NAMED_S, MOST_S, FAILS_S = 2.0, 6.0, 30.0
#: What a pure test does not do, as Python's audit events call it.
_IMPURE = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "subprocess.Popen",
        "time.sleep",
    }
)


class Impure(RuntimeError):
    """A pure test opened a socket, started a process or slept."""


class _Guard:
    """Refuses what a pure test does not do, while one is at work."""

    def __init__(self) -> None:
        self.is_on = False
        self.seen: list[str] = []
        sys.addaudithook(self._look)  # stays until the process ends

    def _look(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on and event in _IMPURE:
            self.seen.append(event)
            raise Impure(
                f"{event}{args[:2]}: a pure test starts no process, opens no socket and does not "
                "sleep; what has to is marked 'live' (tests/lanes.py)."
            )


_GUARD = _Guard()


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--lane", choices=LANES, help="run the tests of one lane")
    parser.addoption("--part", metavar="K/N", help="of the tests that would be run, the K-th of N")


def configure(config: pytest.Config) -> None:
    for line in (
        "live: starts processes, opens sockets or waits",
        "smoke: live, but run by 'make test' too",
        "long: takes minutes; run by 'make test-long' alone",
    ):
        config.addinivalue_line("markers", line)


def in_this_process(
    work: bytes,
    items: Sequence[Any],
    tell: Callable[[int], None],
    keep: Callable[[int, Any], None] | None,
) -> list[Any]:
    """Do in this process what a pool of processes is asked for."""
    found: list[Any] = []
    for item in items:
        tell(len(found))
        found.append(pickle.loads(work)(item))
        if keep:
            keep(len(found) - 1, found[-1])
        tell(len(found))
    return found


def lane_of(item: pytest.Item) -> str:
    """Return the lane that runs a test, ``smoke`` for what two of them run."""
    if "torch" in item.path.parts[-3:-1]:
        return "torch"
    for mark in ("smoke", "long", "live"):
        if item.get_closest_marker(mark):
            return mark
    return "test" if LIVE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) else "live"


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the lane that is asked for, and of those a part; the smoke is first."""
    lane, part = config.getoption("lane"), config.getoption("part")
    left = [item for item in items if lane is None or _is_in(item, lane)]
    if part:
        first, count = map(int, part.split("/"))
        left = left[first - 1 :: count]
    kept = set(left)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted(left, key=lambda item: lane_of(item) != "smoke")


def _is_in(item: pytest.Item, lane: str) -> bool:
    its = lane_of(item)
    if lane == "long":
        return its == "long" or (its in {"test", "live"} and _is_sampled(item))
    return its == lane or (its == "smoke" and lane == "test")


def _is_sampled(item: pytest.Item) -> bool:
    """Tell whether the module of a test has to do with samples, or with Hypothesis."""
    if not isinstance(item, pytest.Function):
        return False
    names = (getattr(each, "__module__", None) for each in vars(item.module).values())
    from_there = any(str(name).startswith(("hypothesis", "tests.sampling")) for name in names)
    return from_there or sampling in vars(item.module).values()


def guarded(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test; a pure one is held to what it may do, and in its lane to what it may cost."""
    if lane_of(item) != "test":
        return (yield)
    _GUARD.seen.clear()
    _GUARD.is_on = True
    before_s = time.process_time()
    try:
        result = yield
    finally:
        _GUARD.is_on = False
    took_s = time.process_time() - before_s
    item.user_properties.append(("cpu_s", took_s))
    if _GUARD.seen:
        pytest.fail(f"A pure test did what it may not: {', '.join(_GUARD.seen)}.")
    if took_s > FAILS_S and item.config.getoption("lane") == "test":
        pytest.fail(
            f"It took {took_s:.1f} s of CPU time; a pure test has {MOST_S:g} s (tests/lanes.py)."
        )
    return result


def name_dear(reports: Sequence[pytest.TestReport]) -> list[str]:
    """Return a line for each test that took much CPU time, the dearest first."""
    took = {(_cpu_s(report), report.nodeid) for report in reports if report.when == "call"}
    dear = {(took_s, name) for took_s, name in took if took_s > NAMED_S}
    return [
        f"{took_s:5.1f} s of CPU time{', too dear' if took_s > MOST_S else ''}: {name}"
        for took_s, name in sorted(dear, reverse=True)
    ]


def _cpu_s(report: pytest.TestReport) -> float:
    return next((float(str(value)) for name, value in report.user_properties if name == "cpu_s"), 0)
