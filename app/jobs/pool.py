"""Jobs in child processes of this machine: one at a time in each, which can be killed at any time.

A thread claims jobs, hands them to children, and writes what these tell of them. Children
are forked by a process that has imported everything and has no threads (multiprocessing's
forkserver): starting one takes some milliseconds, and no lock of the server goes with it. Worker
pools such as Pebble's do not fit: their processes may not start others, as a sweep does, and are
killed alone.
"""

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from anyio import to_thread

from app.errors import (
    NotFound,
    StorageUnavailable,
    WorkerDied,
    WorkersUnavailable,
    problem_details,
)
from app.jobs import leases, turns
from app.jobs import table as jobs
from app.jobs.answers import Answers
from app.jobs.batching import Batcher
from app.jobs.expiry import Expiry
from app.jobs.kinds import KINDS, QUEUES, SMALL, SOLVES, SWEEP, lanes_of, queued_in
from app.jobs.leases import Claim
from app.jobs.local import HAND_IN_S, Local
from app.jobs.queue import Receipt, Room, Submission, add_all
from app.jobs.requests import Requests
from app.jobs.table import JobRecord
from app.jobs.waiting import WaitingCalls
from app.limits import MAX_JOB_ATTEMPTS
from app.operations.callers import Caller
from app.operations.settings import Settings
from app.storage.clock import distance_s
from app.storage.database import Store
from app.storage.quotas import add_solving

if TYPE_CHECKING:
    from app.jobs.engines.dask import DaskConnection
    from app.jobs.engines.remote import Remote

#: The thread looks at its rows this often [s], at those of other servers, and at old ones.
_LOOK_S, _RECOVER_S, _EXPIRE_S = 0.5, 2.0, 600.0


#: A job whose child has not shown itself for so long is taken from its server [s].
SILENT_S = 5.0


#: When the database can be used again, jobs of other servers have so long to show themselves [s].
_SHOWN_S = 2 * SILENT_S


#: The clock has jumped when more, or less, by so much passed between two looks [s].
_JUMP_S = SILENT_S / 2


#: A server that is asked to end a job has answered after so long [s].
_ANSWERED_S = HAND_IN_S + 2.0


#: So many jobs are taken in one transaction.
_AT_ONCE = 100


_LOG = logging.getLogger("interlace.jobs")


class Pool:
    """Jobs of one database, worked on by this server's children.

    ``on_end`` is told each job that a child of this server left, ``on_death`` each child that died:
    kind and reason. Both are called by the thread.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        on_end: Callable[[JobRecord], None] = lambda _: None,
        on_death: Callable[[str, str], None] = lambda _kind, _reason: None,
    ) -> None:
        self._store, self._settings = store, settings
        self._on_end, self._on_death = on_end, on_death
        self._server = secrets.token_hex(8)
        self._room = {queue: settings.workers if queue == SOLVES else 1 for queue in QUEUES}
        self._local = Local(store, settings, self._wake, self._left, self._lost)
        self._hear: Connection
        self._hear, self._wake_up = Pipe(duplex=False)
        self._is_woken, self._lock = False, Lock()
        self._waiting = WaitingCalls(store)
        self.answers, self.requests = Answers(store), Requests()
        self.room = Room(settings.max_queued, settings.max_queued_bytes)
        self._intake = Batcher(self._take, _AT_ONCE)
        self._expiry = Expiry(store, settings)
        self._trouble: str | None = None
        self._is_new = True
        self._leaving, self._stopped = Event(), Event()
        self._cluster: DaskConnection | None = None
        self._remote: Remote | None = None
        self._due = dict.fromkeys(("look", "recover", "expire"), 0.0)
        self._looked: tuple[float, str] | None = None  # when, by this clock and the database's
        self._thread = Thread(target=self._run, name="jobs", daemon=True)

    # for those who ask

    async def submit(self, asked: Submission) -> Receipt:
        """Take a job, or find the one that answers already."""
        return await self._intake.ask(asked)

    def _take(self, asked: Sequence[Submission]) -> list[Receipt | Exception]:
        """Take jobs; in a thread."""
        receipts = add_all(self._store, asked, self.room)
        if any(isinstance(each, Receipt) and not each.is_stored for each in receipts):
            self._wake()
        return receipts

    def notice(self) -> None:
        """Look at what another process has submitted."""
        self._wake()

    async def wait(
        self,
        kind: str,
        job_id: str,
        seconds: float,
        revision: int | None = None,
        caller: Caller | None = None,
    ) -> JobRecord:
        """Return a job that a caller sees when it has ended, has left a revision, or after so long.

        Also when the server is to leave.
        """
        return await self._waiting.wait(kind, job_id, seconds, revision, caller)

    async def cancel(self, kind: str, job_id: str, caller: Caller | None = None) -> JobRecord:
        """End a job that a caller sees and that has not ended, with the best that is in hand.

        Its server asks the child for it, whatever server that is; one that does not answer in time
        is not waited for.
        """
        mine = self._store.seen_by(caller)
        job = await to_thread.run_sync(jobs.ask_to_end, mine, kind, job_id)
        self._look_soon()
        if not job.has_ended:
            job = await self._waiting.wait(kind, job_id, _ANSWERED_S, None, caller)
        if not job.has_ended:
            job = await to_thread.run_sync(jobs.cancel, mine, kind, job_id)
            self._look_soon()
        _LOG.info("Job %s when asked to cancel", job.state, extra={"job_id": job_id})
        return job

    def remove(self, kind: str, job_id: str, caller: Caller | None = None) -> None:
        """End a job that a caller sees, if need be, and delete it."""
        jobs.remove(self._store.seen_by(caller), kind, job_id)
        _LOG.info("Job deleted", extra={"job_id": job_id})
        self._look_soon()

    def recover(self) -> int:
        """Take up again what servers that died had at work, and see what older ones were asked.

        When the database's clock has jumped, all others seem silent: they are given time.
        """
        turns.adopt(self._store)
        before, self._looked = self._looked, (time.monotonic(), leases.moment(self._store))
        if before is not None:
            passed_s = self._looked[0] - before[0]
            jumped_s = distance_s(before[1], self._looked[1]) - passed_s
            if abs(jumped_s) > _JUMP_S:
                _LOG.warning("The clock of jobs jumped by %+.0f s", jumped_s)
                self._due["recover"] = time.monotonic() + _SHOWN_S
                return 0
        return leases.recover(self._store, self._server, SILENT_S)

    # the life of the server

    @property
    def is_leaving(self) -> bool:
        """Whether no more jobs are begun."""
        return self._leaving.is_set()

    def start(self) -> None:
        """Begin to work; to be called from the event loop."""
        if self._settings.scheduler is not None:
            self._connect(self._settings.scheduler)
        self._waiting.start()
        self._thread.start()

    def _connect(self, scheduler: str) -> None:
        """Have jobs done by the workers of a Dask scheduler."""
        from app.jobs.engines.dask import DaskConnection  # noqa: PLC0415 - an extra
        from app.jobs.engines.remote import Remote  # noqa: PLC0415

        self._cluster = DaskConnection(scheduler, self._wake)
        self._remote = Remote(self._store, self._settings, self._cluster, self._left, self._lost)
        self._cluster.start()

    def leave(self) -> None:
        """Begin no more jobs, and let nobody wait."""
        self._leaving.set()
        self._wake()
        self._waiting.leave()

    def stop(self, grace_s: float) -> None:
        """Let children finish for so long [s], then hand their jobs back."""
        self.leave()
        deadline = time.monotonic() + grace_s
        while self._thread.is_alive() and time.monotonic() < deadline:
            if not self._leases():
                break
            time.sleep(0.02)
        self._stopped.set()
        self._wake()
        self._thread.join()
        left = self._local.take_back()
        if self._cluster and self._remote:
            left += self._remote.take_back()
            self._cluster.stop()
        with suppress(StorageUnavailable):  # then the next start finds them silent
            for job in left:
                if leases.hand_back(self._store, job.number, job.lease, died=False):
                    _LOG.info("Job queued again", extra=_ids(job))

    def check(self) -> None:
        """Raise WorkersUnavailable unless jobs are worked on."""
        why = self._trouble or self.hung()
        if not self._thread.is_alive():
            why = why or "their thread has ended"
        if why is not None:
            raise WorkersUnavailable(f"No job is worked on: {why}.")
        if self._cluster:
            self._cluster.check()

    def _leases(self) -> set[str]:
        """Return the leases of all jobs that this server sees to."""
        return self._local.leases() | (self._remote.leases() if self._remote else set())

    def hung(self) -> str | None:
        """Say what hangs; None when nothing does."""
        return self._local.hung()

    def _run(self) -> None:
        """Work until stopped; a database that cannot be used is tried again."""
        while not self._stopped.is_set():
            try:
                self._tick()
                self._trouble = None
                self._rest()
            except StorageUnavailable as error:
                _LOG.warning("Jobs wait: %s", error)
                self._due["recover"] = time.monotonic() + _SHOWN_S  # others were kept silent too
                self._stopped.wait(1)
            except WorkersUnavailable as error:
                _LOG.error("No job is worked on: %s", error)
                self._trouble = str(error)
                self._stopped.wait(1)
            except Exception as error:  # noqa: BLE001 - jobs of others go on
                _LOG.exception("The jobs' thread failed inside; it goes on")
                self._trouble = type(error).__name__  # its text is for the log alone
                self._stopped.wait(1)

    def _rest(self) -> None:
        """Wait until a child has something to say, somebody calls, or it is time to look."""
        left = max(0.0, min(self._due.values()) - time.monotonic())
        wait([self._hear, *self._local.sentinels()], left)
        with self._lock:
            if self._is_woken:
                self._hear.recv_bytes()
                self._is_woken = False

    def _tick(self) -> None:
        self._local.hear()
        if self._remote:
            self._remote.hear()
        if self._is_due("look", _LOOK_S):
            self._look()
        if self._is_due("recover", _RECOVER_S) and (found := self.recover()):
            _LOG.info("Took up %s of another server", f"{found} job{'s' if found > 1 else ''}")
        if self._is_due("expire", _EXPIRE_S) and self._expiry.sweep():
            self._due["expire"] = 0.0  # there may be more; others have their turn before
        if not self._leaving.is_set():
            self._fill()

    def _is_due(self, what: str, every_s: float) -> bool:
        if time.monotonic() < self._due[what]:
            return False
        self._due[what] = time.monotonic() + every_s
        return True

    def _fill(self) -> None:
        """Give jobs to children while there is room and work."""
        if self._is_new and not self._cluster:
            self._local.warm()  # they have all that they need when jobs come
        self._is_new = False
        if self._cluster and not self._cluster.is_connected:
            return  # jobs wait: another server may have a cluster
        for queue, room in self._room.items():
            if self._remote and queue != KINDS[SWEEP].queue:  # its cells go there, one by one
                self._send(queue)
                continue
            if self._remote and not leases.is_waiting(self._store, queued_in(queue)):
                continue  # no child is started that may never be needed
            while lanes := self._open(queue, room):
                child = self._local.ready()  # before the claim: what nobody holds is lost
                job = leases.claim(self._store, self._server, lanes)
                if job is None:
                    break
                self._local.place(job, child)
                _LOG.info("Job started", extra=_ids(job))
                self._waiting.look_soon()

    def _open(self, queue: str, room: int) -> tuple[str, ...]:
        """Name the lanes of a queue from which a child may be given a job now.

        Beside as many large jobs as there is room for, one that is small has room, too.
        """
        if self._local.busy(queue) >= room:
            return (SMALL,) if queue == SOLVES and not self._local.busy(SMALL) else ()
        lanes = lanes_of(queue)
        return lanes if sum(map(self._local.busy, lanes)) < room else ()

    def _send(self, queue: str) -> None:
        """Send jobs to the cluster while there is room and work."""
        assert self._cluster, "there is a cluster"
        assert self._remote, "and so are its jobs"
        room = self._room[queue]
        if queue == SOLVES and "workers" not in self._settings.model_fields_set:
            room = max(room, self._cluster.threads)
        lanes = lanes_of(queue)
        for _ in range(room - sum(map(self._remote.busy, lanes))):
            job = leases.claim(self._store, self._server, lanes)
            if job is None:
                break
            self._remote.place(job)
            _LOG.info("Job sent to the cluster", extra=_ids(job))
            self._waiting.look_soon()

    def _look(self) -> None:
        """End what is to end; hand back what no child has, after something failed in between."""
        held = leases.held(self._store, self._server)
        self._local.look(held)
        if self._remote:
            self._remote.look(held)
        for lease in held.keys() - self._leases():
            leases.hand_back(self._store, held[lease].number, lease, died=False)

    def _lost(self, job: Claim, reason: str) -> None:
        """Queue a job again whose process ended before it did, unless that was too often."""
        if job.attempts >= MAX_JOB_ATTEMPTS:
            times = (
                f"Its process ended {MAX_JOB_ATTEMPTS} times before the job did, at last {reason}."
            )
            died = leases.fail(self._store, job, problem_details(WorkerDied(times)))
        else:
            died = leases.hand_back(self._store, job.number, job.lease, died=True)
        if died:
            _LOG.warning("The process of a job ended %s", reason, extra=_ids(job))
            self._on_death(job.kind, reason)

    def _left(self, job: Claim, took_s: float) -> None:
        """Count the time of a job for its owner, and let those who wait for it look at it."""
        self._waiting.look_soon()
        if job.owner is not None:
            try:
                add_solving(self._store, job.owner, took_s)
            except StorageUnavailable as error:
                _LOG.warning("The time of a job was not counted: %s", error, extra=_ids(job))
        with suppress(NotFound):
            found = jobs.get(self._store, job.kind, job.id)
            if found.has_ended:
                _LOG.info("Job %s", found.state, extra=_ids(job))
                self._on_end(found)

    def _look_soon(self) -> None:
        self._due["look"] = 0.0
        self._wake()

    def _wake(self) -> None:
        """Let the thread look at what is new."""
        with self._lock:
            if not self._is_woken:
                self._is_woken = True
                self._wake_up.send_bytes(b"!")


def _ids(job: Claim) -> dict[str, str]:
    """Return what a log line says of a job."""
    return {"job_id": job.id, "job_kind": job.kind, "request_id": job.request_id}
