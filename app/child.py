"""The process of a job: bounded, in a group of its own, and gone with the server."""

import gc
import logging
import os
import resource
import signal
import sys
from contextlib import suppress
from http import HTTPStatus
from multiprocessing.connection import Connection

from app import jobs, logs
from app.errors import described
from app.jobs import Claimed
from app.request_id import JOB_ID, REQUEST_ID
from app.settings import Settings
from app.storage import Store
from app.sweeps import TooLong
from app.told import Report
from app.work import WORK

#: How much a job steps aside for the server that answers its clients.
_NICE = 10
#: A process ends after so many jobs, or when it has taken so much memory [KiB]: what Python has, it
#: does not give back.
_JOBS, _LARGE = 500, 2**19
#: A graph of a million ops makes millions of objects that stay; at Python's own thresholds a third
#: of its time goes into looking at them again (tests/benchmarks/big.py).
GARBAGE = (50_000, 20, 100)
_LOG = logging.getLogger("interlace.jobs")


def work(settings: Settings, pipe: Connection) -> None:
    """Do the jobs that come through a pipe, one after the other, and say when each is done.

    Ends when nobody holds the other side any more, and when it has become large or old.
    """
    os.setpgid(0, 0)  # so that what it starts can be ended with it
    for told in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # these are for the server, which ends its children
        signal.signal(told, signal.SIG_IGN)
    os.nice(_NICE)
    _limit_memory(settings.job_memory_bytes)
    gc.set_threshold(*GARBAGE)
    logs.install(settings.log_format, settings.log_level)
    store = Store(settings, is_migrated=True)
    with suppress(EOFError, OSError):
        for done in range(1, _JOBS + 1):
            _do(store, pipe.recv())
            if done == _JOBS or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _LARGE:
                break  # without a word, so that no other job comes
            pipe.send(None)
    sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and taking an interpreter apart takes its time


def _do(store: Store, job: Claimed) -> None:
    """Do a job, and keep what comes of it."""
    JOB_ID.set(job.id)
    REQUEST_ID.set(job.request_id or None)
    try:
        with Report(store, job) as report:
            request = jobs.payload(store, job.number, jobs.REQUEST)
            files = jobs.files(store, job.number)
            if request is None:  # deleted meanwhile
                return
            done = WORK[job.kind](store, request, files, report)
        jobs.succeed(store, job, done.answer.encode(), done.summary)
    except TooLong as error:
        jobs.fail(store, job, described(error), jobs.TIMED_OUT)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed
        failure = described(error)
        if failure["status"] == HTTPStatus.INTERNAL_SERVER_ERROR:
            _LOG.exception("The job failed inside")
        jobs.fail(store, job, failure)


def _limit_memory(size: int) -> None:
    """Let allocations beyond a limit fail: data where the system counts it, else address space."""
    kind = getattr(resource, "RLIMIT_DATA", resource.RLIMIT_AS)
    _, hard = resource.getrlimit(kind)
    most = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(kind, (most, hard))
