"""When transfers of a link end, each at a speed of its own that changes meanwhile."""

from math import inf

from solver.simulation.clock import SharedProgress


class ConnectionProgress(SharedProgress):
    """Transfers of workers on a server's link, each with the speed of its connection.

    Where all have one speed its base is quicker. Each call is at the time of the one before or
    later, and not after :attr:`next_end`. O(n) each for n transfers in progress.
    """

    __slots__ = ("_ends", "_speeds")

    def __init__(self, speed: float) -> None:
        super().__init__(speed)
        self._ends: dict[int, float] = {}  # at the present speeds [us]
        self._speeds: dict[int, float] = {}

    def first(self) -> int:
        """Return what ends next, of equal ends the smaller; there is something in progress."""
        return min(self._ends, key=lambda thing: (self._ends[thing], thing))

    def begin(self, thing: int, length: float, now: float) -> None:
        """Begin a transfer; its speed has been set."""
        self._ends[thing] = now + length / self._speeds[thing]
        self._look(now)

    def pop(self) -> tuple[float, int]:
        """Return when the next transfer ends [us], and the transfer."""
        now, thing = self.next_end, self.first()
        del self._ends[thing]
        self._look(now)
        return now, thing

    def follow(self, thing: int, length: float) -> tuple[float, int]:
        """Do as :meth:`pop`, and begin a transfer at that time."""
        now, ended = self.next_end, self.first()
        del self._ends[ended]
        self.begin(thing, length, now)
        return now, ended

    def set_speeds(self, speeds: dict[int, float], now: float) -> None:
        """Go on at other speeds from now on [us]; they include all that is in progress."""
        for thing, end in self._ends.items():
            before, speed = self._speeds[thing], speeds[thing]
            if speed != before:
                self._ends[thing] = now + (end - now) * before / speed
        self._speeds = speeds
        self._look(now)

    def left(self, now: float) -> float:
        """Sum the lengths that are left of all that is in progress."""
        return sum(max(end - now, 0.0) * self._speeds[thing] for thing, end in self._ends.items())

    def _look(self, now: float) -> None:
        """Find the next end; rounding must not put it before now."""
        self.next_end = max(now, min(self._ends.values(), default=inf))
