"""The processes of jobs on a Dask worker: started, heard, killed with all that they started.

A Dask worker is itself a process that may have no children of multiprocessing, so they are
programs of their own. One that has done its job waits for the next. All that they are told and
tell is bytes here: the Dask worker imports nothing of the service.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from threading import Lock
from typing import Any, NamedTuple

from app.jobs.exit_reason import reason_of

#: How often whoever waits for a process is asked whether the job is still wanted [s].
_ASK_S = 0.1


#: A job has one core; threads of its libraries would take up memory and wait for each other.
_ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


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


class ItemProcess:
    """A process that does one thing at a time."""

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        program = [sys.executable, "-m", "app.jobs.engines.child", str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this package
                program,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,  # so that what it starts can be ended with it
                env={**os.environ, **_ONE_CORE},
            )
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()
        self.is_ready = False
        self._work_id: str | None = None

    def send(self, order: bytes | WorkItem) -> None:
        """Let it do a pickled job, or a cell: what the cells of a sweep share is sent once."""
        if isinstance(order, bytes):
            self.pipe.send_bytes(order)
            return
        is_known, self._work_id = order.work_id == self._work_id, order.work_id
        self.pipe.send(order._replace(work=b"") if is_known else order)

    def hear(self, watch: "Callable[[ItemProcess], None]") -> News | None:
        """Return the next that it tells; None says that it waits for something to do.

        ``watch`` is called first, and ten times a second; what it raises goes on.

        Raises
        ------
        EOFError, OSError
            When it has ended.
        """
        watch(self)
        while not self.pipe.poll(_ASK_S):
            watch(self)
        news: News | None = self.pipe.recv()
        return news

    def wait(self) -> int:
        """Return how it ended, once it has let go of its pipe; it is killed if it does not end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ASK_S)
        return self.end()

    def end(self) -> int:
        """Kill it and all that it started; return how it ended."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.pipe.close()
        return self._process.wait()


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
            news = child.hear(watch)
            assert news is not None, "it is at something"
            if news[0] == OUTCOME:
                outcome = news[2]
            else:
                hear(news)
    except (EOFError, OSError):
        raise ChildDied(reason_of(child.wait())) from None
    except BaseException:
        child.end()
        raise
    _give_back(child, watch)
    return outcome


def _give_back(child: ItemProcess, watch: Callable[[ItemProcess], None]) -> None:
    """Let a process wait for the next job, unless it leaves."""
    try:
        child.hear(watch)
    except (EOFError, OSError):
        child.end()
        return
    except BaseException:
        child.end()
        raise
    with _LOCK:
        _IDLE.append(child)
