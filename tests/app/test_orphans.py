"""A server that is killed leaves no process, and no file; how soon: tests.benchmarks.orphans."""

import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.app.long import needs_proc
from tests.benchmarks import orphans
from tests.benchmarks.kills import Server

pytestmark = [needs_proc, pytest.mark.live]


def test_nothing_is_left_of_a_killed_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At work: tests.app.test_survival."""
    monkeypatch.setattr(orphans, "_STARTS_S", math.inf)
    monkeypatch.setattr(orphans, "_STAYS_S", math.inf)
    with TemporaryDirectory(dir="/tmp") as files:  # sockets lie there: their paths must be short
        server = Server(tmp_path, TMPDIR=files)
        for moment in ("starting", "database busy", "jobs stopped"):
            orphans.kill(server, moment, random.Random(moment))
            assert not server.processes(server.starts)
            assert not list(Path(files).rglob("*"))
