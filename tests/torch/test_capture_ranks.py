"""Two ranks are recorded together, alone and beside communication."""

import pytest

pytest.importorskip("torch")

from tests.torch.workers import names_in, outcomes

PROGRAM = "tests.torch.capture_worker"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    return outcomes(PROGRAM, tmp_path_factory.mktemp("workers"))


@pytest.mark.parametrize("scenario", names_in(PROGRAM))
def test_two_ranks(said, scenario):
    assert said.get(scenario, "not reached") == ""
