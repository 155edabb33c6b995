"""The process of one job: bounded, in a group of its own, and gone with the server."""

import gc
import logging
import os
import resource
import signal
import sys
from http import HTTPStatus

from app import jobs
from app.errors import described
from app.jobs import Claimed
from app.settings import Settings
from app.storage import Store
from app.sweeps import TooLong
from app.told import Report
from app.work import WORK

#: How much a job steps aside for the server that answers its clients.
_NICE = 5
#: A graph of a million ops makes millions of objects that stay; at Python's own thresholds a third
#: of its time goes into looking at them again (tests/benchmarks/big.py).
GARBAGE = (50_000, 20, 100)
_LOG = logging.getLogger("interlace.jobs")


def work(settings: Settings, job: Claimed) -> None:
    """Do a job that was claimed, keep what comes of it, and end the process."""
    os.setpgid(0, 0)  # so that what it starts can be ended with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's interrupt is for the server
    os.nice(_NICE)
    _limit_memory(settings.job_memory_bytes)
    gc.set_threshold(*GARBAGE)
    store = Store(settings, is_migrated=True)
    try:
        _do(store, job)
    finally:
        sys.stderr.flush()
    os._exit(0)  # nothing is left to do, and taking an interpreter apart takes its time


def _do(store: Store, job: Claimed) -> None:
    try:
        with Report(store, job) as report:
            request = jobs.payload(store, job.number, jobs.REQUEST)
            files = jobs.files(store, job.number)
            assert request is not None, "a job has a request until it is deleted"
            done = WORK[job.kind](store, request, files, report)
            del request, files
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
