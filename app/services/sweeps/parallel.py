"""All cores at work on many small things, in processes that a threaded server may start.

They are programs of their own, never forked: a fork copies the locks that other threads hold. What
all items share is sent to each once; results come in the order of the items, whatever ends first.
A process that dies costs what it was at, which is done again.
"""

import logging
import pickle
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


#: What an item's process died at is done again so often; when so many items were given up by that
#: and none was done, so are all.
RETRIES, _MOST_LOST = 3, 8


#: The program of a child.
_CHILD = "app.children.items"


#: Half of the processes of two pools would only wait for the others.
_ONE_POOL = Lock()


Item = TypeVar("Item")


Result = TypeVar("Result")


_LOG = logging.getLogger("interlace.jobs")


@dataclass(frozen=True, slots=True)
class LostItem:
    """What comes of an item whose process died each time; ``reason`` says how it ended at last."""

    reason: str

    def __str__(self) -> str:
        """Say it in a sentence."""
        return f"Its process ended {RETRIES + 1} times before it was done, at last {self.reason}."


class Deaths:
    """How often the process of each item died, by the item's place."""

    def __init__(self) -> None:
        self._times: Counter[int | None] = Counter()
        self._lost = 0

    def add(self, place: int | None, reason: str, done: int) -> LostItem | None:
        """Count one; return what comes of the item, None when it is to be done again.

        ``place`` is None of a process that was at nothing, ``done`` how many items have ended.

        Raises
        ------
        WorkerDied
            When processes die that were at nothing, and when every item is lost.
        """
        self._times[place] += 1
        _LOG.warning("A process that computes a part of a job ended %s", reason)
        if self._times[place] <= RETRIES:
            return None
        lost = LostItem(reason)
        self._lost += 1
        if place is None or (self._lost >= _MOST_LOST and done < self._lost):
            raise died(lost)
        return lost


def died(lost: LostItem) -> WorkerDied:
    """Return what is raised where nothing could be done."""
    return WorkerDied(f"No part of this could be computed. {lost} Ask for less.")


#: Told how many items are done, and how many there are; raises to give up.
Progress = Callable[[int, int], None]


#: Takes an item that is done: its place, and what came of it, which may be :class:`LostItem`.
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
    ) -> list[Result | LostItem]:
        """Return ``work`` of each item, or :class:`LostItem`, in their order."""


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    progress: Progress | None = None,
    *,
    keep: Keep | None = None,
    short_s: float = SHORT_S,
) -> list[Result | LostItem]:
    """Return ``work`` of each item, in their order.

    An item whose process dies is done again by another one, :data:`RETRIES` times; then it is
    :class:`LostItem`.

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
        When processes end before they are at work, and when the first items are all lost.
    Exception
        Whatever ``work`` or ``progress`` raises first, and KeyboardInterrupt.
    """
    results: list[Result | LostItem] = [*begun(work, items, progress, keep, short_s)]
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
    pool = _Processes(work, items, tell, keep)
    try:
        while len(pool.values) < len(items):
            pool.fill()
            tell(len(pool.values))
            for child in pool.told():
                pool.hear(child)
        return [pool.values[place] for place in range(len(items))]
    finally:
        pool.kill()


class _Processes:
    """As many processes as there are cores, each at one item or waiting for one."""

    def __init__(
        self,
        work: bytes,
        items: Sequence[Any],
        tell: Callable[[int], None],
        keep: Keep | None,
    ) -> None:
        self._work, self._items, self._tell, self._keep = work, items, tell, keep
        self._children: list[ItemProcess] = []
        self._idle: list[ItemProcess] = []
        self._waiting = deque(range(len(items)))
        self._at: dict[ItemProcess, int] = {}
        self._deaths = Deaths()
        self.values: dict[int, Any] = {}

    def fill(self) -> None:
        """Start as many processes as are missing, and give items to those that wait."""
        count = min(cores(), len(self._items) - len(self.values))
        if len(self._children) < count:
            with ThreadPoolExecutor(1, initializer=_hear_no_interrupt) as starter:
                starter.submit(self._start, count).result()
        while self._waiting and self._idle:
            child = self._idle.pop()
            self._at[child] = place = self._waiting.popleft()
            try:
                child.send(WorkItem(None, "", self._work, pickle.dumps(self._items[place])))
            except OSError:
                self._bury(child)

    def told(self) -> list[ItemProcess]:
        """Return which tell something, or have ended; none when none does for a while."""
        said = wait([child.pipe for child in self._children], _ASK_S)
        return [child for child in self._children if child.pipe in said]

    def hear(self, child: ItemProcess) -> None:
        """Take what a process tells, and give it the next item, or see that it has ended."""
        if child not in self._children:  # buried when it was given something
            return
        try:
            outcome = child.pipe.recv()
        except (EOFError, OSError):
            self._bury(child)
            return
        if outcome is None:
            self._idle.append(child)
            self.fill()
        else:
            self._end(self._at.pop(child), value_of(outcome))

    def kill(self) -> None:
        """End all."""
        for child in self._children:
            child.kill()

    def _start(self, count: int) -> None:
        while len(self._children) < count:
            self._children.append(ItemProcess(_CHILD))

    def _bury(self, child: ItemProcess) -> None:
        """Have done again what a process was at that has ended, unless that was too often."""
        self._children.remove(child)
        if child in self._idle:
            self._idle.remove(child)
        place = self._at.pop(child, None)
        lost = self._deaths.add(place, child.reason(), len(self.values))
        if place is not None and lost is None:
            self._waiting.appendleft(place)
        elif place is not None:
            self._end(place, lost)

    def _end(self, place: int, value: Any) -> None:
        self.values[place] = value
        if self._keep:
            self._keep(place, value)
        self._tell(len(self.values))


def _hear_no_interrupt() -> None:
    """Let this thread, and the processes that it starts, hear no SIGINT: the parent handles it.

    A process that ignored it by itself could be interrupted before it does. Only the thread that
    starts the others can be told so: an interrupt of the main one might leave one half started.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
