"""Launches of one channel in flat arrays, and what joining two of them comes to.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from array import array
from collections.abc import Sequence


class EarliestLaunches:
    """Launches in order, each as early as its release and the one before allow.

    Parameters
    ----------
    release, tail, time
        Of each launch's bucket, and how long it takes [us].
    closes
        Of each launch whether its bucket is done with it.
    """

    def __init__(
        self,
        release: Sequence[float],
        tail: Sequence[float],
        time: Sequence[float],
        closes: Sequence[int],
    ) -> None:
        self.release = array("d", release)
        self.tail = array("d", tail)
        self.time = array("d", time)
        self.closes = array("i", closes)
        self.count = len(self.release)
        self.now = 0.0
        self.value = 0.0
        self.reached = 0

    def joined(self, at: int, other: int, place: int, time: float) -> float:
        """Return the value [us] with two launches as one of so long a time [us].

        ``other`` comes after ``at``, and ``place`` is one of the two: where the one launch goes.
        O(launches), of those before ``at`` only what is new since the last call.
        """
        if at < self.reached:
            self.reached = 0
            self.now = self.value = 0.0
        while self.reached < at:
            self.run(self.reached)
            self.reached += 1
        now, value = self.now, self.value
        for k in range(at, self.count):
            if k == place:
                self.now = max(self.now, self.release[at], self.release[other]) + time
                if self.closes[other]:
                    end = self.now + max(self.tail[at], self.tail[other])
                    self.value = max(self.value, end)
            elif k not in (at, other):
                self.run(k)
        found = self.value
        self.now, self.value = now, value
        return found

    def run(self, k: int) -> None:
        """Send a launch after those before it."""
        self.now = max(self.now, self.release[k]) + self.time[k]
        if self.closes[k]:
            self.value = max(self.value, self.now + self.tail[k])

    def join(self, at: int, other: int, place: int, time: float) -> None:
        """Make one launch of two."""
        release = max(self.release[at], self.release[other])
        tail = max(self.tail[at], self.tail[other])
        self.release[place], self.tail[place], self.time[place] = release, tail, time
        self.closes[place] = self.closes[other]
        gone = at + other - place
        self.count -= 1
        for k in range(gone, self.count):
            self.release[k], self.tail[k] = self.release[k + 1], self.tail[k + 1]
            self.time[k], self.closes[k] = self.time[k + 1], self.closes[k + 1]
