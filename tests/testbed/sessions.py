"""Workers as processes on hosts: started together, heard, and ended together."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from tests.testbed.hosts import Host

ROOT = Path(__file__).parents[2]
#: Runtimes beside predictions; the time of hooks; a link that becomes half as fast; plans on trial;
#: workers of a parameter server; jobs that share links.
PARTS = CELLS, OVERHEAD, HALVING, TRIALS, SERVERS, JOBS = (
    "cells",
    "overhead",
    "halving",
    "trials",
    "servers",
    "jobs",
)
#: How much of what a failed worker wrote is shown [characters].
_SHOWN = 1500


@dataclass(frozen=True)
class Session:
    """What the workers of a session do, all with the same model.

    Attributes
    ----------
    part
        One of :data:`PARTS`.
    model
        Key of :data:`tests.testbed.layers.MODELS`, or :data:`tests.testbed.jobs.REAL`.
    ratios
        Communication over computation, a cell each; of the model that computes there is one cell.
    runtimes
        Keys of :data:`tests.testbed.runtimes.RUNTIMES`; of ``ALIKE`` there for ``overhead``.
    rounds, steps
        Rounds of each cell (how many trials), and steps of a round that count.
    bytes
        Size of all gradients of a layer list [bytes].
    calibration_s
        How long the costs of launches may be measured [s].
    mbit
        What each link carries [Mbit/s].
    is_paced
        Whether launches over loopback are paced to that; else the hosts have such links.
    """

    part: str
    model: str
    ratios: tuple[float, ...]
    runtimes: tuple[str, ...]
    rounds: int
    steps: int
    bytes: int
    calibration_s: float
    mbit: float
    is_paced: bool


class SessionFailed(Exception):
    """A worker ended before its work was done; what it wrote last."""


def run(
    hosts: Sequence[Host], session: Session, first: Sequence[str], limit_s: float
) -> Iterator[dict[str, Any]]:
    """Run a session with a worker on each host; yield what worker 0 says.

    Parameters
    ----------
    hosts
        Where they run.
    session
        What they do.
    first
        What stands before a worker's command, such as ``chrt``.
    limit_s
        After which the workers are killed [s].

    Raises
    ------
    SessionFailed
        When a worker fails, or the time is up.
    """
    address, port = hosts[0].address, _free_port()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers: list[subprocess.Popen[str]] = []
        stack.callback(_end, workers)
        for rank, host in enumerate(hosts):
            program = (*first, sys.executable, "-m", "tests.testbed.worker")
            command = host.command(*program, json.dumps(asdict(session)))
            own = {
                "MASTER_ADDR": address,
                "MASTER_PORT": str(port),
                "RANK": str(rank),
                "WORLD_SIZE": str(len(hosts)),
                "GLOO_SOCKET_IFNAME": host.interface,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(ROOT),
            }
            log = stack.enter_context((folder / f"{rank}.log").open("w"))
            workers.append(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=os.environ | own,
                    stdout=subprocess.PIPE if rank == 0 else log,
                    stderr=log,
                    text=True,
                    start_new_session=True,
                )
            )
        timer = Timer(limit_s, _end, [workers])
        stack.callback(timer.cancel)
        timer.start()
        yield from map(json.loads, workers[0].stdout)
        failed = [rank for rank, worker in enumerate(workers) if worker.wait()]
        if failed:
            said = "\n".join(_last_of(folder / f"{rank}.log") for rank in failed)
            raise SessionFailed(f"{session.model}: workers {failed} failed:\n{said}")


def _end(workers: Sequence[subprocess.Popen[str]]) -> None:
    """Kill what still runs, with its children."""
    for worker in workers:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
    for worker in workers:
        worker.wait()


def _last_of(log: Path) -> str:
    return f"{log.stem}: {log.read_text(errors='replace')[-_SHOWN:]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
