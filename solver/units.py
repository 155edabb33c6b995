"""Units of the solver, and its one tolerance.

Time is float microseconds, size is int bytes, bandwidth is Gbit/s (10^9 bits) on the wire
and bytes per microsecond inside.
"""

from math import inf
from typing import Final

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Microseconds of each unit of time.
TIME_UNITS: Final = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

#: Two times this close, relative to the larger, are the same time.
TOLERANCE: Final = 1e-7


def slack(*times: float) -> float:
    """Difference [us] up to which times of this magnitude count as equal."""
    return TOLERANCE * max(abs(time) for time in times)


def same(a: float, b: float) -> bool:
    """Tell whether two times [us] are equal within the tolerance; inf is the same as none."""
    return abs(a - b) <= slack(a, b) < inf


def bytes_per_us(gbps: float) -> float:
    """Convert Gbit/s (10^9 bits) to bytes per microsecond."""
    return gbps * 125.0


def slots_up(times: FloatArray, slot: float) -> IntArray:
    """Round times [us] up to whole slots; a time within the tolerance of a slot end stays there."""
    slots = times / slot
    return np.ceil(slots - np.minimum(TOLERANCE * slots, 0.5)).astype(np.int64)
