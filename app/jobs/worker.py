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
from http import HTTPStatus
from multiprocessing.connection import Connection
from typing import TypeVar

from app.errors import StorageUnavailable, TimeLimit, problem_details
from app.jobs import leases
from app.jobs import table as jobs
from app.jobs.leases import Claim
from app.jobs.progress import ProgressWriter
from app.jobs.rows import FAILED, REQUEST, TIMED_OUT
from app.jobs.tasks import WORK
from app.operations import logs
from app.operations.logs import JOB_ID, REQUEST_ID
from app.operations.settings import Settings
from app.storage.database import Store

#: How much a job steps aside for the server that answers its clients.
_NICE = 10


#: A process ends after so many jobs, or when it has taken so much memory [KiB]: what Python has, it
#: does not give back.
_JOBS, _LARGE = 500, 2**19


#: A graph of a million ops makes millions of objects that stay; at Python's own thresholds a third
#: of its time goes into looking at them again (tests/benchmarks/big.py).
GARBAGE = (50_000, 20, 100)


#: A database that cannot be used is tried again after so long [s].
_AGAIN_S = 1.0


Result = TypeVar("Result")


_LOG = logging.getLogger("interlace.jobs")


def work(settings: Settings, pipe: Connection) -> None:
    """Do the jobs that come through a pipe, one after the other, and say when each is done.

    Ends when nobody holds the other side any more, and when it has become large or old.
    """
    bound(settings)
    store = Store(settings, is_migrated=True)
    with suppress(EOFError, OSError):
        for done in range(1, _JOBS + 1):
            _do(store, pipe.recv())
            if done == _JOBS or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _LARGE:
                break  # without a word, so that no other job comes
            pipe.send(None)
    sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and taking an interpreter apart takes its time


def bound(settings: Settings) -> None:
    """Give this process a group of its own, little memory and the last turn on a core."""
    os.setpgid(0, 0)  # so that what it starts can be ended with it
    for sent in (signal.SIGINT, signal.SIGTERM):  # to all processes: meant for the server
        signal.signal(sent, signal.SIG_IGN)
    os.nice(_NICE)
    _limit_memory(settings.job_memory_bytes)
    gc.set_threshold(*GARBAGE)
    logs.install(settings.log_format, settings.log_level)


def _do(store: Store, job: Claim) -> None:
    """Do a job, and keep what comes of it."""
    JOB_ID.set(job.id)
    REQUEST_ID.set(job.request_id or None)
    with ProgressWriter(store, job) as report:
        _patiently(lambda: _outcome(store, job, report))()


def _outcome(store: Store, job: Claim, report: ProgressWriter) -> Callable[[], bool]:
    """Work, and return what keeps the outcome."""
    try:
        request = jobs.payload(store, job.number, REQUEST)
        if request is None:  # deleted meanwhile
            return lambda: False
        files = jobs.files(store, job.number)
        done = WORK[job.kind](store.seen_by(job.caller), request, files, report)
    except StorageUnavailable:  # the job cannot help it
        raise
    except TimeLimit as error:
        failure, state = problem_details(error), TIMED_OUT
    except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed
        failure, state = problem_details(error), FAILED
        if failure["status"] == HTTPStatus.INTERNAL_SERVER_ERROR:
            _LOG.exception("The job failed inside")
    else:
        answer = done.answer.encode()
        return lambda: _patiently(lambda: leases.succeed(store, job, answer, done.summary))
    return lambda: _patiently(lambda: leases.fail(store, job, failure, state))


def _patiently(what: Callable[[], Result]) -> Result:
    """Do it, once the database can be used; the report ends all when the job is not ours any more.

    What was computed is not thrown away because a disk was full for a minute.
    """
    while True:
        try:
            return what()
        except StorageUnavailable as error:
            _LOG.warning("The job waits: %s", error)
            time.sleep(_AGAIN_S)


def _limit_memory(size: int) -> None:
    """Let allocations beyond a limit fail: data where the system counts it, else address space."""
    kind = getattr(resource, "RLIMIT_DATA", resource.RLIMIT_AS)
    _, hard = resource.getrlimit(kind)
    most = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(kind, (most, hard))
