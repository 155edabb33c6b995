"""All cores at work on many small things, in processes that a threaded server may start.

Processes are spawned, never forked: a fork copies the locks that other threads hold. What all items
share is read once by each process; results come in the order of the items, whatever ends first.
"""

import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from mmap import ACCESS_READ, mmap
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Thread
from typing import Any, Protocol, TypeVar

from app.errors import WorkerDied
from app.operations.cores import cores

#: What ends in this time [s] is done in this process: starting others takes longer.
SHORT_S = 0.5


#: While nothing ends, whoever waits for it is asked this often [s] whether to go on.
_ASK_S = 0.2


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
        with TemporaryFile() as file:  # in a pipe, it would keep back the next process
            pickle.dump(work, file)
            file.flush()
            first = len(results)
            take = partial(_take, keep, first) if keep else None
            return results + _by_processes(file.fileno(), left, tell, take)
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
    work: int, items: Sequence[Any], tell: Callable[[int], None], keep: Keep | None
) -> list[Any]:
    """Do each item by the work in an open file, ``keep`` it, and ``tell`` how many are done.

    The file has no name: whatever is killed, it is gone with the last process that has it open.
    """
    context = multiprocessing.get_context("spawn")
    end, hold = context.Pipe(duplex=False)
    file = Connection(os.dup(work), writable=False)  # as such it can go to another process
    count = min(cores(), len(items))
    executor = ProcessPoolExecutor(count, context, _begin, (file, end))
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    done = 0
    try:
        with ThreadPoolExecutor(1, initializer=_hear_no_interrupt) as starter:
            futures = starter.submit(_submitted, executor, items).result()
        place = {future: i for i, future in enumerate(futures)}
        for future in futures:
            future.add_done_callback(ended.put)
        while done < len(items):
            tell(done)
            try:
                future = ended.get(timeout=_ASK_S)
            except Empty:
                continue
            result = future.result()
            if keep:
                keep(place[future], result)
            done += 1
        tell(done)
        executor.shutdown()
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise WorkerDied(
            "A process that computed a part of this ended too early: killed, or out of memory. "
            "Nothing is kept; try again, or ask for less."
        ) from error
    finally:
        hold.close()
        for process in multiprocessing.active_children():  # one pool runs at a time
            process.kill()
        executor.shutdown(cancel_futures=True)
        end.close()
        file.close()


def _hear_no_interrupt() -> None:
    """Let this thread, and the processes that it starts, hear no SIGINT: the parent handles it.

    A process that ignored it by itself could be interrupted before it does. Only the thread that
    starts the others can be told so: an interrupt of the main one might leave one half started.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _submitted(executor: ProcessPoolExecutor, items: Sequence[Any]) -> list[Future[Any]]:
    return [executor.submit(_do, item) for item in items]


#: What a process does with each item.
_work: Callable[[Any], Any]


def _begin(work: Connection, end: Connection) -> None:
    """Get ready: the end of the parent is the end of all."""
    global _work  # noqa: PLW0603 - the one thing a process is told before its items
    Thread(target=_leave, args=(end,), daemon=True).start()
    with mmap(work.fileno(), 0, access=ACCESS_READ) as content:
        _work = pickle.loads(content)  # noqa: S301 - the parent wrote it
    work.close()


def _leave(end: Connection) -> None:
    """Leave when the parent lets go of its side of a pipe, as it does when it dies."""
    wait([end])
    os._exit(0)


def _do(item: Any) -> Any:
    return _work(item)
