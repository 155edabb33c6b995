"""Links as many jobs share them: who has what of them, and who takes it from whom."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from solver.jobs.mix import Mix
from solver.jobs.profile import JobProfile
from solver.simulation.fair_flows import FairFlows
from solver.units import bytes_per_us

#: Two speeds within this of one another are the same, and a speed this near to 1 is full.
_SAME = 1e-12


class CarriedPiece(NamedTuple):
    """What a transfer had of a link for a while: bytes/us from a time to another [us].

    ``speed`` is the share of what it has with the links to itself.
    """

    link: int
    job: int
    begin: float
    end: float
    rate: float
    speed: float


class _LinkUse:
    """What crosses a link: share of its capacity, each class's fastest flow, rates of jobs."""

    __slots__ = ("fastest", "jobs", "share")

    def __init__(self, share: float, fastest: dict[int, float], jobs: dict[int, float]) -> None:
        self.share, self.fastest, self.jobs = share, fastest, jobs


def links_that_fill(profiles: Sequence[JobProfile], mix: Mix) -> set[int]:
    """Return the links that may be full: others slow nothing down.

    A link is never full where its capacity is at least that of all its jobs' channels together,
    each as fast as its fastest transfer there with all its flows, and no slower than it.
    """
    capacity = [bytes_per_us(gbps) for _, gbps in mix.links]
    number = {name: i for i, (name, _) in enumerate(mix.links)}
    wanted = [0.0] * len(capacity)
    found: set[int] = set()
    for profile in profiles:
        fastest: dict[tuple[int, str], float] = {}
        for transfer in profile.transfers:
            path = [(number[name], flows) for name, flows in transfer.flows_on.items()]
            rate = min((capacity[link] / flows for link, flows in path), default=transfer.rate)
            rate = min(rate, transfer.rate)
            for link, flows in path:
                key = link, transfer.channel
                fastest[key] = max(rate * flows, fastest.get(key, 0.0))
                if transfer.rate * flows > capacity[link] * (1 + _SAME):
                    found.add(link)
        for (link, _), rate in fastest.items():
            wanted[link] += rate
    return found | {link for link, all_ in enumerate(wanted) if all_ > capacity[link] * (1 + 1e-9)}


class SharedLinks(FairFlows):
    """Max-min fair links that keep the books: what each job carries, what others cost it.

    While a transfer crosses links, it loses 1 - s/u of each microsecond, at the speed s, where u is
    its speed with none but its own job's transfers. What it loses is the doing of those others
    that cross its bottleneck, the first full link of its path on which none of its class is faster,
    in proportion to what they have of it.

    Parameters
    ----------
    paths, capacities, classes, weights
        As of :class:`FairFlows`, a channel for each transfer of each job.
    job_of
        The job of each transfer.
    full_paths
        All links that each crosses, those among them that are never full, with its flows there.
    is_traced
        Whether to keep what crosses links over time.
    is_blamed
        Whether to keep who slows whom.
    """

    __slots__ = (
        "_alone",
        "_full_paths",
        "_is_blamed",
        "_job_of",
        "_lost",
        "_most",
        "_of_job",
        "_since",
        "_traced",
        "_wanted",
    )

    def __init__(
        self,
        paths: Sequence[Sequence[int]],
        capacities: Sequence[float],
        classes: Sequence[int],
        weights: Sequence[Sequence[float]],
        job_of: Sequence[int],
        full_paths: Sequence[Sequence[tuple[int, float]]],
        *,
        is_traced: bool,
        is_blamed: bool = True,
    ) -> None:
        super().__init__(paths, capacities, classes, weights)
        self._is_blamed = is_blamed
        self._job_of = job_of
        self._full_paths = full_paths
        self._alone: dict[int, float] = {}  # speed of a transfer by itself
        self._wanted = [0.0] * len(capacities)  # of each link, by what is under way
        self._most = [capacity * (1 + 1e-9) for capacity in capacities]
        self._of_job: dict[int, int] = {}  # transfers under way of each job
        self._since: dict[int, float] = {}
        self._traced: list[CarriedPiece] | None = [] if is_traced else None
        self._lost: dict[tuple[int, int], dict[int, float]] = {}  # by job and link, then by other

    @property
    def lost(self) -> dict[tuple[int, int, int], float]:
        """Time that a job lost to another one on a link [us]: by job, other, link."""
        return {
            (job, other, link): us
            for (job, link), others in self._lost.items()
            for other, us in others.items()
        }

    @property
    def carried(self) -> list[CarriedPiece]:
        """What crossed links, piece by piece; empty where it is not traced."""
        return self._traced or []

    def begin(
        self, channel: int, rest: float, rate: float, most: float, span: Sequence[float]
    ) -> None:
        """Begin a transfer, and count it among its job's."""
        job = self._job_of[channel]
        self._of_job[job] = self._of_job.get(job, 0) + 1
        self._want(channel, rate * self._by_itself(channel, rate))
        FairFlows.begin(self, channel, rest, rate, most, span)

    def _share(self, channels: Iterable[int], now: float) -> None:
        """Book what was until now before the speeds change."""
        if self._is_blamed or self._traced is not None:
            channels = list(channels)
            self._book(channels, now)
        FairFlows._share(self, channels, now)  # noqa: SLF001 - super() is slower once compiled

    def pop(self) -> int:
        """End what ends next, with what it had in the books."""
        # what ends is no more among those that share, so it is booked while it is there
        if self._is_blamed or self._traced is not None:
            self._book(self._connected(self._heap[0][1]), self.next_end)
        rate = self._flows[self._heap[0][1]].rate
        channel = FairFlows.pop(self)
        self._since.pop(channel, None)
        self._want(channel, -rate * self._alone[channel])
        self._of_job[self._job_of[channel]] -= 1
        return channel

    def settle(self, now: float) -> None:
        """Book everything until now."""
        if self._is_blamed or self._traced is not None:
            self._book(list(self._flows), now)

    def is_under_way(self, channel: int) -> bool:
        """Tell whether a transfer crosses its links now."""
        return channel in self._flows

    def left(self, channel: int, now: float) -> float:
        """Return what a transfer still takes alone [us]."""
        flow = self._flows[channel]
        return max(0.0, flow.left - (now - flow.since) * flow.speed)

    def _book(self, channels: Iterable[int], now: float) -> None:
        flows, since, is_blamed = self._flows, self._since, self._is_blamed
        on: dict[int, _LinkUse] = {}
        for channel in channels:
            began = since.get(channel, now)
            if now <= began:
                continue
            flow = flows[channel]
            speed = flow.speed
            if self._traced is not None and speed > 0:
                job, rate = self._job_of[channel], flow.rate * speed
                share = speed / self._alone[channel]
                self._traced += [
                    CarriedPiece(link, job, began, now, rate * weight, share)
                    for link, weight in self._full_paths[channel]
                ]
            if is_blamed and speed < 1.0:
                best = self._best(channel)
                if speed < best * (1 - _SAME):
                    self._blame(channel, (1 - speed / best) * (now - began), on)
        # only then, as each looks at others' speeds
        for channel in channels:
            since[channel] = now

    def _blame(self, channel: int, time: float, on: dict[int, _LinkUse]) -> None:
        """Share out time that a transfer lost among the jobs that cross its bottleneck [us]."""
        job = self._job_of[channel]
        link = self._bottleneck(channel, on)
        rates = on[link].jobs
        total = sum(rates.values()) - rates[job]
        if total <= 0:
            return
        lost = self._lost.setdefault((job, link), {})
        for other, rate in rates.items():
            if other != job:
                lost[other] = lost.get(other, 0.0) + time * rate / total

    def _by_itself(self, channel: int, rate: float) -> float:
        """Return the speed of a transfer with the links to itself."""
        if channel in self._alone:
            return self._alone[channel]
        alone = 1.0
        for link, weight in zip(self._paths[channel], self._weights[channel], strict=True):
            alone = min(alone, self._capacities[link] / weight / rate)
        self._alone[channel] = alone
        return alone

    def _want(self, channel: int, more: float) -> None:
        for link, weight in zip(self._paths[channel], self._weights[channel], strict=True):
            self._wanted[link] += more * weight

    def _connected(self, channel: int) -> dict[int, None]:
        """Return what shares links with one, with these, and so on, itself first.

        A link that has room for all that its transfers could have by themselves joins nobody.
        """
        found = {channel: None}
        queue, seen = [channel], set[int]()
        wanted, most, paths, crossing = self._wanted, self._most, self._paths, self._crossing
        for each in queue:  # grows while it is read
            for link in paths[each]:
                if link not in seen and wanted[link] > most[link]:
                    seen.add(link)
                    fresh = [other for other in crossing[link] if other not in found]
                    found.update(dict.fromkeys(fresh))
                    queue += fresh
        return found

    def _best(self, channel: int) -> float:
        """Return its speed if links carried nothing of other jobs."""
        rate, job = self._flows[channel].rate, self._job_of[channel]
        if self._of_job[job] == 1:
            return self._alone[channel]
        best = 1.0
        for link in self._paths[channel]:
            crossing = self._crossing[link]
            own = 0.0
            for other, weight in crossing.items():
                if self._job_of[other] == job:
                    own += weight
            best = min(best, self._capacities[link] / (own * rate))
        return best

    def _bottleneck(self, channel: int, on: dict[int, _LinkUse]) -> int:
        """Return the full link on which it is slowed down: where it has most of what is full.

        A link that has room for all that its transfers could have by themselves is never full.
        """
        flow, path, own = self._flows[channel], self._paths[channel], self._classes[channel]
        wanted, most = self._wanted, self._most
        mine = flow.rate * flow.speed * (1 + 1e-9)
        found, is_fast, fullest = -1, False, -1.0
        for link in path:
            if wanted[link] <= most[link]:
                continue
            use = on.get(link)
            if use is None:
                use = on[link] = self._use(link)
            fast, share = mine >= use.fastest[own], use.share
            if fast > is_fast or (fast == is_fast and share > fullest):
                found, is_fast, fullest = link, fast, share
        if found < 0:
            found = path[0]
            on[found] = self._use(found)
        return found

    def _use(self, link: int) -> _LinkUse:
        """Say what crosses a link now."""
        flows, job_of, classes = self._flows, self._job_of, self._classes
        fastest: dict[int, float] = {}
        jobs: dict[int, float] = {}
        total = 0.0
        for channel, weight in self._crossing[link].items():
            flow, job, own = flows[channel], job_of[channel], classes[channel]
            rate = flow.rate * flow.speed
            if rate > fastest.get(own, -1.0):
                fastest[own] = rate
            rate *= weight
            total += rate
            jobs[job] = jobs.get(job, 0.0) + rate
        return _LinkUse(total / self._capacities[link], fastest, jobs)
