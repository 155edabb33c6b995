"""One server for all attacks that take long: it takes the longest bodies, and ends no answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.app.service import Service, running


@dataclass(frozen=True)
class Attacked:
    """A running server, and the folder of its temporary files."""

    service: Service
    temporary: Path


@pytest.fixture(scope="session")
def attacked_and_its_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    # a short path: what forks has a socket there
    with (
        TemporaryDirectory() as temporary,
        running(
            tmp_path_factory.mktemp("attacked"),
            TMPDIR=temporary,
            INTERLACE_ANSWER_LIMIT_S="3600",
        ) as found,
    ):
        yield Attacked(found, Path(temporary))
        assert "Traceback" not in found.log.read_text()


@pytest.fixture(scope="session")
def attacked(attacked_and_its_files: Attacked) -> Service:
    return attacked_and_its_files.service
