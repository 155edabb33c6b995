"""Cells that time themselves, where processes of a Dask worker can import them."""

import os
import time
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """A cell, who computed it, and how long that took: of its processor and by the clock [s]."""

    value: Any
    process: int
    cpu_s: float
    wall_s: float


class Timing:
    """``work`` that times itself."""

    def __init__(self, work: Any) -> None:
        self.work = work

    def __call__(self, item: Any) -> Timed:
        began, spent = time.perf_counter(), time.thread_time()
        value = self.work(item)
        return Timed(value, os.getpid(), time.thread_time() - spent, time.perf_counter() - began)


def slowly(_item: int) -> int:
    """Take long enough that each worker gets one."""
    time.sleep(0.3)
    return os.getpid()
