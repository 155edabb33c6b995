"""The process of a job: bounded, in a group of its own, and gone with the server."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any, Protocol, TypeVar

from app.children.bounds import bound, is_spent, leave
from app.children.parent_pipe import ParentPipe
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
from app.jobs.messages import Failed, HandIn, Outcome, Returned, Succeeded, Waits
from app.jobs.progress import ProgressWriter
from app.jobs.rows import FAILED, KEPT, REQUEST, TIMED_OUT
from app.jobs.tasks.work import WORK, Done, Inputs
from app.operations.logs import JOB_ID, REQUEST_ID
from app.operations.settings import Settings
from app.references import resolve
from app.services.sweeps.parallel import Each, each
from app.storage.database import Store
from app.storage.library import library_of

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
    line = JobPipe(pipe)
    store = Store(settings, is_migrated=True)
    with suppress(OSError):
        for done in count(1):
            line.send(outcome_of(line.order(), line, _Here(store, settings)))
            if is_spent(done):
                break  # without a word, so that no other job comes
            line.send(Waits())
    leave()


class JobPipe(ParentPipe):
    """The pipe to the server of a child whose job may be asked for what it has in hand."""

    def __init__(self, pipe: Connection) -> None:
        self._asked, self._lock = "", Lock()
        self._report: ProgressWriter | None = None
        super().__init__(pipe)

    def begin(self, report: ProgressWriter | None) -> None:
        """Let a job be asked for what it has; None when none is at work."""
        with self._lock:
            self._report = report
            self._ask()

    def take(self, order: Any) -> None:
        """Take a job, or ask the one at work for what it has."""
        if not isinstance(order, HandIn):
            super().take(order)
            return
        with self._lock:
            self._asked = order.lease
            self._ask()

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
        kept = jobs.payload(self.store, job.number, KEPT) if job.kind == SWEEP else None
        return Inputs(request, files, mine, self._each(job), job.caller, kept)

    def _each(self, job: Claim) -> Each:
        if self.settings.scheduler is None or job.kind != SWEEP:
            return each
        from app.jobs.engines.cells import Cells  # noqa: PLC0415 - an extra

        return Cells(self.settings.scheduler, self.settings.job_memory_bytes)


def outcome_of(job: Claim, line: JobPipe, source: TaskSource) -> Outcome:
    """Do a job."""
    JOB_ID.set(job.id)
    REQUEST_ID.set(job.request_id or None)
    with ProgressWriter(job, line.send, lambda: source.drafted(job)) as report:
        line.begin(report)
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
            line.begin(None)


def _done(job: Claim, report: ProgressWriter, source: TaskSource) -> Succeeded:
    """Work."""
    done: Done = resolve(WORK[job.kind])(source.inputs(job), report)
    return Succeeded(done.answer.encode(), done.summary, done.graph, done.is_repeated)


def _patiently(what: Callable[[], Result]) -> Result:
    """Do it, once the database can be used."""
    while True:
        try:
            return what()
        except StorageUnavailable as error:
            _LOG.warning("The job waits: %s", error)
            time.sleep(_AGAIN_S)
