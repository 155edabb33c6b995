"""What a child may take: memory, a turn on a core, and how much it does before another is begun."""

import gc
import os
import resource
import signal
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

from app.children.orphans import end_with_forkserver
from app.operations import logs
from app.operations.memory import GARBAGE
from app.operations.settings import Settings

#: How much a child steps aside for the server that answers its clients.
_NICE = 10


#: A child ends after so many orders, or when it has taken so much memory [KiB]: what Python has, it
#: does not give back.
_ORDERS, LARGE_KIB = 500, 2**19


def begin(settings: Settings) -> None:
    """Do what every child does first: signals to all processes are meant for its parent."""
    for sent in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sent, signal.SIG_IGN)
    gc.set_threshold(*GARBAGE)
    logs.install(settings.log_format, settings.log_level)


def bound(settings: Settings, nice: int = _NICE) -> None:
    """Give a forked child a group of its own, little memory and the last turn on a core."""
    os.setpgid(0, 0)  # so that what it starts can be ended with it
    begin(settings)
    end_with_forkserver()
    os.nice(nice)
    limit_memory(settings.job_memory_bytes)


def is_large(most_kib: int = LARGE_KIB) -> bool:
    """Tell whether this process has taken so much memory that it should end."""
    return _most_kib() > most_kib


def _most_kib() -> int:
    """Return the most memory that this process had, where the system tells of it alone [KiB].

    ``ru_maxrss`` of a program that was just begun is that of whoever began it: ``exec`` keeps it.
    """
    try:
        told = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next((int(line.split()[1]) for line in told.splitlines() if line[:6] == "VmHWM:"), 0)


def is_spent(orders: int) -> bool:
    """Tell whether this process should end after so many orders."""
    return orders >= _ORDERS or is_large()


def leave() -> NoReturn:
    """End this process; taking an interpreter apart takes its time."""
    sys.stderr.flush()
    os._exit(0)


def limit_memory(size: int) -> None:
    """Let allocations fail that take this process so far beyond what it had at the first call.

    Data where the system counts it, else address space. What the libraries of a process have set
    aside by then depends on the machine: for each of its cores some more.
    """
    kind = getattr(resource, "RLIMIT_DATA", resource.RLIMIT_AS)
    _, hard = resource.getrlimit(kind)
    most = size + _had_at_first()
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


@cache
def _had_at_first() -> int:
    """Return what this process had when it was first asked, where the system tells [bytes]."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[5]
    except FileNotFoundError:
        return 0
    return int(pages) * resource.getpagesize()
