"""Settings of the whole suite."""

import signal
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests import sampling

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="try all cases of the randomized tests, not a sample"
    )


def pytest_configure(config: pytest.Config) -> None:
    sampling.full = config.getoption("full")
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


@pytest.fixture(scope="session")
def shared():
    """The folder of real traces, which a clone need not have beside it."""
    if not SHARED.is_dir():
        pytest.skip("no folder of real traces beside the checkout")
    return SHARED
