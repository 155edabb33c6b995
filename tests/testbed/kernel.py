"""What a worker asks of the kernel."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PR_SET_PDEATHSIG, _PR_SET_TIMERSLACK = 1, 29


def end_with_parent() -> None:
    """Be killed when the process that started this one ends, however it does."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def sharpen_timers() -> None:
    """Be woken on time: to the nanosecond, not some 50 us late. Counts for this thread."""
    _prctl(_PR_SET_TIMERSLACK, 1)


def put_first(*, is_first: bool) -> None:
    """Run this thread, and those that it starts, before all other programs, or as usual.

    Where that is not allowed it runs as usual.
    """
    policy, priority = (os.SCHED_FIFO, 10) if is_first else (os.SCHED_OTHER, 0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, policy, os.sched_param(priority))


@contextmanager
def computing_first() -> Iterator[None]:
    """Let this thread run before the others of its worker, where it has real-time priority.

    It stands for a device: on a host of its own nothing that sends would keep it from its time.
    """
    policy, before = os.sched_getscheduler(0), os.sched_getparam(0)
    is_real_time = policy in {os.SCHED_FIFO, os.SCHED_RR}
    if is_real_time:
        os.sched_setscheduler(0, policy, os.sched_param(before.sched_priority + 1))
    try:
        yield
    finally:
        if is_real_time:
            os.sched_setscheduler(0, policy, before)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
