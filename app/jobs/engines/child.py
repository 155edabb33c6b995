"""The process of a job on another machine: ``python -m app.jobs.engines.child FD``.

It does what comes through a pipe, one after the other, tells of it through the same pipe, and is
gone with whoever started it. What it tells stands behind a word, so that the Dask worker in between
needs to read no more.
"""

import pickle
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from app.children.bounds import LARGE_KIB, begin, is_large, leave, limit_memory
from app.children.items import Worker, WorkItem
from app.jobs.engines.children import DESCRIBED, OUTCOME, TOLD, News
from app.jobs.engines.messages import Task
from app.jobs.messages import Described, JobProgress, Message
from app.jobs.worker import JobPipe, outcome_of
from app.operations.settings import Settings


class _DaskPipe(JobPipe):
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
        super().send(news)


def main() -> None:
    """Do what comes until nobody sends more, or this process has become large."""
    begin(Settings())
    line, worker = _DaskPipe(Connection(int(sys.argv[1]))), Worker()
    most_kib = LARGE_KIB
    with suppress(OSError):
        while not is_large(most_kib):
            line.tell(None)
            order: Task | WorkItem = line.order()
            if order.memory_bytes is not None:
                limit_memory(order.memory_bytes)
                most_kib = min(LARGE_KIB, order.memory_bytes // 2**11)  # half of what it may
            if isinstance(order, Task):
                line.send(outcome_of(order.job, line, order))
            else:
                line.tell((OUTCOME, None, worker.outcome_of(order)))
    leave()


if __name__ == "__main__":
    main()
