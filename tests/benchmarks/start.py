"""What a start of the server costs: processor time of its processes, and the wall until ready.

Run it with ``python -m tests.benchmarks.start [--runs 5]``. Each run starts ``interlace serve`` in
an empty directory, so that the database is made, too. Linux only.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx2

from tests.app.service import environment

#: A start may take so long [s].
_STARTS_S = 120.0
#: What took less than so much processor time [s] for so long [s] has begun.
_LITTLE_S, _STILL_S = 0.03, 1.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Start(NamedTuple):
    """Processor time by process, and the wall until /readyz was 200 [s]."""

    server: float
    forkserver: float
    children: float
    ready: float

    @property
    def all(self) -> float:
        """Processor time of all processes."""
        return self.server + self.forkserver + self.children


def seconds(process: int) -> float:
    """Return the processor time of a process, and of what it has waited for [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def below(process: int) -> Iterator[int]:
    """Find all that a process has started, and what these have."""
    for child in map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()):
        yield child
        yield from below(child)


def started(process: int) -> list[int]:
    """Return what a server has started, by whichever of its threads."""
    threads = Path(f"/proc/{process}/task").iterdir()
    own = [int(each) for thread in threads for each in (thread / "children").read_text().split()]
    return [found for child in own for found in (child, *below(child))]


def spent(server: int) -> tuple[float, float, float]:
    """Return the processor time of a server, of what forks its children, and of the rest [s]."""
    forking = rest = 0.0
    for process in started(server):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        is_forked = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
        if b"forkserver" in command and int(is_forked) == server:
            forking += seconds(process)
        else:
            rest += seconds(process)
    return seconds(server), forking, rest


def start(folder: Path) -> Start:
    """Start a server, wait until it is ready and all its processes have begun, and stop it."""
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "app", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(folder),
    ) as server:
        try:
            assert server.stdout is not None
            heard, _, _ = select.select([server.stdout], [], [], _STARTS_S)
            assert heard, "it says where it serves"
            url = os.read(server.stdout.fileno(), 10_000).decode().split()[-1]
            with httpx2.Client(base_url=url, trust_env=False, timeout=_STARTS_S) as client:
                while client.get("/readyz").status_code != HTTPStatus.OK:
                    time.sleep(0.01)
            ready = time.monotonic() - began
            now = spent(server.pid)
            while True:
                time.sleep(_STILL_S)
                before, now = now, spent(server.pid)
                if now[1] and sum(now) - sum(before) < _LITTLE_S:
                    return Start(*now, ready)
        finally:
            server.send_signal(signal.SIGTERM)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    found = []
    for _ in range(parser.parse_args().runs):
        with tempfile.TemporaryDirectory() as name:
            found.append(start(Path(name)))
    print(f"{'[s]':<24}{'least':>8}{'median':>8}")
    for what, values in (
        ("server, processor", [each.server for each in found]),
        ("forkserver, processor", [each.forkserver for each in found]),
        ("children, processor", [each.children for each in found]),
        ("all, processor", [each.all for each in found]),
        ("until ready, wall", [each.ready for each in found]),
    ):
        print(f"{what:<24}{min(values):>8.2f}{median(values):>8.2f}")


if __name__ == "__main__":
    main()
