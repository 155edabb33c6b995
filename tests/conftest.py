"""Settings of the whole suite."""

from pathlib import Path

import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,  # the same cases everywhere: a failure comes back without shrinking
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("suite")

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared():
    """The folder of real traces, which a clone need not have beside it."""
    if not SHARED.is_dir():
        pytest.skip("no folder of real traces beside the checkout")
    return SHARED
