"""The jobs of a server that are done on a cluster: sent, heard, written to their rows.

All but the answer to who asks is for the thread of the jobs.
"""

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import TimeLimit, problem_details
from app.jobs import leases
from app.jobs import table as jobs
from app.jobs.engines.children import Order
from app.jobs.engines.dask import Cluster, Placed
from app.jobs.engines.messages import (
    Began,
    Described,
    Died,
    Drafted,
    Failed,
    Message,
    Outcome,
    Progressed,
    Returned,
    Succeeded,
    Task,
)
from app.jobs.kinds import KINDS
from app.jobs.leases import Claim, Lease
from app.jobs.progress import BEAT_S
from app.jobs.rows import REQUEST
from app.operations.settings import Settings
from app.reading.references import named_in
from app.storage import graphs
from app.storage.database import Store
from app.storage.library import library_of


@dataclass(slots=True)
class _At:
    """A job that is away: since when a process is at it, what is to be told of it, when it was."""

    placed: Placed
    since: float | None = None
    progress: dict[str, Any] | None = None
    draft: Drafted | None = None
    told_at: float = 0.0


class Remote:
    """The jobs of one server on a cluster.

    ``on_end`` is told each job that has left, and how long a process was at it [s]; ``on_death``
    each that lost its process, and how: whoever is called says what becomes of it.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        cluster: Cluster,
        on_end: Callable[[Claim, float], object],
        on_death: Callable[[Claim, str], None],
    ) -> None:
        self._store, self._settings, self._cluster = store, settings, cluster
        self._on_end, self._on_death = on_end, on_death
        self._away: list[_At] = []

    def busy(self, queue: str) -> int:
        """Count the jobs of a queue that are away."""
        return sum(KINDS[at.placed.job.kind].queue == queue for at in self._away)

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
            id=job.id,
            kind=job.kind,
            request_id=job.request_id,
            body=request,
            files=tuple(jobs.files(self._store, job.number)),
            models={model: body for model, body in found.items() if body is not None},
            graphs={} if graph is None or text is None else {graph: text},
            caller=job.caller,
            best_us=leases.drafted(self._store, job).get("iteration_time_us"),
        )
        order = Order(self._settings.job_memory_bytes, pickle.dumps(task))
        placed = self._cluster.place(job, order)
        self._away.append(_At(placed, told_at=time.monotonic()))

    def hear(self) -> None:
        """Write what the jobs told; a database that refuses is told the same next time."""
        for at in list(self._away):
            while at.placed.messages:
                if self._has_left(at, at.placed.messages[0]):
                    self._away.remove(at)
                    break
                at.placed.messages.popleft()
            else:
                self._beat(at)

    def look(self, held: Mapping[str, Lease]) -> None:
        """End jobs that are this server's no more, or whose time is over."""
        for at in list(self._away):
            job = at.placed.job
            if job.lease not in held:
                self._forget(at)
                continue
            most = held[job.lease].limit_s + self._settings.job_grace_s
            if at.since is not None and time.monotonic() - at.since > most:
                late = TimeLimit(f"The job took more than {most:g} s and has nothing in hand.")
                self._cluster.kill(at.placed)
                self._keep_draft(at)
                leases.settle(self._store, job, problem_details(late))
                self._away.remove(at)
                self._leave(at)

    def take_back(self) -> list[Claim]:
        """End all jobs; return those that had not ended."""
        left = [at.placed.job for at in self._away]
        for at in self._away:
            self._cluster.kill(at.placed)
        self._away.clear()
        return left

    def _has_left(self, at: _At, message: Message) -> bool:
        """Take note of what a job told; tell whether it has left."""
        job = at.placed.job
        match message:
            case Began():
                at.since = time.monotonic()
            case Described(name, limit_s):
                if (name, limit_s) != (job.name, job.limit_s):
                    leases.describe(self._store, job, name, limit_s)
            case Progressed(progress):
                at.progress = progress
            case Drafted():
                at.draft = message
            case _:
                self._settle(at, message)
                self._leave(at)
                return True
        return False

    def _settle(self, at: _At, outcome: Outcome) -> None:
        """Write what became of a job, or of an attempt."""
        job = at.placed.job
        match outcome:
            case Succeeded(answer, summary, graph):
                if graph is not None:
                    graphs.create(self._store.seen_by(job.caller), graph)
                leases.succeed(self._store, job, answer, summary)
            case Failed(error, state):
                leases.fail(self._store, job, error, state)
            case Died(reason):
                self._keep_draft(at)
                self._on_death(job, reason)
            case Returned():
                self._keep_draft(at)
                leases.hand_back(self._store, job.number, job.lease, died=False)

    def _beat(self, at: _At) -> None:
        """Show that a job is at work, with what is new of it, now and then."""
        since_s = time.monotonic() - at.told_at
        if since_s < BEAT_S and at.draft is None and at.progress is None:
            return
        draft = (at.draft.text, at.draft.summary) if at.draft else None
        if not leases.beat(self._store, at.placed.job, at.progress, draft):
            self._forget(at)
            return
        at.told_at, at.progress, at.draft = time.monotonic(), None, None

    def _leave(self, at: _At) -> None:
        took_s = 0.0 if at.since is None else time.monotonic() - at.since
        self._on_end(at.placed.job, took_s)

    def _keep_draft(self, at: _At) -> None:
        if at.draft is not None:
            draft = (at.draft.text, at.draft.summary)
            leases.beat(self._store, at.placed.job, at.progress, draft)
            at.draft = None

    def _forget(self, at: _At) -> None:
        """End a job that is another's: cancelled, deleted, or handed to another server."""
        self._cluster.kill(at.placed)
        self._away.remove(at)
        self._leave(at)
