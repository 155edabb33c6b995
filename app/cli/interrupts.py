"""Ctrl-C: one line and the exit code 130, whatever the command is at.

While modules are imported, an exception in their middle may be swallowed or become another one, and
there is nothing to put in order: the command leaves at once. Work that has something to put in
order, a job of a service or processes of its own, is interrupted by KeyboardInterrupt.

Both hold also where the parent ignores SIGINT, as ``nohup`` and a shell's ``&`` do. Few modules are
imported here: before, an interrupt is Python's.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


@contextmanager
def leaving() -> Iterator[None]:
    """Leave at once when interrupted."""
    before = signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt when interrupted."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(*_: object) -> None:
    try:
        os.write(2, b"interlace: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
