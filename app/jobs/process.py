"""The processes of a pool: started, heard, killed with all that they started."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess

from app.jobs.leases import Claim
from app.jobs.worker import work
from app.operations.settings import Settings


@dataclass(slots=True)
class Child:
    """A process, and the job that it is at, since when; None when it waits for one."""

    process: ForkServerProcess
    pipe: Connection
    job: Claim | None = None
    since: float = 0.0
    was_killed: bool = False


def start(
    context: ForkServerContext,
    settings: Settings,
    serve: Callable[[Settings, Connection], None] = work,
) -> Child:
    """Start a process that waits for jobs, or for what else it serves."""
    ours, theirs = multiprocessing.Pipe()
    try:
        process = context.Process(target=serve, args=(settings, theirs))
        process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return Child(process, ours)


def has_done(child: Child) -> bool:
    """Tell whether a child says that it has done its job."""
    try:
        if not child.pipe.poll():
            return False
        child.pipe.recv()
    except (EOFError, OSError):  # it has ended
        return False
    return True


def kill(child: Child) -> None:
    """End a child and all that it started."""
    child.was_killed = True
    pid = child.process.pid
    if pid is None or not child.process.is_alive():
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has not come to make its group
        child.process.kill()


def reason_of(code: int | None) -> str:
    """Say how a process ended."""
    if code is None or code >= 0:
        return f"with exit code {code}"
    try:
        return f"by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
