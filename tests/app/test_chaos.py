"""Servers, workers, the scheduler and the database go down, again and again."""

from pathlib import Path

import pytest

from tests.app import postgres
from tests.app.long import needs_proc

MISSING = postgres.missing()


@needs_proc
@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_nothing_is_lost_stuck_or_left(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    chaos = pytest.importorskip("tests.benchmarks.chaos")
    assert chaos.run(tmp_path, minutes=5, clients=4, seed=1, is_sqlite=False)
