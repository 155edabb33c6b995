"""The command, for all its tests."""

from pathlib import Path

import pytest

from tests.app.command import Run, runner


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""
    return runner(tmp_path, monkeypatch, capfd)
