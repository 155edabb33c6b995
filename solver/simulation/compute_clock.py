"""When compute ops end whose speed changes while they run."""

from heapq import heappop, heappush
from math import inf


class ComputeClock:
    """Ops in progress, all at full speed or all slowed.

    The clock K proceeds at ``slowdown`` by itself and at 1 while compute is slowed, so an op of
    ``work`` that begins at t ends when K has come ``slowdown`` times ``work`` further than K(t).
    That end on K never changes, whatever the speed does: a heap by it keeps the order of the ends.
    Dividing comes last, so times are exact where they and the slowdown are short binary fractions.

    Each call is at the time of the one before or later, and not after :attr:`next_end`.

    Parameters
    ----------
    slowdown
        How many times as long slowed compute takes, at least 1.
    """

    def __init__(self, slowdown: float) -> None:
        self._slowdown = self._speed = slowdown
        self._time = self._clock = 0.0  # the last change of speed [us], and K at it
        self._heap: list[tuple[float, int]] = []  # end on K, op
        #: When the next op ends at the present speed [us]; inf when none runs.
        self.next_end = inf

    def begin(self, op: int, work: float, now: float) -> None:
        """Begin an op that takes so long at full speed [us]."""
        heappush(self._heap, (self._at(now) + self._slowdown * work, op))
        self._look(now)

    def pop(self) -> tuple[float, int]:
        """Return when the next op ends [us], and the op; of equal ends the smaller first."""
        now, (_, op) = self.next_end, heappop(self._heap)
        self._look(now)
        return now, op

    def set_slow(self, slow: bool, now: float) -> None:  # noqa: FBT001 - it is the state
        """Slow all ops down from now on [us], or let them run at full speed."""
        speed = 1.0 if slow else self._slowdown
        if speed != self._speed:
            self._clock, self._time, self._speed = self._at(now), now, speed
            self._look(now)

    def _at(self, time: float) -> float:
        return self._clock + (time - self._time) * self._speed

    def _look(self, now: float) -> None:
        """Find the next end; rounding must not put it before now."""
        self.next_end = inf
        if self._heap:
            self.next_end = max(now, self._time + (self._heap[0][0] - self._clock) / self._speed)
