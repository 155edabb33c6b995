"""Settings of the whole suite."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests import sampling
from tests.app import postgres
from tests.app.postgres import Cluster
from tests.app.service import Service, running

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="try all cases of the randomized tests, not a sample"
    )
    parser.addoption(
        "--longer", action="store_true", help="run only what --full makes longer, all of it"
    )


def pytest_configure(config: pytest.Config) -> None:
    sampling.full = config.getoption("full") or config.getoption("longer")
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("longer"):
        longer = [item for item in items if _is_sampled(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(longer)])
        items[:] = longer


def _is_sampled(item: pytest.Item) -> bool:
    """Tell whether the module of a test has to do with samples, or with Hypothesis."""
    if not isinstance(item, pytest.Function):
        return False
    names = (getattr(each, "__module__", None) for each in vars(item.module).values())
    from_there = any(str(name).startswith(("hypothesis", "tests.sampling")) for name in names)
    return from_there or sampling in vars(item.module).values()


@pytest.fixture(scope="session")
def shared():
    """The folder of real traces, which a clone need not have beside it."""
    if not SHARED.is_dir():
        pytest.skip("no folder of real traces beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server for all tests that only read from it or add jobs."""
    with running(tmp_path_factory.mktemp("service"), INTERLACE_MAX_BODY_BYTES="3000000") as found:
        yield found
        assert "Traceback" not in found.log.read_text(), "the server failed inside"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of the tests' own."""
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.running() as found:
        yield found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Callable[[], str | None]:
    """What gives the URL of a new database of each kind: None is the file that is the default."""
    if request.param == "sqlite":
        return lambda: None
    found: Cluster = request.getfixturevalue("cluster")
    return found.make
