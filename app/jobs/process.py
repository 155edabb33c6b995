"""The processes of a pool, each with the job that it is at: given, asked, heard."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from threading import Thread
from typing import Any

from app.children.process import Child, fork
from app.children.processor_time import processor_s
from app.jobs.leases import Claim
from app.jobs.messages import HandIn, Message
from app.operations.settings import Settings

#: What a process told last, and how it ended, is known after so long at most [s].
_LAST_S = 2.0


@dataclass(slots=True, eq=False)
class JobProcess(Child):
    """A child, and the job that it is at, since when; None when it waits for one.

    ``told_at`` is when its job was last shown to be at work. ``inbox`` is what it told and nobody
    has taken yet. ``is_free``: it may be given a job. ``asked_at`` is when it was asked for what it
    has in hand, ``error`` what is said of the job if that is nothing; None when it was cancelled.
    ``used_s`` is the processor time that the process had used when it was given its job.
    """

    job: Claim | None = None
    since: float = 0.0
    told_at: float = 0.0
    is_free: bool = True
    asked_at: float | None = None
    error: dict[str, Any] | None = None
    used_s: float = 0.0
    inbox: deque[Message] = field(default_factory=deque)
    ears: Thread | None = None


def start(context: ForkServerContext, settings: Settings, tell: Callable[[], None]) -> JobProcess:
    """Start a process that waits for jobs; ``tell`` is called when it has told something.

    A thread reads what it tells: a process that is stopped in the middle of a word keeps nobody
    else waiting. Raises as :func:`app.children.process.fork` does.
    """
    forked = fork(context, settings, "app.jobs.worker:work")
    child = JobProcess(forked.process, forked.pipe)
    child.ears = Thread(target=_hear, args=(child, tell), daemon=True)
    child.ears.start()
    return child


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
    child.used_s = processor_s(child.process.pid) or 0.0
    with suppress(OSError):  # it has died; that is seen soon
        child.pipe.send(job)


def spent_s(child: JobProcess) -> float | None:
    """Return the processor time that a child has used for its job [s]; None when it has gone."""
    used = processor_s(child.process.pid)
    return None if used is None else max(0.0, used - child.used_s)


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
