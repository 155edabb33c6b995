"""The process of a job on another machine: ``python -m app.jobs.engines.child FD``.

It does what comes through a pipe, one after the other, tells of it through the same pipe, and is
gone with whoever started it: standard input ends then.
"""

import gc
import logging
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from app.errors import TimeLimit, problem_details
from app.jobs.engines.children import OUTCOME, Order
from app.jobs.engines.messages import Failed, Outcome, Succeeded, Task
from app.jobs.engines.reports import Report
from app.jobs.rows import FAILED, TIMED_OUT
from app.jobs.tasks import WORK, Inputs
from app.jobs.worker import GARBAGE, limit_memory
from app.operations import logs
from app.operations.logs import JOB_ID, REQUEST_ID
from app.operations.settings import Settings

#: It ends when it has taken so much memory, or half of what it may [KiB]: what Python has, it does
#: not give back.
_LARGE = 2**19


_LOG = logging.getLogger("interlace.jobs")


def main() -> None:
    """Do what comes until nobody sends more, or this process has become large."""
    for sent in (signal.SIGINT, signal.SIGTERM):  # meant for the Dask worker
        signal.signal(sent, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(*GARBAGE)
    settings = Settings()
    logs.install(settings.log_format, settings.log_level)
    pipe = Connection(int(sys.argv[1]))
    works: dict[str, Callable[[Any], Any]] = {}
    with suppress(EOFError, OSError):
        most = _LARGE
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < most:
            pipe.send(None)  # something may come
            order: Order = pipe.recv()
            limit_memory(order.memory_bytes)
            most = min(_LARGE, order.memory_bytes // 2**11)
            do = _outcome if order.work_id is None else partial(_value, works)
            pipe.send((OUTCOME, do(order, pipe)))
    os._exit(0)  # nothing is left to do


def _end_with_parent() -> None:
    """End this process and all that it started when the parent lets go of standard input."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _outcome(order: Order, pipe: Connection) -> bytes:
    """Do a job."""
    task: Task = pickle.loads(order.what)  # noqa: S301 - Dask's port is trusted
    JOB_ID.set(task.id)
    REQUEST_ID.set(task.request_id or None)
    with Report(pipe, task.best_us) as report:
        return pickle.dumps(_done(task, report))


def _done(task: Task, report: Report) -> Outcome:
    try:
        inputs = Inputs(task.body, task.files, task.library(), caller=task.caller)
        done = WORK[task.kind](inputs, report)
    except TimeLimit as error:
        return Failed(problem_details(error), TIMED_OUT)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed
        failure = problem_details(error)
        if failure["status"] == HTTPStatus.INTERNAL_SERVER_ERROR:
            _LOG.exception("The job failed inside")
        return Failed(failure, FAILED)
    return Succeeded(done.answer.encode(), done.summary, done.graph)


def _value(works: dict[str, Callable[[Any], Any]], order: Order, _pipe: Connection) -> bytes:
    """Return what a cell comes to, or None and what it raises."""
    assert order.work_id is not None, "it is no job"
    try:
        if order.work_id not in works:
            works.clear()  # a graph may be large
            works[order.work_id] = pickle.loads(order.work)  # noqa: S301 - as above
        value = works[order.work_id](pickle.loads(order.what))  # noqa: S301 - as above
        return pickle.dumps((value, None))
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        try:
            return pickle.dumps((None, error))
        except (pickle.PicklingError, TypeError, AttributeError):  # an error may hold anything
            return pickle.dumps((None, RuntimeError(repr(error))))


if __name__ == "__main__":
    main()
