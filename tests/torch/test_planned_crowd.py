"""Planned training by up to four workers: gradients in any order, delays, and ranks that leave."""

import pytest

from tests import sampling
from tests.torch import workers

pytest.importorskip("torch")

PROGRAM = "tests.torch.planned_crowd_worker"
#: How many steps each number of workers makes.
STEPS = {2: 1000, 3: 1000, 4: 1000} if sampling.full else {4: 40}


@pytest.fixture(scope="module", params=STEPS)
def outcomes(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    steps = STEPS[request.param]
    return workers.outcomes(PROGRAM, folder, request.param, str(steps))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_several_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""
