"""A Dask cluster on this machine: a scheduler and workers, each a process of its own."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.app.service import environment
from tests.waiting import until


class DaskCluster:
    """The processes of a cluster; the address of its scheduler stays when that starts again."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.settings = folder, settings
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> None:
        self.scheduler = self._started(
            "scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard"
        )
        until_answers(self._port)

    def start_worker(self, *more: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread that no nanny starts again."""
        place = ["--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        local = ["--local-directory", str(self.folder), "--memory-limit", "0"]
        worker = self._started("worker", self.address, *place, *local, *more)
        self.workers.append(worker)
        return worker

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                stdout=log,
                stderr=log,
                env=environment(self.folder, **self.settings),
            )

    def kill_scheduler(self) -> None:
        end(self.scheduler)

    def kill_worker(self, i: int = 0) -> None:
        end(self.workers.pop(i))

    def stop(self) -> None:
        for process in [self.scheduler, *self.workers]:
            end(process)


def end(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        with process:
            process.send_signal(signal.SIGKILL)


def until_answers(port: int) -> None:
    def answers() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return False
        return True

    until(answers)


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == process and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def ticks(pid: int) -> int:
    """Return what a process has computed [ticks], 0 when it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


@contextmanager
def dask_cluster(folder: Path, workers: int, **settings: str) -> Iterator[DaskCluster]:
    folder.mkdir(parents=True, exist_ok=True)
    cluster = DaskCluster(folder, **settings)
    try:
        cluster.start_scheduler()
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        cluster.stop()
