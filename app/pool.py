"""All cores at work on many small things, in processes that a threaded server may start.

Processes are spawned, never forked: a fork copies the locks that other threads hold. What all items
share is sent once to each process; results come in the order of the items, whatever ends first.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from http import HTTPStatus
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from typing import Any, TypeVar

from app.errors import Refusal

#: What ends in this time [s] is done in this process: starting others takes longer.
SHORT_S = 0.5
#: Half of the processes of two pools would only wait for the others.
_ONE_POOL = Lock()

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Told how many items are done, and how many there are.
Progress = Callable[[int, int], None]


class WorkerDied(Refusal):
    """A process ended before its work did."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "worker_died"


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    progress: Progress | None = None,
    *,
    short_s: float = SHORT_S,
) -> list[Result]:
    """Return ``work`` of each item, in their order.

    The first items are done here, until that has taken ``short_s`` [s]; the others by as many
    processes as there are cores. One pool runs at a time.

    Parameters
    ----------
    work
        Of a module that can be imported, or a partial of such: it goes to each process once, with
        all that is bound to it.
    items
        What can be pickled.
    progress
        Called in this thread whenever an item is done.

    Raises
    ------
    WorkerDied
        When a process ends before its work: killed, or out of memory.
    Exception
        Whatever ``work`` raises first, and KeyboardInterrupt; items not begun are then given up.
    """
    tell = progress or (lambda _done, _all: None)
    many, began = cores() > 1, time.monotonic()
    results: list[Result] = []
    for item in items:
        if many and len(items) - len(results) > 1 and time.monotonic() - began >= short_s:
            break
        results.append(work(item))
        tell(len(results), len(items))
    left = items[len(results) :]
    if not left:
        return results
    with _ONE_POOL:
        return results + _by_processes(work, left, lambda n: tell(len(results) + n, len(items)))


def _by_processes(
    work: Callable[[Item], Result], items: Sequence[Item], tell: Callable[[int], None]
) -> list[Result]:
    context = multiprocessing.get_context("spawn")
    end, hold = context.Pipe(duplex=False)
    count = min(cores(), len(items))
    executor = ProcessPoolExecutor(count, context, _begin, (work, end))
    try:
        futures = [executor.submit(_do, item) for item in items]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            tell(done)
        executor.shutdown()
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise WorkerDied(
            "A process that computed a part of this ended too early: killed, or out of memory. "
            "Nothing is kept; try again, or ask for less."
        ) from error
    finally:
        hold.close()  # what is still at work ends at once
        executor.shutdown(cancel_futures=True)
        end.close()


#: What a process does with each item.
_work: Callable[[Any], Any]


def _begin(work: Callable[[Any], Any], end: Connection) -> None:
    """Get ready: an interrupt is the parent's to handle, and its end is the end of all."""
    global _work  # noqa: PLW0603 - the one thing a process is told before its items
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave, args=(end,), daemon=True).start()


def _leave(end: Connection) -> None:
    """Leave when the parent lets go of its side of a pipe, as it does when it dies."""
    wait([end])
    os._exit(0)


def _do(item: Any) -> Any:
    return _work(item)
