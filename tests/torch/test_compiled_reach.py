"""What models do in compiled graphs, planned on two ranks of gloo; also by another PyTorch.

``INTERLACE_TORCH_PYTHON`` names the Python of that PyTorch, as ``make test-torch-2.14`` does.
"""

import os
import sys

import pytest

from tests.torch.workers import names_in, outcomes

pytest.importorskip("torch")

PROGRAM = "tests.torch.compiled_reach_worker"


@pytest.fixture(scope="module")
def went(tmp_path_factory):
    python = os.environ.get("INTERLACE_TORCH_PYTHON", sys.executable)
    return outcomes(PROGRAM, tmp_path_factory.mktemp("reach"), python=python)


@pytest.mark.parametrize("name", names_in(PROGRAM))
def test_it_is_planned_or_refused(went, name):
    assert went.get(name, "not reached") == ""
