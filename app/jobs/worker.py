"""The process of a job: bounded, in a group of its own, and gone with the server."""

import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol, TypeVar

from app.errors import (
    NotFound,
    StorageUnavailable,
    TimeLimit,
    WorkersUnavailable,
    problem_details,
)
from app.jobs import leases
from app.jobs import table as jobs
from app.jobs.kinds import SWEEP
from app.jobs.leases import Claim
from app.jobs.messages import Failed, HandIn, Message, Outcome, Returned, Succeeded, Waits
from app.jobs.orphans import end_with_forkserver
from app.jobs.progress import ProgressWriter
from app.jobs.rows import FAILED, REQUEST, TIMED_OUT
from app.jobs.tasks.work import WORK, Done, Inputs
from app.operations import logs
from app.operations.logs import JOB_ID, REQUEST_ID
from app.operations.memory import GARBAGE
from app.operations.settings import Settings
from app.references import resolve
from app.services.sweeps.parallel import Each, each
from app.storage.database import Store
from app.storage.library import library_of

#: How much a job steps aside for the server that answers its clients.
_NICE = 10


#: A process ends after so many jobs, or when it has taken so much memory [KiB]: what Python has, it
#: does not give back.
_JOBS, _LARGE = 500, 2**19


#: A database that cannot be used is tried again after so long [s].
_AGAIN_S = 1.0


Result = TypeVar("Result")


_LOG = logging.getLogger("interlace.jobs")


def work(settings: Settings, pipe: Connection) -> None:
    """Do the jobs that come through a pipe, one after the other, and tell of each.

    The database is only read. Ends at once when nobody holds the other side any more, and when it
    has become large or old.
    """
    bound(settings)
    line = ServerPipe(pipe)
    store = Store(settings, is_migrated=True)
    with suppress(OSError):
        for done in range(1, _JOBS + 1):
            line.send(outcome_of(line.job(), line, _Here(store, settings)))
            if done == _JOBS or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _LARGE:
                break  # without a word, so that no other job comes
            line.send(Waits())
    sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and taking an interpreter apart takes its time


def bound(settings: Settings, nice: int = _NICE) -> None:
    """Give this process a group of its own, little memory and the last turn on a core."""
    os.setpgid(0, 0)  # so that what it starts can be ended with it
    for sent in (signal.SIGINT, signal.SIGTERM):  # to all processes: meant for the server
        signal.signal(sent, signal.SIG_IGN)
    end_with_forkserver()
    os.nice(nice)
    limit_memory(settings.job_memory_bytes)
    gc.set_threshold(*GARBAGE)
    logs.install(settings.log_format, settings.log_level)


class ServerPipe:
    """The pipe to the server, as a child has it.

    A thread hears, whatever the job does: that the server has gone is the end of this process and
    of all that it started.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._sending = pipe, Lock()
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._asked, self._lock = "", Lock()
        self._report: ProgressWriter | None = None
        Thread(target=self._hear, daemon=True).start()

    def job(self) -> Any:
        """Wait for a job: a claim, or what a child of another engine is sent."""
        return self._jobs.get()

    def send(self, message: Message) -> None:
        """Tell the server; any thread may."""
        with self._sending:
            self._pipe.send(message)

    def take(self, report: ProgressWriter | None) -> None:
        """Let a job be asked for what it has; None when none is at work."""
        with self._lock:
            self._report = report
            self._ask()

    def _hear(self) -> None:
        try:
            while True:
                order = self._pipe.recv()
                if not isinstance(order, HandIn):
                    self._jobs.put(order)
                    continue
                with self._lock:
                    self._asked = order.lease
                    self._ask()
        except (EOFError, OSError):
            os.killpg(0, signal.SIGKILL)

    def _ask(self) -> None:
        if self._report is not None and self._report.job.lease == self._asked:
            self._report.hand_in()


class TaskSource(Protocol):
    """Where what a job is done with comes from."""

    def drafted(self, job: Claim) -> dict[str, Any]:
        """Return the summary of the draft that an attempt before left."""

    def inputs(self, job: Claim) -> Inputs:
        """Return what a job is done with; raises NotFound when it was deleted meanwhile."""


@dataclass(frozen=True, slots=True)
class _Here:
    """The database, and the cores of this machine or of a cluster for the cells of a sweep."""

    store: Store
    settings: Settings

    def drafted(self, job: Claim) -> dict[str, Any]:
        return leases.drafted(self.store, job)

    def inputs(self, job: Claim) -> Inputs:
        request = jobs.payload(self.store, job.number, REQUEST)
        if request is None:
            raise NotFound("The job was deleted.")
        files = jobs.files(self.store, job.number)
        mine = library_of(self.store.seen_by(job.caller))
        return Inputs(request, files, mine, self._each(job), job.caller)

    def _each(self, job: Claim) -> Each:
        if self.settings.scheduler is None or job.kind != SWEEP:
            return each
        from app.jobs.engines.cells import Cells  # noqa: PLC0415 - an extra

        return Cells(self.settings.scheduler, self.settings.job_memory_bytes)


def outcome_of(job: Claim, line: ServerPipe, source: TaskSource) -> Outcome:
    """Do a job."""
    JOB_ID.set(job.id)
    REQUEST_ID.set(job.request_id or None)
    with ProgressWriter(job, line.send, lambda: source.drafted(job)) as report:
        line.take(report)
        try:
            return _patiently(lambda: _done(job, report, source))
        except TimeLimit as error:
            return Failed(problem_details(error), TIMED_OUT)
        except WorkersUnavailable as error:  # the job cannot help it
            return Returned(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed
            failure = problem_details(error)
            if failure["status"] == HTTPStatus.INTERNAL_SERVER_ERROR:
                _LOG.exception("The job failed inside")
            return Failed(failure, FAILED)
        finally:
            line.take(None)


def _done(job: Claim, report: ProgressWriter, source: TaskSource) -> Succeeded:
    """Work."""
    done: Done = resolve(WORK[job.kind])(source.inputs(job), report)
    return Succeeded(done.answer.encode(), done.summary, done.graph)


def _patiently(what: Callable[[], Result]) -> Result:
    """Do it, once the database can be used."""
    while True:
        try:
            return what()
        except StorageUnavailable as error:
            _LOG.warning("The job waits: %s", error)
            time.sleep(_AGAIN_S)


def limit_memory(size: int) -> None:
    """Let allocations fail that take this process so far beyond what it had at the first call.

    Data where the system counts it, else address space. What the libraries of a process have set
    aside by then depends on the machine: for each of its cores some more.
    """
    kind = getattr(resource, "RLIMIT_DATA", resource.RLIMIT_AS)
    _, hard = resource.getrlimit(kind)
    most = size + _had_at_first()
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


@cache
def _had_at_first() -> int:
    """Return what this process had when it was first asked, where the system tells [bytes]."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[5]
    except FileNotFoundError:
        return 0
    return int(pages) * resource.getpagesize()
