"""The jobs of a server that its own children do: given, heard, ended, written to their rows.

Children write nothing: one that is stopped, or dies, in the middle of something holds no lock.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from app.children.process import GONE_S, bury, forking, kill, reason
from app.errors import TimeLimit, WorkersUnavailable, problem_details
from app.jobs import leases
from app.jobs.kinds import KINDS, SMALL
from app.jobs.leases import Claim, Lease
from app.jobs.messages import (
    Described,
    DraftAnswer,
    Failed,
    JobProgress,
    Message,
    Returned,
    Succeeded,
    Waits,
)
from app.jobs.process import JobProcess, ask, give, has_gone, spent_s, start
from app.jobs.turns import SMALL_STOP_S
from app.operations.settings import Settings
from app.storage import graphs
from app.storage.database import Store

#: A child that is asked for what it has in hand may take so long to write it [s].
HAND_IN_S = 5.0


#: A job whose child, alive, has said nothing for so long is shown to be seen to [s].
_SEEN_S = 2.0


#: A process that has not been begun after so long hangs [s].
_HUNG_S = 10.0


#: What the processes of jobs and of calls have imported when they begin: all that a plan takes.
#: What else they do, they import when they do it.
_PRELOADED = (
    "__main__",
    "app.jobs.worker",
    "app.jobs.tasks.plan",
    "app.calls.process",
)


_LOG = logging.getLogger("interlace.jobs")


class Local:
    """The children of one server; all but :meth:`hung` is for the thread of the jobs.

    ``tell`` is called, by any thread, when there is something to hear; ``on_end`` with each job
    that a child has left, and how long it took [s]; ``on_death`` with each that lost its child, and
    how: whoever is called says what becomes of it.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        tell: Callable[[], None],
        on_end: Callable[[Claim, float], object],
        on_death: Callable[[Claim, str], None],
    ) -> None:
        self._store, self._settings = store, settings
        self._tell, self._on_end, self._on_death = tell, on_end, on_death
        self._children: list[JobProcess] = []
        self._starting_since: float | None = None
        self._context = forking(_PRELOADED)

    # for any thread

    def hung(self) -> str | None:
        """Say that the process that starts the others hangs; None when it does not."""
        since = self._starting_since
        if since is None or time.monotonic() - since < _HUNG_S:
            return None
        return f"the process that starts the others has not begun one for {_HUNG_S:g} s"

    def leases(self) -> set[str]:
        """Return the leases of all jobs that children are at."""
        return {child.job.lease for child in list(self._children) if child.job}

    # for the thread of the jobs

    def sentinels(self) -> list[int]:
        """Return what tells that a child has ended."""
        return [child.process.sentinel for child in self._children]

    def warm(self) -> None:
        """Start as many children as there may be plans at work."""
        while len(self._children) < self._settings.workers:
            self._start()

    def busy(self, lane: str) -> int:
        """Count the jobs of a lane that children are at."""
        return sum(child.job.lane == lane for child in self._children if child.job)

    def ready(self) -> JobProcess:
        """Return a child that waits for a job, started if there is none.

        Raises
        ------
        WorkersUnavailable
            When none can be started. What was forked before has gone then, too.
        """
        free = (c for c in self._children if c.is_free and not c.job and not c.was_killed)
        return next(free, None) or self._start()

    def place(self, job: Claim, child: JobProcess) -> None:
        """Let a child do a job."""
        give(child, job, time.monotonic())

    def hear(self) -> None:
        """Take what children told; a database that refuses is told the same next time."""
        for child in list(self._children):
            gone = has_gone(child)
            while child.inbox:
                self._take(child, child.inbox[0])
                child.inbox.popleft()
            if gone:
                self._bury(child)
            elif child.job and time.monotonic() - child.told_at > _SEEN_S:
                self._show(child, child.job)

    def look(self, held: Mapping[str, Lease]) -> None:
        """End jobs that are this server's no more, are cancelled, or whose time is over."""
        now = time.monotonic()
        for child in self._children:
            job = child.job
            if job is None:
                continue
            lease = held.get(job.lease)
            if lease is None:
                kill(child)
                self._leave(child)
            elif child.asked_at is not None:
                if now - child.asked_at > HAND_IN_S:
                    self._end(child)
            elif lease.is_cancelled:
                ask(child, now, None)
            elif now - child.since > (most := lease.limit_s + self._settings.job_grace_s):
                late = TimeLimit(f"The job took more than {most:g} s and has nothing in hand.")
                ask(child, now, problem_details(late))
            elif job.lane == SMALL and (spent_s(child) or 0.0) > SMALL_STOP_S:
                self._stop(child, job)

    def _stop(self, child: JobProcess, job: Claim) -> None:
        """Let what is not small, as it was thought to be, wait as large work does."""
        spent = spent_s(child)
        kill(child)
        lane = KINDS[job.kind].queue
        leases.hand_back(self._store, job.number, job.lease, died=False, spent_s=spent, lane=lane)
        _LOG.info("Job queued again: it is not small", extra={"job_id": job.id})
        self._leave(child)

    def take_back(self) -> list[Claim]:
        """End all children; return the jobs that they had."""
        left = [child.job for child in self._children if child.job]
        for child in self._children:
            kill(child)
        for child in self._children:
            child.process.join(GONE_S)
        return left

    def _start(self) -> JobProcess:
        self._starting_since = time.monotonic()
        try:
            child = start(self._context, self._settings, self._tell)
        except WorkersUnavailable:
            for other in self._children:
                kill(other)
                if other.job:  # it cannot help it
                    leases.hand_back(self._store, other.job.number, other.job.lease, died=False)
                    self._leave(other)
            raise
        finally:
            self._starting_since = None
        self._children.append(child)
        return child

    def _take(self, child: JobProcess, message: Message) -> None:
        """Write what a child told."""
        job = child.job
        if job is None:
            child.is_free = isinstance(message, Waits)
            return
        is_ours = True
        match message:
            case Described(name, limit_s):
                is_ours = leases.describe(self._store, job, name, limit_s)
            case JobProgress(progress, draft, True):
                self._end(child, progress, draft)
                return
            case JobProgress(progress, draft):
                is_ours = leases.renew(self._store, job, progress, draft, spent_s(child))
                child.told_at = time.monotonic()
            case Succeeded(answer, summary, graph, is_repeated):
                if graph is not None:
                    graphs.create(self._store.seen_by(job.caller), graph)
                leases.succeed(
                    self._store, job, answer, summary, spent_s(child), is_repeated=is_repeated
                )
                self._leave(child)
            case Failed(error, state):
                leases.fail(self._store, job, error, state, spent_s(child))
                self._leave(child)
            case Returned(reason):
                _LOG.warning("A job is queued again: %s", reason, extra={"job_id": job.id})
                leases.hand_back(
                    self._store, job.number, job.lease, died=False, spent_s=spent_s(child)
                )
                self._leave(child)
        if not is_ours:
            kill(child)
            self._leave(child)

    def _show(self, child: JobProcess, job: Claim) -> None:
        """Show that a job whose child says nothing is seen to: it may hardly get a processor."""
        if leases.renew(self._store, job, None, None, spent_s(child)):
            child.told_at = time.monotonic()
        else:
            kill(child)
            self._leave(child)

    def _end(
        self,
        child: JobProcess,
        progress: dict[str, Any] | None = None,
        draft: DraftAnswer | None = None,
    ) -> None:
        """End a job with the best that is in hand: first its child, whatever the database does."""
        spent = spent_s(child)
        kill(child)
        job = child.job
        assert job is not None, "it has a job"
        leases.settle(self._store, job, child.error, progress, draft, spent)
        self._leave(child)

    def _bury(self, child: JobProcess) -> None:
        """See what a child that has ended leaves: nothing, or a job that has not."""
        if child.job is not None:
            if child.asked_at is not None:
                self._end(child)
            else:
                self._on_death(child.job, reason(child))
                self._leave(child)
        self._children.remove(child)  # not before: the database may refuse, till later
        bury(child, 0)

    def _leave(self, child: JobProcess) -> None:
        job, child.job = child.job, None
        assert job is not None, "it had a job"
        self._on_end(job, time.monotonic() - child.since)
