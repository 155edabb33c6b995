"""The exported buckets, run by two workers beside DistributedDataParallel: equal bit for bit."""

import ast
from pathlib import Path

import pytest

from tests.torch import workers

pytest.importorskip("torch")

_WORKER = Path(__file__).with_name("ddp_worker.py")


def _names():
    """Read the scenarios' names without importing PyTorch."""
    table = ast.parse(_WORKER.read_text()).body[-2]
    (listed,) = (node for node in ast.walk(table) if isinstance(node, ast.Tuple))
    return [ast.unparse(name) for name in listed.elts]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes("tests.torch.ddp_worker", tmp_path_factory.mktemp("ddp"))


@pytest.mark.parametrize("name", _names())
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""
