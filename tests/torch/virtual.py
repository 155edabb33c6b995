"""A channel in virtual time, whose costs are known: latency, a line, and a token bucket."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Bucket:
    """Launches wait a latency, then go at line speed while there are tokens, then at the rate.

    Under traffic without a pause a launch takes :meth:`sustained`, whatever the burst; after a rest
    it takes :meth:`single`, which is less.
    """

    latency: float  # us
    rate: float  # bytes/us
    line: float  # bytes/us, more than the rate
    burst: float  # bytes, more than rate * latency
    time: float = 0.0  # us
    tokens: float = 0.0
    runs: list[tuple[int, ...]] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)

    def run(self, sizes) -> list[float]:
        self.runs.append(tuple(sizes))
        began = self.time
        return [self._sent(size) - began for size in sizes]

    def _sent(self, size: int) -> float:
        self.wait(self.latency)
        fast = min(size, self.tokens * self.line / (self.line - self.rate))
        self.tokens = max(0.0, self.tokens - fast * (self.line - self.rate) / self.line)
        self.time += fast / self.line + (size - fast) / self.rate
        return self.time

    def wait(self, us: float) -> None:
        self.time += us
        self.tokens = min(self.burst, self.tokens + us * self.rate)

    def rest(self, seconds: float) -> None:
        self.wait(seconds * 1e6)

    def slowest(self, values):
        return self.agreed(list(values))

    def agreed(self, value):
        self.told.append(value)
        return value

    def now(self) -> float:
        return self.time / 1e6

    def sustained(self, size: int) -> float:
        """Tokens that gather during the latency are used up by the same launch."""
        return max(self.latency + size / self.line, size / self.rate)

    def single(self, size: int) -> float:
        fast = min(size, self.burst * self.line / (self.line - self.rate))
        return self.latency + fast / self.line + (size - fast) / self.rate


@dataclass
class Follower(Bucket):
    """Another rank of the same group: its own clock, the first rank's answers."""

    answers: list[Any] = field(default_factory=list)
    pace: float = 1.0  # of its clock

    def agreed(self, value):
        return self.answers.pop(0)

    def now(self) -> float:
        return super().now() * self.pace
