"""The recordings that tests share."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.conftest import clock  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def recordings(tmp_path_factory):
    """Folder of a folder for each kind of training, recorded here and now."""
    folder = tmp_path_factory.mktemp("recordings")
    command = [sys.executable, "-m", "tests.recordings.record", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def patient(monkeypatch):
    """Have planners wait for whom they asked."""
    monkeypatch.setattr("interlace_client.torch.planner._MORE_S", 3_600)
