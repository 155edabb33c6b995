"""One server for all tests that only read from it or add plans; the command in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.command import Run, runner
from tests.app.service import Service, running


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("service"), INTERLACE_MAX_BODY_BYTES="3000000") as found:
        yield found
        assert "Traceback" not in found.log.read_text(), "the server failed inside"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""
    return runner(tmp_path, monkeypatch, capfd)
