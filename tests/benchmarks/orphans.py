"""How soon all processes of a server are gone after its SIGKILL.

Run it with ``python -m tests.benchmarks.orphans [--kills 200] [--seed 1]``. A server with plans and
sweeps at work is killed again and again, at a random moment: now and then while it starts, while
somebody keeps the database from being written, or while the processes of its jobs are stopped. The
next server on the same data takes up what it left. It fails when a process is left 3 s after a
kill, or a file of a sweep in the directory for temporary files. Linux only.
"""

import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import median

import httpx2

from app.services.examples import example
from tests.app.long import search
from tests.benchmarks.kills import Server

#: All must be gone so long after a kill [s].
MOST_S = 3.0
#: What a server is killed in, and how often.
MOMENTS = {"at work": 5, "starting": 2, "database busy": 2, "jobs stopped": 1}
#: A server is at work for at most so long [s].
_WORKS_S = 2.0
#: A server is started within so long [s]; a process that stays so long stays for ever.
_STARTS_S, _STAYS_S = 180.0, 40.0


def begin(server: Server) -> None:
    """Give a server a sweep and two plans that take long."""
    asked = example("llama_7b").model_dump(mode="json")
    axes = {"workers": [*range(2, 66)], "bandwidths_gbps": [*range(1, 65)]}
    swept = {key: asked[key] for key in ("graph", "cluster")} | axes
    with server.client() as client, suppress(httpx2.TransportError):
        for path, body in (("sweeps", swept), ("plans", search()), ("plans", search(seed=1))):
            client.post(f"/v1/{path}", json=body, params={"wait": 0})


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Keep everybody from writing to the database."""
    with closing(sqlite3.connect(folder / "interlace.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def kill(server: Server, moment: str, draw: random.Random) -> float:
    """Start a server, kill it, and return when the last of its processes was gone [s]."""
    server.start()
    if moment == "starting":
        time.sleep(draw.uniform(0, _WORKS_S))
    else:
        deadline = time.monotonic() + _STARTS_S
        while not server.is_ready():
            if time.monotonic() > deadline:
                server.stop(signal.SIGKILL)
                raise TimeoutError("the server does not start")
            time.sleep(0.05)
        begin(server)
        time.sleep(draw.uniform(0, _WORKS_S))
    with busy(server.folder) if moment == "database busy" else nullcontext():
        if moment == "database busy":
            time.sleep(1)  # by then the server waits to write
        if moment == "jobs stopped":
            for process, is_leader in server.processes(server.starts).items():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGSTOP if is_leader else signal.SIGCONT)
        began = time.monotonic()
        server.stop(signal.SIGKILL)
        while server.processes(server.starts) and time.monotonic() - began < _STAYS_S:
            time.sleep(0.02)
    return time.monotonic() - began


def main() -> None:
    """Run, print, and fail when something was left for too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    took: dict[str, list[float]] = {moment: [] for moment in MOMENTS}
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name, "data"), Path(name, "temporary")
        folder.mkdir()
        files.mkdir()
        server = Server(folder, TMPDIR=str(files))
        for i in range(given.kills):
            (moment,) = draw.choices(list(MOMENTS), list(MOMENTS.values()))
            took[moment].append(kill(server, moment, draw))
            print(f"{i + 1:>4} {moment:<15}{took[moment][-1]:6.2f} s", flush=True)
        left = sorted(path.name for path in files.rglob("*"))
    for moment, seconds in took.items():
        if seconds:
            most = f"median {median(seconds):.2f} s, at the latest {max(seconds):.2f} s"
            print(f"{moment:<15}{len(seconds):>4} kills: all gone after {most}")
    print(f"temporary files left: {left or 'none'}")
    if left or max(each for seconds in took.values() for each in seconds) > MOST_S:
        sys.exit("Not as it should be.")


if __name__ == "__main__":
    main()
