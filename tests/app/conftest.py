"""One server for all tests that only read from it or add plans."""

from collections.abc import Iterator

import pytest

from tests.app.service import Service, running


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("service"), INTERLACE_MAX_BODY_BYTES="3000000") as found:
        yield found
        assert "Traceback" not in found.log.read_text(), "the server failed inside"
