"""Calls that wait for jobs: one look at the database for all of them."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from anyio import CapacityLimiter, to_thread

from app.errors import StorageUnavailable
from app.jobs import table as jobs
from app.jobs.batching import Batcher
from app.jobs.table import JobRecord
from app.operations.callers import Caller
from app.storage.database import Store
from app.storage.owners import may_see

#: What others did to a job is seen after so long at most [s].
_POLL_S = 0.5


#: So many jobs are read at once.
_AT_ONCE = 100


_LOG = logging.getLogger("interlace.jobs")


@dataclass(slots=True)
class _News:
    """What was seen last of a job: revision, and whether it has ended; None when it is gone."""

    seen: tuple[int, bool] | None = (0, False)
    waiters: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class WaitingCalls:
    """The calls of one server that wait; all but :meth:`look_soon` is for its event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._news: dict[str, _News] = {}
        self._soon = asyncio.Event()
        self._jobs = Batcher(partial(jobs.get_all, store), _AT_ONCE)
        self._lookers = CapacityLimiter(1)
        self._is_leaving = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._loop = asyncio.get_running_loop()
        self._looking = self._loop.create_task(self._look())

    def leave(self) -> None:
        """Let nobody wait any more."""
        self._is_leaving = True
        for news in self._news.values():
            _wake(news)

    def look_soon(self) -> None:
        """Have jobs looked at now; any thread may call it."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._soon.set)

    async def wait(
        self,
        kind: str,
        job_id: str,
        seconds: float,
        revision: int | None = None,
        caller: Caller | None = None,
    ) -> JobRecord:
        """Return a job when it has ended, has left a revision, or after so long [s].

        Also when the server is to leave. O(1) looks at the database, however long it takes.

        Raises
        ------
        NotFound
            When there is no such job that the caller sees, or it is deleted meanwhile.
        """
        deadline = time.monotonic() + seconds
        news = self._news.setdefault(job_id, _News())
        news.waiters += 1
        try:
            job = await self._read(kind, job_id)
            if not may_see(job.owner, job.team, caller):
                raise jobs.not_found(kind)
            while not (job.has_ended or self._is_leaving or revision not in {None, job.revision}):
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.changed.wait(), left)
                is_told = news.seen is None or news.seen[1] or revision not in {None, news.seen[0]}
                if is_told or time.monotonic() >= deadline:
                    job = await self._read(kind, job_id)
            return job
        finally:
            news.waiters -= 1
            if not news.waiters:
                del self._news[job_id]

    async def _read(self, kind: str, job_id: str) -> JobRecord:
        return await self._jobs.ask((kind, job_id))

    async def _look(self) -> None:
        """Look at all jobs that are waited for, again and again."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), _POLL_S)
            self._soon.clear()
            if not self._news:
                continue
            try:
                found = await to_thread.run_sync(
                    jobs.revisions, self._store, list(self._news), limiter=self._lookers
                )
            except StorageUnavailable as error:
                _LOG.warning("Nobody hears of jobs: %s", error)
                continue
            for job_id, news in self._news.items():
                if news.seen != found.get(job_id):
                    news.seen = found.get(job_id)
                    _wake(news)


def _wake(news: _News) -> None:
    """Let all who wait go on, and others wait anew."""
    news.changed.set()
    news.changed = asyncio.Event()
