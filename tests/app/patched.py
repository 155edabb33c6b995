"""The real server, started by a script that changes some of its constants or functions."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.app.service import Service, environment

#: Deadlines of a second.
IMPATIENT = """
from app.http import bodies, protocol
bodies.MAX_PAUSE_S = protocol.MAX_HEAD_S = protocol.MAX_REST_S = protocol.READ_PERIOD_S = 1.0
"""


@contextmanager
def patched(data_dir: Path, script: str, **settings: str) -> Iterator[Service]:
    """Run ``interlace serve`` after a script; nothing but its address is on standard output."""
    log = data_dir / "server.log"
    script = f"{script}\nfrom app.cli.main import main\nif __name__ == '__main__':\n    main()\n"
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script, "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(data_dir, **settings),
            text=True,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("Serving on http://127.0.0.1:"), log.read_text()
        with httpx2.Client(base_url=line.split()[-1], timeout=60, trust_env=False) as client:
            yield Service(client, log, process.pid)
    finally:
        process.terminate()
        more, _ = process.communicate(timeout=20)
    assert not more
