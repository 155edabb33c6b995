"""Two workers whose run is steered: the same plan from the same step on, whatever the planner."""

import pytest

from tests.torch import workers

pytest.importorskip("torch")

PROGRAM = "tests.torch.drift_worker"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes(PROGRAM, tmp_path_factory.mktemp("drift"))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""
