"""Links as many jobs share them: who has what of them, and who takes it from whom."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from solver.simulation.fair_flows import FairFlows

#: Two speeds within this of one another are the same, and a speed this near to 1 is full.
_SAME = 1e-12


class Carried(NamedTuple):
    """What a job's transfers had of a link for a while: bytes/us from a time to another [us]."""

    link: int
    job: int
    begin: float
    end: float
    rate: float


class SharedLinks(FairFlows):
    """Max-min fair links that keep the books: what each job carries, what others cost it.

    While a transfer crosses links, it loses 1 - s/u of each microsecond, at the speed s, where u is
    its speed with none but its own job's transfers. What it loses is the doing of those others
    that cross its bottleneck, the first full link of its path on which none of its class is faster,
    in proportion to what they have of it.

    Parameters
    ----------
    paths, capacities, classes
        As of :class:`FairFlows`, a channel for each transfer of each job.
    job_of
        The job of each transfer.
    is_traced
        Whether to keep what crosses links over time.
    """

    __slots__ = ("_job_of", "_since", "_traced", "lost")

    def __init__(
        self,
        paths: Sequence[Sequence[int]],
        capacities: Sequence[float],
        classes: Sequence[int],
        job_of: Sequence[int],
        *,
        is_traced: bool,
    ) -> None:
        super().__init__(paths, capacities, classes)
        self._job_of = job_of
        self._since: dict[int, float] = {}
        self._traced: list[Carried] | None = [] if is_traced else None
        #: Time that a job lost to another one on a link [us]: by job, other, link.
        self.lost: dict[tuple[int, int, int], float] = {}

    @property
    def carried(self) -> list[Carried]:
        """What crossed links, piece by piece; empty where it is not traced."""
        return self._traced or []

    def _share(self, channels: Iterable[int], now: float) -> None:
        """Book what was until now before the speeds change."""
        channels = list(channels)
        self._book(channels, now)
        super()._share(channels, now)

    def pop(self) -> int:
        """End what ends next, with what it had in the books."""
        # what ends is no more among those that share, so it is booked while it is there
        now = self.next_end
        self._book(self._connected(self._heap[0][1]), now)
        channel = super().pop()
        del self._since[channel]
        return channel

    def settle(self, now: float) -> None:
        """Book everything until now."""
        self._book(list(self._flows), now)

    def is_under_way(self, channel: int) -> bool:
        """Tell whether a transfer crosses its links now."""
        return channel in self._flows

    def left(self, channel: int, now: float) -> float:
        """Return what a transfer still takes alone [us]."""
        flow = self._flows[channel]
        return max(0.0, flow.left - (now - flow.since) * (flow.speed or 0.0))

    def _book(self, channels: Iterable[int], now: float) -> None:
        flows, since, job_of, lost = self._flows, self._since, self._job_of, self.lost
        for channel in channels:
            began = since.get(channel, now)
            if now > began:
                flow = flows[channel]
                speed = flow.speed or 0.0
                if self._traced is not None and speed > 0:
                    job, rate = job_of[channel], flow.rate * speed
                    self._traced += [
                        Carried(link, job, began, now, rate) for link in self._paths[channel]
                    ]
                best = self._best(channel)
                if speed < best * (1 - _SAME):
                    link = self._bottleneck(channel)
                    others = {
                        other: flows[other].rate * (flows[other].speed or 0.0)
                        for other in self._crossing[link]
                        if job_of[other] != job_of[channel]
                    }
                    total = sum(others.values())
                    for other, rate in others.items() if total else ():
                        key = job_of[channel], job_of[other], link
                        share = (1 - speed / best) * (now - began) * rate / total
                        lost[key] = lost.get(key, 0.0) + share
        # only then, as each looks at others' speeds
        for channel in channels:
            since[channel] = now

    def _best(self, channel: int) -> float:
        """Return its speed if links carried nothing of other jobs."""
        rate, job = self._flows[channel].rate, self._job_of[channel]
        best = 1.0
        for link in self._paths[channel]:
            crossing = self._crossing[link]
            own = sum(1 for other in crossing if self._job_of[other] == job) if crossing else 1
            best = min(best, self._capacities[link] / (max(1, own) * rate))
        return best

    def _bottleneck(self, channel: int) -> int:
        """Return the full link on which it is slowed down: where it has most of what is full."""
        flows, path = self._flows, self._paths[channel]
        found, fullest = path[0], (False, -1.0)
        mine = flows[channel].rate * (flows[channel].speed or 0.0)
        for link in path:
            rates = [
                flows[other].rate * (flows[other].speed or 0.0) for other in self._crossing[link]
            ]
            is_fastest = mine >= max(
                (
                    flows[other].rate * (flows[other].speed or 0.0)
                    for other in self._crossing[link]
                    if self._classes[other] == self._classes[channel]
                ),
                default=0.0,
            ) * (1 - 1e-9)
            use = sum(rates) / self._capacities[link]
            if (is_fastest, use) > fullest:
                found, fullest = link, (is_fastest, use)
        return found
