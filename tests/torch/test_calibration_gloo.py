"""Calibration of a real process group: two workers of gloo on loopback."""

import pytest

from tests.torch import workers

pytest.importorskip("torch")

from interlace_client.torch.calibration import calibrate

PROGRAM = "tests.torch.calibration_worker"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes(PROGRAM, tmp_path_factory.mktemp("calibration"))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""


def test_without_a_process_group():
    with pytest.raises(RuntimeError, match="init_process_group first"):
        calibrate()
