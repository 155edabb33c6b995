"""A server that is killed leaves no process for long, and no file; tests.benchmarks.orphans."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.app.long import needs_proc
from tests.benchmarks.kills import Server
from tests.benchmarks.orphans import MOMENTS, kill

pytestmark = needs_proc
#: Whatever else a machine does, all is gone after so long [s]; the benchmark measures how soon.
GONE_S = 30.0


@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_is_left_of_a_killed_server(tmp_path: Path, moment: str) -> None:
    with TemporaryDirectory(dir="/tmp") as files:  # sockets lie there: their paths must be short
        server = Server(tmp_path, TMPDIR=files)
        assert kill(server, moment, random.Random(moment)) < GONE_S
        assert not list(Path(files).rglob("*"))
