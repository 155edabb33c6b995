"""The judge of a chain: plans are sequences of launches on one channel.

Each launch goes as early as its release and the one before allow.
"""

from typing import NamedTuple

from solver.buckets import Launch, Launches, largest_part
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.judge import PlanJudge


class CriticalRun(NamedTuple):
    """What decides a plan: its value [us], and the first and last launch that run without a gap."""

    value: float
    first: int
    last: int


class ChainJudge(PlanJudge[Launches]):
    """Judges plans of one chain at one cost of a launch."""

    def __init__(self, chain: Chain, cost: Cost) -> None:
        self.release = chain.release.tolist()
        self.tail = chain.tail.tolist()
        self.bytes = chain.bytes.tolist()
        self.cost = cost
        self.floor = chain.compute_time
        self.element = chain.element_bytes(0)
        self.lane = chain.lane
        self._buckets: dict[tuple[int, ...], tuple[float, float, int]] = {}

    def bucket(self, members: tuple[int, ...]) -> tuple[float, float, int]:
        """Return release [us], tail [us] and bytes of a bucket."""
        known = self._buckets.get(members)
        if known is None:
            known = self._buckets[members] = (
                max(self.release[i] for i in members),
                max(self.tail[i] for i in members),
                sum(self.bytes[i] for i in members),
            )
        return known

    def total(self, bucket: tuple[int, ...]) -> int:
        """Return the bytes of a bucket."""
        return self.bucket(bucket)[2]

    def fits(self, budget: float, most: int) -> int:
        """Most bytes of whole elements that a launch carries in a time [us]; 0 when none fits."""
        return largest_part(self.cost, budget, most, self.element)

    def starts(self, launches: Launches) -> list[float]:
        """Start of each launch [us]."""
        starts = []
        now = 0.0
        for members, size in launches:
            now = max(now, self.bucket(members)[0])
            starts.append(now)
            now += self.cost.time(size)
        return starts

    def value(self, launches: Launches, /) -> float:
        """Return the iteration time of a plan [us]."""
        return max(self.floor, self.stretch(launches).value)

    def stretch(self, launches: Launches) -> CriticalRun:
        """Execute a plan and find the stretch that decides its value. O(launches)."""
        now = value = 0.0
        first = deciding = begin = 0
        left: dict[tuple[int, ...], int] = {}
        for i, (members, size) in enumerate(launches):
            release, tail, total = self.bucket(members)
            if release > now:
                now, begin = release, i
            now += self.cost.time(size)
            rest = left.get(members, total) - size
            if rest:
                left[members] = rest
            elif now + tail > value:
                value, first, deciding = now + tail, begin, i
        return CriticalRun(value, first, deciding)

    def alone(self) -> Launches:
        """Launch each tensor alone and whole, in release order."""
        return tuple(Launch((i,), size) for i, size in enumerate(self.bytes))
