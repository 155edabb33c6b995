"""The processes of jobs on a Dask worker: started, heard, killed with all that they started.

A Dask worker is itself a process that may have no children of multiprocessing, so they are
programs of their own. One that has done its job waits for the next. All that they are told and
tell is bytes here: the Dask worker imports nothing of the service.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

from app.children.items import ItemProcess, WorkItem

#: Words before what a process tells: what its request says, how far it is, what it comes to.
DESCRIBED, TOLD, OUTCOME = "described", "told", "outcome"


#: What a process tells: a word, what is small of it, and what is large of it, pickled.
News = tuple[str, Any, bytes | None]


class ChildDied(Exception):
    """The process ended before its job did; says how."""


class NotWanted(Exception):
    """Nobody waits for the job any more; its process was killed."""


#: The program of a child.
_CHILD = "app.jobs.engines.child"


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
    is_ready, child = child is not None, child or ItemProcess(_CHILD, has_group=True)
    outcome: bytes | None = None
    try:
        if not is_ready:
            child.hear(watch)  # that it waits
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
