"""Jobs on the workers of a Dask cluster: placement, health and scaling are Dask's.

A thread keeps the connection to the scheduler, sends jobs, and hears of them. What it hears waits
until the thread of the jobs takes it: that one writes it to the rows, which are the truth. A job
is lost to its Dask worker as it is to a process of this machine, and counts an attempt; one that
is lost with the scheduler counts none.
"""

import asyncio
import contextlib
import logging
import pickle
import warnings
from asyncio import AbstractEventLoop
from asyncio import Task as Step
from collections import deque
from collections.abc import Callable, Coroutine
from threading import Event, Thread
from typing import Any

from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError

from app import VERSION
from app.errors import WorkersUnavailable
from app.jobs.engines import children, dask_tasks
from app.jobs.engines.dask_tasks import do_job, draft_of, say
from app.jobs.engines.messages import Began, Died, Message, Outcome
from app.jobs.leases import Claim
from app.jobs.messages import Described, JobProgress, Returned

#: The scheduler must answer in this time [s]: it may be busy, and no job is lost for that.
_PATIENCE_S = 30.0


#: It is asked this often whether it is there, and tried again after so long [s].
_ASK_S, _AGAIN_S = 0.5, 1.0


_LOG = logging.getLogger("interlace.jobs")


class Placed:
    """A job that was sent to the cluster, and what it told since that was taken last.

    ``messages`` are taken by one thread and added by another; the last is an outcome.
    """

    def __init__(self, job: Claim, task: bytes, tell: Callable[[], None]) -> None:
        self.job, self.task = job, task
        self.messages: deque[Message] = deque()
        #: Of Dask, since it began.
        self.worker: str | None = None
        self.future: Future[tuple[str, Any]] | None = None
        self.key: str | None = None
        self.turn = asyncio.Lock()  # bound to no loop before it is used
        self.has_ended = False
        self._tell = tell

    def add(self, message: Message) -> None:
        """Take note of what it tells; nothing counts after an outcome."""
        if self.has_ended:
            return
        self.has_ended = isinstance(message, Outcome)
        self.messages.append(message)
        self._tell()


class DaskConnection:
    """The connection to a Dask scheduler; ``tell`` is called when there is something to hear."""

    def __init__(self, scheduler: str, tell: Callable[[], None]) -> None:
        self.scheduler, self._tell = scheduler, tell
        #: How many jobs it can be at.
        self.threads = 0
        self._trouble: str | None = f"the Dask scheduler {scheduler} has not answered yet"
        self._placed: dict[str, Placed] = {}
        self._steps: set[Step[None]] = set()
        self._client: Client | None = None
        self._loop: AbstractEventLoop | None = None
        self._stopped, self._has_begun = Event(), Event()
        self._thread = Thread(target=self._run, name="cluster", daemon=True)

    # for the thread of the jobs

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()
        self._has_begun.wait()

    def check(self) -> None:
        """Raise WorkersUnavailable unless jobs can be sent."""
        if self._trouble is not None or not self._thread.is_alive():
            why = self._trouble or "its thread has ended"
            raise WorkersUnavailable(f"No job is worked on: {why}.")

    @property
    def is_connected(self) -> bool:
        """Whether jobs can be sent."""
        return self._trouble is None

    def place(self, job: Claim, task: bytes) -> Placed:
        """Send a job, which is pickled."""
        placed = Placed(job, task, self._tell)
        self._soon(self._begin, placed)
        return placed

    def kill(self, placed: Placed) -> None:
        """End a job wherever it is; it tells nothing more."""
        self._soon(self._cancel, placed)

    def say(self, placed: Placed, what: bytes) -> None:
        """Say something to the process of a job that has begun."""
        self._soon(lambda placed: self._step(self._said(placed, what)), placed)

    def stop(self) -> None:
        """Let go of the cluster, which ends all jobs on it."""
        self._stopped.set()
        self._thread.join(_PATIENCE_S)

    def _soon(self, do: Callable[[Placed], None], placed: Placed) -> None:
        assert self._loop is not None, "it has begun"
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is at work
            self._loop.call_soon_threadsafe(do, placed)

    # for its own thread

    def _run(self) -> None:
        quiet()
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._has_begun.set()
        while not self._stopped.is_set():
            try:
                await self._connected()
            except Exception as error:  # noqa: BLE001 - whatever Dask raises, it is tried again
                why = str(error).splitlines()[0] if str(error) else type(error).__name__
                self._be_troubled(f"the Dask scheduler {self.scheduler} cannot be used: {why}")
            self._lose_all()
            if not self._stopped.is_set():
                await asyncio.sleep(_AGAIN_S)

    async def _connected(self) -> None:
        """Connect, and stay until the connection is lost."""
        client = await Client(  # type: ignore[no-untyped-call]
            self.scheduler,
            asynchronous=True,
            set_as_default=False,
            timeout=_PATIENCE_S,
            name="interlace",
        )
        try:
            client.subscribe_topic(client.id, self._hear)
            client.subscribe_topic("all", self._hear_of_workers)
            pipe = client.scheduler_comm  # another one after each connection
            while not self._stopped.is_set():
                cores = await asyncio.wait_for(client.scheduler.ncores(), _PATIENCE_S)
                if client.status != "running" or client.scheduler_comm is not pipe:
                    raise ConnectionError("the connection was lost")
                self._be_well(client, sum(cores.values()))
                await asyncio.sleep(_ASK_S)
        finally:
            self._client = None
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.close(), _PATIENCE_S)

    def _be_well(self, client: Client, threads: int) -> None:
        is_news = self._trouble is not None or threads > self.threads
        if self._client is None:
            _LOG.info("Connected to the Dask scheduler %s", self.scheduler)
        self._client, self.threads, self._trouble = client, threads, None
        if is_news:
            self._tell()

    def _be_troubled(self, why: str) -> None:
        if why != self._trouble:
            _LOG.warning("Jobs wait: %s", why)
        self._trouble = why

    def _lose_all(self) -> None:
        for placed in list(self._placed.values()):
            placed.add(Returned("the connection to the Dask scheduler was lost"))
        self._placed.clear()

    def _begin(self, placed: Placed) -> None:
        if self._client is None:
            placed.add(Returned("the Dask scheduler is not there"))
            return
        self._step(self._follow(self._client, placed))

    def _step(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something beside all else."""
        step = asyncio.create_task(what)
        self._steps.add(step)  # the loop alone would let go of it
        step.add_done_callback(self._steps.discard)

    async def _follow(self, client: Client, placed: Placed) -> None:
        """Send a job, and wait for its outcome."""
        if placed.has_ended:  # killed before
            return
        key = f"interlace-{placed.job.kind}-{placed.job.id}-{placed.job.lease}"
        self._placed[key], placed.key = placed, key
        try:
            future = client.submit(do_job, placed.task, client.id, VERSION, key=key, pure=False)
            placed.future = future
            placed.add(self._outcome(*await future))
        except FutureCancelledError:
            placed.add(Returned("Dask gave it up"))
        except KilledWorker as error:
            placed.add(Died(f"with its Dask worker, {error.last_worker.address}"))
        except ImportError as error:
            self._be_troubled(f"a Dask worker cannot do jobs: {error}")
            placed.add(Returned(str(error)))
        except Exception as error:  # noqa: BLE001 - of Dask: the job's own are in its outcome
            _LOG.exception("Dask failed", extra={"job_id": placed.job.id})
            placed.add(Died(f"in Dask: {type(error).__name__}"))
        finally:
            self._placed.pop(key, None)
            placed.future = None

    def _outcome(self, word: str, found: Any) -> Outcome:
        """Return how a task has ended."""
        match word:
            case children.OUTCOME:
                outcome: Outcome = pickle.loads(found)  # noqa: S301 - Dask's port is trusted
                return outcome
            case dask_tasks.DIED:
                return Died(found)
        self._be_troubled(found)
        return Returned(found)

    def _cancel(self, placed: Placed) -> None:
        placed.has_ended = True
        self._give_up(placed)

    def _give_up(self, placed: Placed) -> None:
        if placed.future is not None:
            self._step(placed.future.cancel())  # type: ignore[no-untyped-call]

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """Hear what a job tells of itself; Dask tells of the client by the same topic."""
        news = event[1]
        if (placed := self._placed.get(news.get("key", ""))) is None:
            return
        worker, what = news["worker"], news["what"]
        match news["word"]:
            case dask_tasks.BEGAN if placed.worker is not None:  # Dask began anew by itself
                self._lose(placed)
            case dask_tasks.BEGAN:
                placed.worker = worker
                placed.add(Began())
            case children.DESCRIBED:
                placed.add(Described(*what))
            case children.TOLD:
                self._step(self._told(placed, what, is_large=news["is_large"]))

    async def _told(self, placed: Placed, what: tuple[Any, bool], *, is_large: bool) -> None:
        """Take how far a job is, its draft fetched from the worker that has it; in their order."""
        progress, is_last = what
        async with placed.turn:
            large = await self._asked(placed, draft_of) if is_large else None
            draft = None if large is None else pickle.loads(large)  # noqa: S301 - as above
            placed.add(JobProgress(progress, draft, is_last))

    async def _said(self, placed: Placed, what: bytes) -> None:
        await self._asked(placed, say, what)

    async def _asked(self, placed: Placed, what: Callable[..., Any], *words: Any) -> Any:
        """Ask the worker of a job; None when it does not answer."""
        if self._client is None or placed.worker is None or placed.key is None:
            return None
        with contextlib.suppress(OSError, asyncio.TimeoutError, KeyError):
            asked = self._client.run(what, placed.key, *words, workers=[placed.worker])
            return (await asyncio.wait_for(asked, _PATIENCE_S))[placed.worker]
        return None

    def _hear_of_workers(self, event: tuple[float, dict[str, Any]]) -> None:
        """Hear that a worker has gone, and its jobs with it."""
        match event[1]:
            case {"action": "remove-worker", "worker": worker, **how}:
                for placed in list(self._placed.values()):
                    if placed.worker == worker:
                        self._lose(placed, expected=bool(how.get("expected")))

    def _lose(self, placed: Placed, *, expected: bool = False) -> None:
        """Take a job back whose worker has gone; one that was told to go costs no attempt."""
        worker = placed.worker
        reason = f"with its Dask worker, {worker}"
        placed.add(Returned(f"the Dask worker {worker} left") if expected else Died(reason))
        self._give_up(placed)


def quiet() -> None:
    """Let Dask log as all else does, and no more than warnings; a large job is no mistake."""
    for name in ("distributed", "distributed.client", "distributed.comm"):
        log = logging.getLogger(name)
        log.handlers.clear()
        log.propagate = True
        log.setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
