"""What Dask runs on its workers: a job, or a cell of a sweep, each in a process of its own.

Dask cannot end code that runs; a process can be killed. The thread of the task watches over it:
a task that Dask does not want any more (its client cancelled it, or has gone), and a worker that
closes, end it within a fraction of a second.

The scheduler imports this module too, to read what it hands on: nothing heavy may come with it.
"""

from collections.abc import Callable
from typing import Any

from distributed import Reschedule, Worker, get_worker

from app import VERSION
from app.children.items import ItemProcess, WorkItem
from app.jobs.engines.children import (
    OUTCOME,
    ChildDied,
    News,
    NotWanted,
    outcome_of,
)

#: A worker in one of these states goes on with what it does, and a task with what it is at.
_ALIVE = frozenset({"running", "paused", "closing_gracefully"})


_WANTED = frozenset({"executing", "long-running"})


#: How a task ends where no process tells: it died, or the job was not done for another reason.
DIED, RETURNED = "died", "returned"


#: The first that a job tells: a process is at it.
BEGAN = "began"


#: The newest draft of each job at work here, pickled, and what is to be said to its process.
_DRAFTS: dict[str, bytes] = {}
_SAYINGS: dict[str, bytes] = {}


def do_job(job: bytes, topic: str, version: str) -> tuple[str, Any]:
    """Do a job of a server; return a word and its outcome, or why there is none.

    How far it is goes to its topic, small: a draft waits here until it is fetched.
    """
    worker, key = _here()
    if version != VERSION:
        return RETURNED, (
            f"the Dask worker {worker.address} runs Interlace {VERSION}, this server {version}"
        )

    def tell(news: News) -> None:
        word, what, large = news
        if large is not None:
            _DRAFTS[key] = large
        said = {"key": key, "worker": worker.address, "word": word, "what": what}
        worker.log_event(topic, {**said, "is_large": large is not None})

    is_wanted = _wanted(worker, key)

    def watch(child: ItemProcess) -> None:
        if not is_wanted():
            raise NotWanted
        if (saying := _SAYINGS.pop(key, None)) is not None:
            child.send(saying)

    tell((BEGAN, None, None))
    try:
        return OUTCOME, outcome_of(job, watch, tell)
    except ChildDied as error:
        return DIED, str(error)
    except NotWanted:
        return RETURNED, f"the Dask worker {worker.address} ended it"
    finally:
        _DRAFTS.pop(key, None)
        _SAYINGS.pop(key, None)


def draft_of(key: str) -> bytes | None:
    """Return the newest draft of a job that is at work here; None when it is not."""
    return _DRAFTS.get(key)


def say(key: str, what: bytes) -> None:
    """Say something to the process of a job that is at work here."""
    _SAYINGS[key] = what


def hold(work: bytes) -> bytes:
    """Keep what the cells of a sweep share on the workers that do them."""
    return work


def do_cell(work: bytes, work_id: str, memory_bytes: int, item: bytes) -> tuple[str, Any]:
    """Do one of many small things; return a word and its outcome, or how its process died."""
    is_wanted = _wanted(*_here())

    def watch(_child: ItemProcess) -> None:
        if not is_wanted():
            raise Reschedule  # the worker closes; else nobody hears of it

    try:
        return OUTCOME, outcome_of(WorkItem(memory_bytes, work_id, work, item), watch)
    except ChildDied as error:
        return DIED, str(error)


def _here() -> tuple[Worker, str]:
    """Return the Dask worker that this runs on, and the key of its task."""
    worker = get_worker()
    return worker, str(worker.get_current_task())


def _wanted(worker: Worker, key: str) -> Callable[[], bool]:
    """Return what tells whether Dask still wants a task of this worker."""

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status.name in _ALIVE and task is not None and task.state in _WANTED

    return is_wanted
