"""Planned training by two workers: what is refused, and what trials keep; loops are the kit's."""

import pytest

from tests.torch import workers

pytest.importorskip("torch")

PROGRAM = "tests.torch.planned_worker"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes(PROGRAM, tmp_path_factory.mktemp("planned"))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""
