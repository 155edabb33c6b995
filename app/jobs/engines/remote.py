"""The jobs of a server that are done on a cluster: sent, heard, written to their rows.

It is to the thread of the jobs what :class:`app.jobs.local.Local` is.
"""

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import TimeLimit, problem_details
from app.jobs import leases
from app.jobs import table as jobs
from app.jobs.engines.dask import DaskConnection, Placed
from app.jobs.engines.messages import Began, Died, Message, Outcome, Task
from app.jobs.leases import Claim, Lease
from app.jobs.local import HAND_IN_S
from app.jobs.messages import (
    Described,
    DraftAnswer,
    Failed,
    HandIn,
    JobProgress,
    Returned,
    Succeeded,
)
from app.jobs.progress import BEAT_S
from app.jobs.rows import REQUEST
from app.operations.settings import Settings
from app.reading.references import named_in
from app.storage import graphs
from app.storage.database import Store
from app.storage.library import library_of


@dataclass(slots=True)
class _At:
    """A job that is away: since when a process is at it, and when its row was told last.

    ``asked_at`` is when it was asked for what it has in hand, ``error`` what is said of it if that
    is nothing; None when it was cancelled.
    """

    placed: Placed
    told_at: float
    since: float | None = None
    asked_at: float | None = None
    error: dict[str, Any] | None = None


class Remote:
    """The jobs of one server on a cluster.

    ``on_end`` is told each job that has left, and how long a process was at it [s]; ``on_death``
    each that lost its process, and how: whoever is called says what becomes of it.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        cluster: DaskConnection,
        on_end: Callable[[Claim, float], object],
        on_death: Callable[[Claim, str], None],
    ) -> None:
        self._store, self._settings, self._cluster = store, settings, cluster
        self._on_end, self._on_death = on_end, on_death
        self._away: list[_At] = []

    def busy(self, lane: str) -> int:
        """Count the jobs of a lane that are away."""
        return sum(at.placed.job.lane == lane for at in self._away)

    def leases(self) -> set[str]:
        """Return the leases of all jobs that are away."""
        return {at.placed.job.lease for at in self._away}

    def place(self, job: Claim) -> None:
        """Send a job that was claimed."""
        request = jobs.payload(self._store, job.number, REQUEST)
        if request is None:  # deleted meanwhile
            return
        graph, models = named_in(request)
        library = library_of(self._store.seen_by(job.caller))
        text = None if graph is None else library.graph(graph)
        found = {model: library.model(model) for model in models}
        task = Task(
            job=job,
            memory_bytes=self._settings.job_memory_bytes,
            body=request,
            files=tuple(jobs.files(self._store, job.number)),
            models={model: body for model, body in found.items() if body is not None},
            graphs={} if graph is None or text is None else {graph: text},
            draft=leases.drafted(self._store, job),
        )
        placed = self._cluster.place(job, pickle.dumps(task))
        self._away.append(_At(placed, time.monotonic()))

    def hear(self) -> None:
        """Write what the jobs told; a database that refuses is told the same next time."""
        for at in list(self._away):
            while at.placed.messages:
                if self._has_left(at, at.placed.messages[0]):
                    break
                at.placed.messages.popleft()
            else:
                self._beat(at)

    def look(self, held: Mapping[str, Lease]) -> None:
        """End jobs that are this server's no more, are cancelled, or whose time is over."""
        now = time.monotonic()
        for at in list(self._away):
            lease = held.get(at.placed.job.lease)
            if lease is None:
                self._forget(at)
            elif at.asked_at is not None:
                if now - at.asked_at > HAND_IN_S:
                    self._end(at)
            elif lease.is_cancelled:
                self._ask(at, None)
            elif at.since is not None:
                most = lease.limit_s + self._settings.job_grace_s
                if now - at.since > most:
                    late = TimeLimit(f"The job took more than {most:g} s and has nothing in hand.")
                    self._ask(at, problem_details(late))

    def take_back(self) -> list[Claim]:
        """End all jobs; return those that had not ended."""
        left = [at.placed.job for at in self._away]
        for at in self._away:
            self._cluster.kill(at.placed)
        self._away.clear()
        return left

    def _has_left(self, at: _At, message: Message) -> bool:
        """Take note of what a job told; tell whether it has left."""
        job, is_ours = at.placed.job, True
        match message:
            case Began():
                at.since = time.monotonic()
            case Described(name, limit_s):
                is_ours = leases.describe(self._store, job, name, limit_s)
            case JobProgress(progress, draft, True):
                self._end(at, progress, draft)
                return True
            case JobProgress(progress, draft):
                is_ours = leases.renew(self._store, job, progress, draft, _spent_s(at))
                at.told_at = time.monotonic()
            case Succeeded() | Failed() | Returned() | Died():
                self._settle(at, message)
                return True
        if not is_ours:
            self._forget(at)
        return not is_ours

    def _settle(self, at: _At, outcome: Outcome) -> None:
        """Write what became of a job, or of an attempt."""
        job = at.placed.job
        match outcome:
            case Succeeded(answer, summary, graph, is_repeated):
                if graph is not None:
                    graphs.create(self._store.seen_by(job.caller), graph)
                spent_s = _spent_s(at)
                leases.succeed(self._store, job, answer, summary, spent_s, is_repeated=is_repeated)
            case Failed(error, state):
                leases.fail(self._store, job, error, state, _spent_s(at))
            case _ if at.asked_at is not None:  # it was to end
                leases.settle(self._store, job, at.error, spent_s=_spent_s(at))
            case Died(reason):
                self._on_death(job, reason)
            case Returned():
                leases.hand_back(self._store, job.number, job.lease, died=False)
        self._leave(at)

    def _beat(self, at: _At) -> None:
        """Show that a job that told nothing for a while is seen to: it may wait in Dask."""
        if time.monotonic() - at.told_at < BEAT_S:
            return
        if leases.renew(self._store, at.placed.job, None, None, _spent_s(at)):
            at.told_at = time.monotonic()
        else:
            self._forget(at)

    def _ask(self, at: _At, error: dict[str, Any] | None) -> None:
        """Ask for what a job has in hand, which is to end."""
        at.asked_at, at.error = time.monotonic(), error
        if at.since is None:
            self._end(at)
        else:
            self._cluster.say(at.placed, pickle.dumps(HandIn(at.placed.job.lease)))

    def _end(
        self, at: _At, progress: dict[str, Any] | None = None, draft: DraftAnswer | None = None
    ) -> None:
        """End a job with the best that is in hand: first its process, then its row."""
        self._cluster.kill(at.placed)
        leases.settle(self._store, at.placed.job, at.error, progress, draft, _spent_s(at))
        self._leave(at)

    def _forget(self, at: _At) -> None:
        """End a job that is another's: deleted, or handed to another server."""
        self._cluster.kill(at.placed)
        self._leave(at)

    def _leave(self, at: _At) -> None:
        self._away.remove(at)
        self._on_end(at.placed.job, _spent_s(at))


def _spent_s(at: _At) -> float:
    """Return how long a process has been at a job [s]: of one elsewhere no other time is known."""
    return 0.0 if at.since is None else time.monotonic() - at.since
