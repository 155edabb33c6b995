"""The processes of jobs on a Dask worker: started, heard, killed with all that they started.

A Dask worker is itself a process that may have no children of multiprocessing, so they are
programs of their own. One that has done its job waits for the next. All that they are told and
tell is bytes here: the Dask worker imports nothing of the service.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

from app.children.program import ProgramChild

#: Words before what a process tells: what its request says, how far it is, what it comes to.
DESCRIBED, TOLD, OUTCOME = "described", "told", "outcome"


#: What a process tells: a word, what is small of it, and what is large of it, pickled.
News = tuple[str, Any, bytes | None]


class ChildDied(Exception):
    """The process ended before its job did; says how."""


class NotWanted(Exception):
    """Nobody waits for the job any more; its process was killed."""


class WorkItem(NamedTuple):
    """One of many small things: ``work`` of ``item``, both pickled.

    A process keeps the newest ``work``, by its id.
    """

    memory_bytes: int
    work_id: str
    work: bytes
    item: bytes


class ItemProcess(ProgramChild):
    """A process that does one thing at a time."""

    def __init__(self) -> None:
        super().__init__("app.jobs.engines.child")
        self.is_ready = False
        self._work_id: str | None = None

    def send(self, order: bytes | WorkItem) -> None:
        """Let it do a pickled job, or a cell: what the cells of a sweep share is sent once."""
        if isinstance(order, bytes):
            self.pipe.send_bytes(order)
            return
        is_known, self._work_id = order.work_id == self._work_id, order.work_id
        self.pipe.send(order._replace(work=b"") if is_known else order)


_IDLE: list[ItemProcess] = []
_LOCK = Lock()


def outcome_of(
    order: bytes | WorkItem,
    watch: Callable[[ItemProcess], None],
    hear: Callable[[News], None] = lambda _: None,
) -> bytes:
    """Have a process do something; return its outcome, and let ``hear`` know what comes before.

    Raises
    ------
    ChildDied
        When the process ends before.
    Exception
        Whatever ``watch`` raises, which is asked ten times a second; the process is killed.
    """
    with _LOCK:
        child = _IDLE.pop() if _IDLE else None
    child = child or ItemProcess()
    outcome: bytes | None = None
    try:
        if not child.is_ready:
            child.is_ready = child.hear(watch) is None
        child.send(order)
        while outcome is None:
            news: News = child.hear(watch)
            if news[0] == OUTCOME:
                outcome = news[2]
            else:
                hear(news)
    except (EOFError, OSError):
        raise ChildDied(child.reason()) from None
    except BaseException:
        child.kill()
        raise
    _give_back(child, watch)
    return outcome


def _give_back(child: ItemProcess, watch: Callable[[ItemProcess], None]) -> None:
    """Let a process wait for the next job, unless it leaves."""
    try:
        child.hear(watch)
    except (EOFError, OSError):
        child.kill()
        return
    except BaseException:
        child.kill()
        raise
    with _LOCK:
        _IDLE.append(child)
