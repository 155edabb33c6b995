"""Children that are forked by a process that has no threads: started, killed, buried.

That process (multiprocessing's forkserver) has imported everything: starting a child takes some
milliseconds, and no lock of its parent goes with it.
"""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from threading import Event, Thread

from app.children.exit_reason import reason_of
from app.children.groups import kill_group
from app.children.orphans import name_server
from app.errors import WorkersUnavailable
from app.operations.settings import Settings
from app.references import resolve

#: The process that forks the others hangs when it has not begun one after so long, and computes
#: nothing [s]. What it imports first takes a second or two, and minutes where much else is to do.
START_S = 60.0


#: A child that was killed is gone after so long [s], unless what forks them hangs.
GONE_S = 5.0


@dataclass(slots=True, eq=False)
class Child:
    """A process, and the parent's side of its pipe."""

    process: ForkServerProcess
    pipe: Connection
    was_killed: bool = False


def forking(imported: Sequence[str]) -> ForkServerContext:
    """Return what starts children of this process, which have imported these modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["app.children.forkserver", *imported])
    name_server()
    return context


def fork(context: ForkServerContext, settings: Settings, serve: str) -> Child:
    """Start a process that serves whoever has the other side of its pipe.

    ``serve(settings, pipe)`` is named by reference (:mod:`app.references`).

    Raises
    ------
    WorkersUnavailable
        When the process that forks the others hangs. It was killed, and all that it forked.
    """
    ours, theirs = multiprocessing.Pipe()
    is_over, is_late = Event(), Event()
    Thread(target=_end_if_hung, args=(is_over, is_late), daemon=True).start()
    try:
        process = context.Process(target=_begin, args=(serve, settings, theirs))
        process.start()
    except (EOFError, OSError) as error:
        ours.close()
        why = "was killed: it hung" if is_late.is_set() else "has gone"
        raise WorkersUnavailable(f"The process that starts the others {why}.") from error
    except BaseException:
        ours.close()
        raise
    finally:
        is_over.set()
        theirs.close()
    return Child(process, ours)


def _begin(serve: str, settings: Settings, pipe: Connection) -> None:
    resolve(serve)(settings, pipe)


def _end_if_hung(is_over: Event, is_late: Event) -> None:
    """Kill the process that forks the others if it hangs; the next one wanted starts it anew."""
    seen = _computed()
    while not is_over.wait(START_S):
        before, seen = seen, _computed()
        if seen[0] and seen == before:
            is_late.set()
            with suppress(ProcessLookupError):
                os.kill(seen[0], signal.SIGKILL)
            return


def _computed() -> tuple[int, int]:
    """Return the process that forks the others, and its processor time where that is told [ticks].

    Without one, and where the system tells no times, they are 0.
    """
    pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]  # noqa: SLF001
    if pid is None:
        return 0, 0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return pid, 0
    return pid, int(fields[11]) + int(fields[12])


def kill(child: Child) -> None:
    """End a child and all that it started."""
    child.was_killed = True
    pid = child.process.pid
    if pid is None or not child.process.is_alive():
        return
    if not kill_group(pid):  # it has not come to make its group
        child.process.kill()


def reason(child: Child, wait_s: float = 0.0) -> str:
    """Say how a child ended, or does within so long [s]."""
    child.process.join(wait_s)
    return reason_of(child.process.exitcode)


def bury(child: Child, wait_s: float = GONE_S) -> None:
    """Wait for the end of a child that was killed, and forget it."""
    child.process.join(wait_s)
    child.pipe.close()
    with suppress(ValueError):  # it cannot end, or was not seen to: stuck in the kernel, say
        child.process.close()
