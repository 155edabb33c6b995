"""Links as many jobs share them: who has what of them, and who takes it from whom."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
        "_blamed_at",
        "_carried",
        "_fastest",
        "_full_paths",
        "_is_blamed",
        "_is_traced",
        "_job_of",
        "_jobs",
        "_levels",
        "_lost",
        "_most_on",
        "_of_job",
        "_rank",
        "_row_of",
        "_rows",
        "_share_on",
        "_used_at",
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
        channels, links = len(job_of) + 1, len(capacities) + 1
        self._is_blamed, self._is_traced = is_blamed, is_traced
        self._full_paths = full_paths
        self._carried: list[CarriedPiece] = []
        self._job_of = array("i", [*job_of, 0])
        self._jobs = max(job_of, default=0) + 1
        self._of_job = array("i", [0]) * self._jobs  # transfers under way
        self._alone = array("d", [1.0]) * channels  # speed of a transfer by itself
        self._blamed_at = array("d", [0.0]) * channels  # until when it is in the books
        self._wanted = array("d", [0.0]) * links  # by what is under way, each by itself
        self._most_on = array("d", [*(each * (1 + 1e-9) for each in capacities), 0.0])
        # what crosses a link now: share of its capacity, and each class's fastest flow
        levels = {each: rank for rank, each in enumerate(sorted(set(classes)))}
        self._levels = max(1, len(levels))
        self._rank = array("i", [*(levels[each] for each in classes), 0])
        self._used_at, self._share_on = array("i", [0]) * links, array("d", [0.0]) * links
        self._fastest = array("d", [0.0]) * (links * self._levels)
        # time lost, by job and link, and then by other job
        self._rows: dict[tuple[int, int], int] = {}
        self._row_of = array("i", [0]) * len(self._path)
        if is_blamed:
            for channel, path in enumerate(paths):
                for k, link in enumerate(path):
                    row = self._rows.setdefault((job_of[channel], link), len(self._rows))
                    self._row_of[self._at[channel] + k] = row
        self._lost = array("d", [0.0]) * (len(self._rows) * self._jobs + 1)

    @property
    def lost(self) -> dict[tuple[int, int, int], float]:
        """Time that a job lost to another one on a link [us]: by job, other, link."""
        pairs = list(self._rows)
        lost = np.frombuffer(self._lost)
        found = {}
        for place in np.flatnonzero(lost).tolist():
            row, other = divmod(place, self._jobs)
            job, link = pairs[row]
            found[job, other, link] = float(lost[place])
        return found

    @property
    def carried(self) -> list[CarriedPiece]:
        """What crossed links, piece by piece; empty where it is not traced."""
        return self._carried

    def begin(
        self, channel: int, rest: float, rate: float, most: float, span: Sequence[float]
    ) -> None:
        """Begin a transfer, and count it among its job's."""
        self._of_job[self._job_of[channel]] += 1
        alone = 1.0
        for p in range(self._at[channel], self._at[channel + 1]):
            speed = self._capacities[self._path[p]] / self._weight[p] / rate
            alone = min(alone, speed)
        self._alone[channel], self._blamed_at[channel] = alone, span[0]
        self._want(channel, rate * alone)
        FairFlows.begin(self, channel, rest, rate, most, span)

    def pop(self) -> int:
        """End what ends next, with what it had in the books."""
        channel = FairFlows.pop(self)
        self._want(channel, -self.rate[channel] * self._alone[channel])
        self._of_job[self._job_of[channel]] -= 1
        return channel

    def settle(self, now: float) -> None:
        """Book everything until now."""
        self._found_count = self._active_count
        for k in range(self._active_count):
            self._found[k] = self._active[k]
        self._look(now)

    def left(self, channel: int, now: float) -> float:
        """Return what a transfer still takes alone [us]."""
        left = self._left_of[channel] - (now - self._since[channel]) * self.speed[channel]
        return max(0.0, left)

    def _joins(self, link: int) -> bool:
        """Tell whether a link may be full: with room for all by themselves it joins nobody."""
        return self._wanted[link] > self._most_on[link]

    def _look(self, now: float) -> None:
        """Book what was until now before the speeds change."""
        if not (self._is_blamed or self._is_traced):
            return
        self._stamp += 1
        for i in range(self._found_count):
            channel = self._found[i]
            time, speed = now - self._blamed_at[channel], self.speed[channel]
            if time <= 0:
                continue
            if self._is_traced and speed > 0:
                self._trace(channel, now)
            if self._is_blamed and speed < 1.0:
                best = self._best(channel)
                if speed < best * (1 - _SAME):
                    self._blame(channel, (1 - speed / best) * time)
            self._blamed_at[channel] = now

    def _trace(self, channel: int, now: float) -> None:
        began, speed = self._blamed_at[channel], self.speed[channel]
        job, rate = self._job_of[channel], self.rate[channel] * speed
        share = speed / self._alone[channel]
        self._carried += [
            CarriedPiece(link, job, began, now, rate * weight, share)
            for link, weight in self._full_paths[channel]
        ]

    def _blame(self, channel: int, time: float) -> None:
        """Share out time that a transfer lost among the jobs that cross its bottleneck [us]."""
        job, p = self._job_of[channel], self._bottleneck(channel)
        link, row = self._path[p], self._row_of[p] * self._jobs
        first, total = self._on_at[link], 0.0
        for k in range(first, first + self._on_count[link]):
            other = self._on[k]
            if self._job_of[other] != job:
                total += self.rate[other] * self.speed[other] * self._on_weight[k]
        if total <= 0:
            return
        for k in range(first, first + self._on_count[link]):
            other = self._on[k]
            if self._job_of[other] != job:
                rate = self.rate[other] * self.speed[other] * self._on_weight[k]
                self._lost[row + self._job_of[other]] += time * rate / total

    def _want(self, channel: int, more: float) -> None:
        for p in range(self._at[channel], self._at[channel + 1]):
            self._wanted[self._path[p]] += more * self._weight[p]

    def _best(self, channel: int) -> float:
        """Return its speed if links carried nothing of other jobs."""
        rate, job = self.rate[channel], self._job_of[channel]
        if self._of_job[job] == 1:
            return self._alone[channel]
        best = 1.0
        for p in range(self._at[channel], self._at[channel + 1]):
            link, own = self._path[p], 0.0
            first = self._on_at[link]
            for k in range(first, first + self._on_count[link]):
                if self._job_of[self._on[k]] == job:
                    own += self._on_weight[k]
            best = min(best, self._capacities[link] / (own * rate))
        return best

    def _bottleneck(self, channel: int) -> int:
        """Return where on its path the full link is that slows it down: with most of what is full.

        A link that has room for all that its transfers could have by themselves is never full.
        """
        mine = self.rate[channel] * self.speed[channel] * (1 + 1e-9)
        found, is_fast, fullest = -1, False, -1.0
        for p in range(self._at[channel], self._at[channel + 1]):
            link = self._path[p]
            if self._wanted[link] <= self._most_on[link]:
                continue
            if self._used_at[link] != self._stamp:
                self._use(link)
            fast = mine >= self._fastest[link * self._levels + self._rank[channel]]
            share = self._share_on[link]
            if (fast and not is_fast) or (fast == is_fast and share > fullest):
                found, is_fast, fullest = p, fast, share
        return found if found >= 0 else self._at[channel]

    def _use(self, link: int) -> None:
        """Look at what crosses a link now."""
        self._used_at[link] = self._stamp
        base, first, total = link * self._levels, self._on_at[link], 0.0
        for level in range(self._levels):
            self._fastest[base + level] = -1.0
        for k in range(first, first + self._on_count[link]):
            channel = self._on[k]
            rate = self.rate[channel] * self.speed[channel]
            place = base + self._rank[channel]
            self._fastest[place] = max(self._fastest[place], rate)
            total += rate * self._on_weight[k]
        self._share_on[link] = total / self._capacities[link]
