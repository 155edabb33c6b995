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

from app.jobs.deaths import reason_of

#: How often whoever waits for a process is asked whether the job is still wanted [s].
_ASK_S = 0.1


#: A job has one core; threads of its libraries would take up memory and wait for each other.
_ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


#: Words before what a process tells last, and before a draft.
OUTCOME, DRAFT = "outcome", "draft"


#: What a process tells: a word, and what it is about; bytes where it is large.
News = tuple[str, Any]


class ChildDied(Exception):
    """The process ended before its job did; says how."""


class NotWanted(Exception):
    """Nobody waits for the job any more; its process was killed."""


class Order(NamedTuple):
    """What a process is to do: a job, or ``work`` of a thing; all of it pickled.

    A process keeps the newest ``work``, which has an id.
    """

    memory_bytes: int
    what: bytes
    work_id: str | None = None
    work: bytes = b""


class Child:
    """A process that does one thing at a time."""

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        program = [sys.executable, "-m", "app.jobs.engines.child", str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this package
                program,
                stdin=subprocess.PIPE,  # is held open, and ends with this process
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

    def send(self, order: Order) -> None:
        """Let it do something; what the cells of a sweep share is sent once."""
        if order.work_id is not None:
            is_known, self._work_id = order.work_id == self._work_id, order.work_id
            order = order._replace(work=b"") if is_known else order
        self.pipe.send(order)

    def hear(self, is_wanted: Callable[[], bool]) -> News | None:
        """Return the next that it tells; None says that it waits for something to do.

        Raises
        ------
        EOFError, OSError
            When it has ended.
        NotWanted
            When ``is_wanted`` says so, which is asked ten times a second.
        """
        while not self.pipe.poll(_ASK_S):
            if not is_wanted():
                raise NotWanted
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
        assert self._process.stdin is not None, "it has a pipe"
        with self._process.stdin:
            return self._process.wait()


_IDLE: list[Child] = []
_LOCK = Lock()


def outcome_of(
    order: Order,
    is_wanted: Callable[[], bool],
    hear: Callable[[str, Any], None] = lambda _word, _what: None,
) -> bytes:
    """Have a process do something; return its outcome, and let ``hear`` know what comes before.

    Raises
    ------
    ChildDied
        When the process ends before.
    NotWanted
        When ``is_wanted`` says so.
    """
    with _LOCK:
        child = _IDLE.pop() if _IDLE else None
    child = child or Child()
    try:
        if not child.is_ready:
            child.is_ready = child.hear(is_wanted) is None
        child.send(order)
        while (news := child.hear(is_wanted)) is not None:
            word, what = news
            if word == OUTCOME:
                break
            hear(word, what)
    except (EOFError, OSError):
        raise ChildDied(reason_of(child.wait())) from None
    except BaseException:
        child.end()
        raise
    _give_back(child)
    outcome: bytes = what
    return outcome


def _give_back(child: Child) -> None:
    """Let a process wait for the next job, unless it leaves."""
    try:
        child.hear(lambda: True)
    except (EOFError, OSError):
        child.end()
        return
    with _LOCK:
        _IDLE.append(child)
