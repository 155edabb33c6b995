"""The processes of a pool: started, heard, killed with all that they started."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from threading import Event, Thread
from typing import Any

from app.errors import WorkersUnavailable
from app.jobs.leases import Claim
from app.jobs.messages import HandIn, Message
from app.operations.settings import Settings
from app.references import resolve

#: The process that forks the others hangs when it has not begun one after so long, and computes
#: nothing [s]. What it imports first takes a second or two, and minutes where much else is to do.
START_S = 60.0


#: What a process told last, and how it ended, is known after so long at most [s].
_LAST_S = 2.0


@dataclass(slots=True, eq=False)
class JobProcess:
    """A process, and the job that it is at, since when; None when it waits for one.

    ``told_at`` is when its job was last shown to be at work. ``inbox`` is what it told and nobody
    has taken yet. ``is_free``: it may be given a job. ``asked_at`` is when it was asked for what it
    has in hand, ``error`` what is said of the job if that is nothing; None when it was cancelled.
    """

    process: ForkServerProcess
    pipe: Connection
    job: Claim | None = None
    since: float = 0.0
    told_at: float = 0.0
    is_free: bool = True
    was_killed: bool = False
    asked_at: float | None = None
    error: dict[str, Any] | None = None
    inbox: deque[Message] = field(default_factory=deque)
    ears: Thread | None = None


def fork(
    context: ForkServerContext,
    settings: Settings,
    serve: str,
) -> JobProcess:
    """Start a process that serves whoever has the other side of its pipe.

    ``serve(settings, pipe)`` is named by reference (:mod:`app.references`).

    Raises
    ------
    WorkersUnavailable
        When the process that forks the others hangs. It was killed, and all that it forked.
    """
    ours, theirs = multiprocessing.Pipe()
    is_over, is_late = Event(), Event()
    Thread(target=_end_if_hung, args=(is_over, is_late), daemon=True).start()
    try:
        process = context.Process(target=_begin, args=(serve, settings, theirs))
        process.start()
    except (EOFError, OSError) as error:
        ours.close()
        why = "was killed: it hung" if is_late.is_set() else "has gone"
        raise WorkersUnavailable(f"The process that starts the others {why}.") from error
    except BaseException:
        ours.close()
        raise
    finally:
        is_over.set()
        theirs.close()
    return JobProcess(process, ours)


def _begin(serve: str, settings: Settings, pipe: Connection) -> None:
    resolve(serve)(settings, pipe)


def start(context: ForkServerContext, settings: Settings, tell: Callable[[], None]) -> JobProcess:
    """Start a process that waits for jobs; ``tell`` is called when it has told something.

    A thread reads what it tells: a process that is stopped in the middle of a word keeps nobody
    else waiting. Raises as :func:`fork` does.
    """
    child = fork(context, settings, "app.jobs.worker:work")
    child.ears = Thread(target=_hear, args=(child, tell), daemon=True)
    child.ears.start()
    return child


def _end_if_hung(is_over: Event, is_late: Event) -> None:
    """Kill the process that forks the others if it hangs; the next one wanted starts it anew."""
    seen = _computed()
    while not is_over.wait(START_S):
        before, seen = seen, _computed()
        if seen[0] and seen == before:
            is_late.set()
            with suppress(ProcessLookupError):
                os.kill(seen[0], signal.SIGKILL)
            return


def _computed() -> tuple[int, int]:
    """Return the process that forks the others, and its processor time where that is told [ticks].

    Without one, and where the system tells no times, they are 0.
    """
    pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]  # noqa: SLF001
    if pid is None:
        return 0, 0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return pid, 0
    return pid, int(fields[11]) + int(fields[12])


def _hear(child: JobProcess, tell: Callable[[], None]) -> None:
    try:
        while True:
            child.inbox.append(child.pipe.recv())
            tell()
    except (EOFError, OSError):
        tell()


def give(child: JobProcess, job: Claim, now: float) -> None:
    """Let a child do a job."""
    child.job, child.since, child.told_at, child.is_free = job, now, now, False
    child.asked_at, child.error = None, None
    with suppress(OSError):  # it has died; that is seen soon
        child.pipe.send(job)


def ask(child: JobProcess, now: float, error: dict[str, Any] | None) -> None:
    """Ask for what a child has in hand of its job, which is to end."""
    assert child.job is not None, "it has a job"
    child.asked_at, child.error = now, error
    with suppress(OSError):
        child.pipe.send(HandIn(child.job.lease))


def has_gone(child: JobProcess) -> bool:
    """Tell whether a child has ended, and all that it told is in its inbox.

    One that has let go of its pipe has, even if the process that forked it does not say so.
    """
    if child.process.is_alive():
        if child.ears is None or child.ears.is_alive():
            return False
        child.process.join(_LAST_S)
    elif child.ears is not None:
        child.ears.join(_LAST_S)
    return True


def kill(child: JobProcess) -> None:
    """End a child and all that it started."""
    child.was_killed = True
    pid = child.process.pid
    if pid is None or not child.process.is_alive():
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has not come to make its group
        child.process.kill()
