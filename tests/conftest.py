"""Settings of the whole suite."""

import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import Phase, settings

from tests import lanes, sampling
from tests.app import postgres
from tests.app.keyed import Keyed, keyed
from tests.app.postgres import Cluster
from tests.app.service import Service, cancel_what_is_left, for_many

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="try all cases of the randomized tests, not a sample"
    )
    lanes.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    lanes.configure(config)
    sampling.full = config.getoption("full") or config.getoption("lane") == "long"
    settings.register_profile(
        "suite",
        deadline=None,
        derandomize=True,  # the same cases everywhere: a failure comes back without shrinking
        phases=[Phase.explicit, Phase.generate],
        max_examples=sampling.cases(100),
    )
    settings.load_profile("suite")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # What is ignored stays so in every program that is started; what is handled does not.
        signal.signal(signal.SIGINT, lambda *_: None)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case of bytes by its argument: bytes may hold a time, and all workers name alike."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lanes.select(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from lanes.guarded(item))


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    reports = [each for found in terminalreporter.stats.values() for each in found]
    tests = [each for each in reports if isinstance(each, pytest.TestReport)]
    for line in lanes.name_dear(tests):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _sweeps_stay_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a pure test do all cells of a sweep in its own process."""
    if lanes.lane_of(request.node) == "test":
        monkeypatch.setattr("app.services.sweeps.parallel._by_processes", lanes.in_this_process)


@pytest.fixture(scope="session")
def fonts() -> None:
    """Have matplotlib ask a program for the fonts of this machine, which no pure test does."""
    pytest.importorskip("matplotlib.font_manager")


@pytest.fixture(scope="session")
def shared():
    """The folder of real traces, which a clone need not have beside it."""
    if not SHARED.is_dir():
        pytest.skip("no folder of real traces beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server for all tests that only read from it or add jobs."""
    with for_many(tmp_path_factory.mktemp("service"), INTERLACE_MAX_BODY_BYTES="3000000") as found:
        yield found


@pytest.fixture(autouse=True)
def _jobs_end_with_their_test() -> Iterator[None]:
    yield
    cancel_what_is_left()


@pytest.fixture(scope="session")
def keyed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    """One server that wants keys; each test has owners of its own."""
    settings = {"QUOTA_REQUESTS_PER_S": "100000", "QUOTA_QUEUED": "2", "WORKERS": "1"}
    named = {f"INTERLACE_{name}": value for name, value in settings.items()}
    with keyed(tmp_path_factory.mktemp("keyed"), **named) as found:
        yield found
        assert "Traceback" not in found.service.log.read_text(), "the server failed inside"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """A PostgreSQL of the tests' own."""
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.running() as found:
        yield found


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.live)]
)
def database(request: pytest.FixtureRequest) -> Callable[[], str | None]:
    """What gives the URL of a new database of each kind: None is the file that is the default."""
    if request.param == "sqlite":
        return lambda: None
    found: Cluster = request.getfixturevalue("postgresql")
    return found.make
