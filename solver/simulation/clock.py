"""When things end that are done at a speed that changes meanwhile."""

from heapq import heappop, heappush, heapreplace
from math import inf


class SharedProgress:
    """Things in progress, all at one speed, which may change.

    The clock K proceeds at the speed, so what begins at t and is ``length`` long ends when K has
    come ``length`` further than K(t). That end on K never changes, whatever the speed does: a heap
    by it keeps the order of the ends. Dividing comes last, so times are exact where lengths and
    speeds are short binary fractions.

    Each call is at the time of the one before or later, and not after :attr:`next_end`. O(log n)
    each for n things in progress, a change of speed O(1).

    Parameters
    ----------
    speed
        Length done in a microsecond, of each thing.
    """

    __slots__ = ("_clock", "_heap", "_speed", "_time", "next_end")

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._time = self._clock = 0.0  # the last change [us], and K at it
        self._heap: list[tuple[float, int]] = []  # end on K, thing
        #: When the next thing ends at the present speed [us]; inf when none is in progress.
        self.next_end = inf

    def first(self) -> int:
        """Return what ends next; there is something in progress."""
        return self._heap[0][1]

    def begin(self, thing: int, length: float, now: float) -> None:
        """Begin a thing."""
        heappush(self._heap, (self._at(now) + length, thing))
        self._look(now)

    def pop(self) -> tuple[float, int]:
        """Return when the next thing ends [us], and the thing; of equal ends the smaller first."""
        now, (_, thing) = self.next_end, heappop(self._heap)
        self._look(now)
        return now, thing

    def follow(self, thing: int, length: float) -> tuple[float, int]:
        """Do as :meth:`pop`, and begin a thing at that time."""
        now, end = self.next_end, self._heap[0][0]
        _, ended = heapreplace(self._heap, (end + length, thing))
        self._look(now)
        return now, ended

    def set_speed(self, speed: float, now: float) -> None:
        """Go on at another speed from now on [us]."""
        if speed != self._speed:
            self._clock, self._time, self._speed = self._at(now), now, speed
            self._look(now)

    def left(self, now: float) -> float:
        """Sum the lengths that are left of all things in progress."""
        at = self._at(now)
        return sum(max(end - at, 0.0) for end, _ in self._heap)

    def _at(self, time: float) -> float:
        return self._clock + (time - self._time) * self._speed

    def _look(self, now: float) -> None:
        """Find the next end; rounding must not put it before now."""
        self.next_end = inf
        if self._heap:
            self.next_end = max(now, self._time + (self._heap[0][0] - self._clock) / self._speed)
