"""The exported units, run by two workers beside ``fully_shard`` layer by layer: the same losses."""

import pytest

from tests.torch import workers

pytest.importorskip("torch")

PROGRAM = "tests.torch.fsdp_worker"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes(PROGRAM, tmp_path_factory.mktemp("fsdp"))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""
