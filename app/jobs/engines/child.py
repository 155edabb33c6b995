"""The process of a job on another machine: ``python -m app.jobs.engines.child FD``.

It does what comes through a pipe, one after the other, tells of it through the same pipe, and is
gone with whoever started it. What it tells stands behind a word, so that the Dask worker in between
needs to read no more.
"""

import gc
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from app.jobs.engines.children import DESCRIBED, OUTCOME, TOLD, News, WorkItem
from app.jobs.engines.messages import Task
from app.jobs.messages import Described, JobProgress, Message
from app.jobs.worker import ServerPipe, limit_memory, outcome_of
from app.operations import logs
from app.operations.memory import GARBAGE
from app.operations.settings import Settings

#: It ends when it has taken so much memory, or half of what it may [KiB]: what Python has, it does
#: not give back.
_LARGE = 2**19


class _DaskPipe(ServerPipe):
    """The pipe to the Dask worker."""

    def send(self, message: Message) -> None:
        """Tell the server, by way of the Dask worker; any thread may."""
        match message:
            case Described(name, limit_s):
                news: News | None = (DESCRIBED, (name, limit_s), None)
            case JobProgress(progress, draft, is_last):
                large = None if draft is None else pickle.dumps(draft)
                news = (TOLD, (progress, is_last), large)
            case _:
                news = (OUTCOME, None, pickle.dumps(message))
        self.tell(news)

    def tell(self, news: News | None) -> None:
        """Tell the Dask worker; None is that something may come."""
        with self._sending:
            self._pipe.send(news)


def main() -> None:
    """Do what comes until nobody sends more, or this process has become large."""
    for sent in (signal.SIGINT, signal.SIGTERM):  # meant for the Dask worker
        signal.signal(sent, signal.SIG_IGN)
    line = _DaskPipe(Connection(int(sys.argv[1])))
    gc.set_threshold(*GARBAGE)
    settings = Settings()
    logs.install(settings.log_format, settings.log_level)
    works: dict[str, Callable[[Any], Any]] = {}
    most = _LARGE
    with suppress(OSError):
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < most:
            line.tell(None)
            order: Task | WorkItem = line.job()
            limit_memory(order.memory_bytes)
            most = min(_LARGE, order.memory_bytes // 2**11)
            if isinstance(order, Task):
                line.send(outcome_of(order.job, line, order))
            else:
                line.tell((OUTCOME, None, _value(works, order)))
    os._exit(0)  # nothing is left to do


def _value(works: dict[str, Callable[[Any], Any]], cell: WorkItem) -> bytes:
    """Return what a cell comes to, or None and what it raises."""
    try:
        if cell.work_id not in works:
            works.clear()  # a graph may be large
            works[cell.work_id] = pickle.loads(cell.work)  # noqa: S301 - Dask's port is trusted
        value = works[cell.work_id](pickle.loads(cell.item))  # noqa: S301 - as above
        return pickle.dumps((value, None))
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        try:
            return pickle.dumps((None, error))
        except (pickle.PicklingError, TypeError, AttributeError):  # an error may hold anything
            return pickle.dumps((None, RuntimeError(repr(error))))


if __name__ == "__main__":
    main()
