"""Plans inside Accelerate, transformers' Trainer and Lightning, where these are installed."""

import pytest

from tests.torch import workers

pytest.importorskip("torch")
for library in ("accelerate", "transformers", "lightning"):
    pytest.importorskip(library)

PROGRAM = "tests.torch.integrations_worker"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes(PROGRAM, tmp_path_factory.mktemp("integrations"))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""
