"""Kernels of a GPU that only compute, where a reader has their times as columns.

A file of a million kernels has no room for an event of each: these are sorted in as they are.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solver.traces.kineto.recording import CpuSpan, DeviceWork

Floats = npt.NDArray[np.float64]


class KnownWorks(NamedTuple):
    """What a rank computed, beside its events.

    Attributes
    ----------
    works
        By launch.
    calls
        Those that launched kernels among the events, by correlation id.
    has_calls
        Whether any were recorded, so that a kernel without one was launched before.
    lost
        How many kernels have none all the same, and are not among the works.
    unread
        Launches and time [us] of what looks like communication, by name.
    streams
        Starts and ends of all kernels on each stream [us], by the GPU's and the stream's number.
    early
        How long after each kernel with a call this began [us]; below 0 where it was before.
    """

    works: Sequence[DeviceWork]
    calls: Mapping[int, CpuSpan]
    has_calls: bool
    lost: int
    unread: Mapping[str, tuple[int, float]]
    streams: Mapping[tuple[str, str], tuple[Floats, Floats]]
    early: Floats


#: Of files of which every kernel is an event.
NONE_KNOWN = KnownWorks(
    works=(), calls={}, has_calls=False, lost=0, unread={}, streams={}, early=np.empty(0)
)
