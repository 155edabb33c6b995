"""All cores at work on many small things, in processes that a threaded server may start.

They are programs of their own, never forked: a fork copies the locks that other threads hold. What
all items share is sent to each once; results come in the order of the items, whatever ends first.
"""

import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from threading import Lock
from typing import Any, Protocol, TypeVar

from app.children.items import ItemProcess, WorkItem, value_of
from app.errors import WorkerDied
from app.operations.cores import cores

#: What ends in this time [s] is done in this process: starting others takes longer.
SHORT_S = 0.5


#: While nothing ends, whoever waits for it is asked this often [s] whether to go on.
_ASK_S = 0.2


#: The program of a child.
_CHILD = "app.children.items"


#: Half of the processes of two pools would only wait for the others.
_ONE_POOL = Lock()


Item = TypeVar("Item")


Result = TypeVar("Result")


#: Told how many items are done, and how many there are; raises to give up.
Progress = Callable[[int, int], None]


#: Takes an item that is done: its place, and what came of it.
Keep = Callable[[int, Any], None]


class Each(Protocol):
    """Does many small things, as :func:`each` does."""

    def __call__(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        progress: Progress | None = None,
        *,
        keep: Keep | None = None,
        short_s: float = SHORT_S,
    ) -> list[Result]:
        """Return ``work`` of each item, in their order."""


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    progress: Progress | None = None,
    *,
    keep: Keep | None = None,
    short_s: float = SHORT_S,
) -> list[Result]:
    """Return ``work`` of each item, in their order.

    The first items are done here, until that has taken ``short_s`` [s]; the others by as many
    processes as there are cores, which can be ended at any time. One pool runs at a time.

    Parameters
    ----------
    work
        Of a module that can be imported, or a partial of such: it goes to each process once, with
        all that is bound to it.
    items
        What can be pickled.
    progress
        Called in this thread at first, whenever an item is done, and now and then besides; what it
        raises gives up all items.
    keep
        Called in this thread with the place of each item that is done, and what came of it, before
        ``progress`` is told of that.

    Raises
    ------
    WorkerDied
        When a process ends before its work: killed, or out of memory.
    Exception
        Whatever ``work`` or ``progress`` raises first, and KeyboardInterrupt.
    """
    results = begun(work, items, progress, keep, short_s)
    left = items[len(results) :]
    if not left:
        return results

    def tell(more: int = 0) -> None:
        if progress:
            progress(len(results) + more, len(items))

    while not _ONE_POOL.acquire(timeout=_ASK_S):
        tell()
    try:
        take = partial(_take, keep, len(results)) if keep else None
        return results + _by_processes(pickle.dumps(work), left, tell, take)
    finally:
        _ONE_POOL.release()


def begun(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    progress: Progress | None,
    keep: Keep | None,
    short_s: float,
) -> list[Result]:
    """Do the first items here, until that has taken so long [s]."""
    began = time.monotonic()
    results: list[Result] = []
    if progress:
        progress(0, len(items))
    while len(results) < len(items) and time.monotonic() - began < short_s:
        results.append(work(items[len(results)]))
        if keep:
            keep(len(results) - 1, results[-1])
        if progress:
            progress(len(results), len(items))
    return results


def _take(keep: Keep, first: int, place: int, result: Any) -> None:
    keep(first + place, result)


def _by_processes(
    work: bytes, items: Sequence[Any], tell: Callable[[int], None], keep: Keep | None
) -> list[Any]:
    """Do each item by some work, ``keep`` it, and ``tell`` how many are done."""
    children: list[ItemProcess] = []
    waiting = deque(enumerate(items))
    at: dict[ItemProcess, int] = {}
    values: dict[int, Any] = {}
    try:
        with ThreadPoolExecutor(1, initializer=_hear_no_interrupt) as starter:
            starter.submit(_start, children, min(cores(), len(items))).result()
        while len(values) < len(items):
            tell(len(values))
            for child in _told(children):
                with _dying():
                    outcome = child.pipe.recv()
                    if outcome is None and waiting:
                        at[child], item = waiting.popleft()
                        child.send(WorkItem(None, "", work, pickle.dumps(item)))
                if outcome is not None:
                    place = at.pop(child)
                    values[place] = value_of(outcome)
                    if keep:
                        keep(place, values[place])
                    tell(len(values))
        return [values[place] for place in range(len(items))]
    finally:
        for child in children:
            child.kill()


def _hear_no_interrupt() -> None:
    """Let this thread, and the processes that it starts, hear no SIGINT: the parent handles it.

    A process that ignored it by itself could be interrupted before it does. Only the thread that
    starts the others can be told so: an interrupt of the main one might leave one half started.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start(children: list[ItemProcess], count: int) -> None:
    children.extend(ItemProcess(_CHILD) for _ in range(count))


def _told(children: Sequence[ItemProcess]) -> list[ItemProcess]:
    """Return which children tell something, or have ended; none when none does for a while."""
    said = wait([child.pipe for child in children], _ASK_S)
    return [child for child in children if child.pipe in said]


@contextmanager
def _dying() -> Iterator[None]:
    """Say that a child has ended where its pipe does."""
    try:
        yield
    except (EOFError, OSError) as error:
        raise WorkerDied(
            "A process that computed a part of this ended too early: killed, or out of memory. "
            "Nothing is kept; try again, or ask for less."
        ) from error
