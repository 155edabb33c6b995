"""A watchdog: ends a search that takes far longer than its moves should, and says so.

Moves end a search, so that the same input has the same plan on every machine. A machine that is
very slow, or has much else to do, would let people wait for them; a plan that is cut short says it.
"""

from math import inf
from time import monotonic, thread_time

#: The usual limit of CPU time [s]: a machine four times as slow as was meant does not come to it.
TIME_LIMIT_S: float = 60

#: How many times the limit of CPU time may pass on the clock on the wall, where others have the
#: processors.
WALL = 2.0


class Watchdog:
    """Watches the thread that makes it.

    Attributes
    ----------
    cut
        What it was that ended the search, as "its limit of 60 s of CPU time"; None while nothing
        did.
    """

    def __init__(self, limit_s: float = inf) -> None:
        """Begin to watch; ``limit_s`` is of CPU time [s]."""
        self.cut: str | None = None
        self._limit_s = limit_s
        self._cpu, self._wall = thread_time(), monotonic()

    def is_over(self) -> bool:
        """Tell whether the time is over; once it is, it stays so."""
        if self.cut is None:
            if thread_time() - self._cpu >= self._limit_s:
                self.cut = f"its limit of {self._limit_s:g} s of CPU time"
            elif monotonic() - self._wall >= WALL * self._limit_s:
                self.cut = f"{WALL * self._limit_s:g} s on the clock, {WALL:g} times its limit"
        return self.cut is not None
