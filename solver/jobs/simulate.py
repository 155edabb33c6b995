"""Jobs that iterate beside one another: the simulation of a mix.

Each job's times are kept as how late they are against its iteration alone, so that what nobody
slows down takes the time that it takes alone, to the last bit. Events are (time, number, what
happens): an iteration begins, a transfer begins, a start-up is over, a transfer without links ends.
What ends on links ends first at its time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain
from typing import NamedTuple

from solver.jobs.lateness import JobUnderWay
from solver.jobs.mix import JobTerms, Mix
from solver.jobs.profile import BEGINNING
from solver.jobs.shared_links import CarriedPiece, SharedLinks, links_that_fill
from solver.units import bytes_per_us

#: States this near, relative to the shortest iteration, are the same.
_SAME_STATE = 1e-7
#: Iterations in which no job's first transfers are counted, where no pattern repeats: one of four.
_WARM = 4
#: A run ends at the latest after so many times its iterations of the longest job alone.
_PATIENCE = 20


@dataclass(frozen=True, slots=True)
class MixRun:
    """Jobs as they ran beside one another.

    Attributes
    ----------
    times
        Of each job the times of the iterations that count [us]: those of the repeated pattern, or
        those of the run but its first quarter.
    begins
        When each of these began [us].
    pattern_us
        Time after which everything repeats; None when nothing did within the run.
    window
        From when to when the iterations that count run [us].
    lost
        (job, other job, link) and how much later its transfers were by the other's on the link,
        in the window [us]; empty where it was not asked for.
    carried
        What crossed links in the window, piece by piece; empty where it was not asked for.
    events
        How many events the run had.
    is_cut
        Whether the run ended before a pattern or all iterations: jobs of lower classes may never
        be served. Of a job that ended none, the time is that of its last until then, at least.
    """

    times: tuple[tuple[float, ...], ...]
    begins: tuple[tuple[float, ...], ...]
    pattern_us: float | None
    window: tuple[float, float]
    lost: tuple[tuple[tuple[int, int, int], float], ...]
    carried: tuple[CarriedPiece, ...]
    events: int
    is_cut: bool

    @property
    def means(self) -> tuple[float, ...]:
        """Mean time of an iteration of each job [us]."""
        return tuple(_mean(times) for times in self.times)


def slowdowns_of(mix: Mix, run: MixRun) -> tuple[float, ...]:
    """Return how many times as long each job takes as under its own plan alone."""
    return tuple(mean / job.alone_us for mean, job in zip(run.means, mix.jobs, strict=True))


def simulate_mix(
    mix: Mix,
    terms: Sequence[JobTerms],
    iterations: int = 20,
    most_events: int = 1_000_000,
    *,
    is_traced: bool = False,
    is_blamed: bool = True,
) -> MixRun:
    """Run jobs until their pattern repeats, or each has run so many iterations.

    Transfers on links are max-min fair in each class, higher classes first, and no faster than
    alone. The pattern repeats when a job begins an iteration with all others as they were at an
    earlier one, within 1e-7 of the shortest iteration.

    Parameters
    ----------
    mix, terms
        The jobs, and how each runs.
    iterations
        Of each job at least, if nothing repeats before.
    most_events
        The run ends there at the latest, or after 20 times the iterations of the longest job.
    is_traced
        Whether to keep what crosses links over time.
    is_blamed
        Whether to keep who slows whom, about half of the effort.

    Notes
    -----
    O(events x (transfers under way x links)).
    """
    keeps = _Keeps(is_traced=is_traced, is_blamed=is_blamed)
    return _Run(mix, terms, iterations, most_events, keeps).run()


def _mean(times: Sequence[float]) -> float:
    if all(time == times[0] for time in times):
        return times[0]
    return sum(times) / len(times)


class _Keeps(NamedTuple):
    """What a run keeps besides times."""

    is_traced: bool
    is_blamed: bool


class _Run:
    """A run of a mix in progress."""

    def __init__(
        self,
        mix: Mix,
        terms: Sequence[JobTerms],
        iterations: int,
        most_events: int,
        keeps: "_Keeps",
    ) -> None:
        self._jobs: list[JobUnderWay] = []
        self._owner: list[int] = []  # job of each transfer
        paths: list[tuple[int, ...]] = []
        classes: list[int] = []
        weights: list[tuple[float, ...]] = []
        number = {name: i for i, (name, _) in enumerate(mix.links)}
        for j, (job, own) in enumerate(zip(mix.jobs, terms, strict=True)):
            profile = job.profiles[own.profile]
            self._jobs.append(JobUnderWay(profile, own, len(paths)))
            for transfer in profile.transfers:
                flows_on = transfer.flows_on
                paths.append(tuple(number[name] for name in flows_on))
                weights.append(tuple(flows_on.values()))
                classes.append(own.priority)
                self._owner.append(j)
        capacities = [bytes_per_us(gbps) for _, gbps in mix.links]
        shared = links_that_fill([job.profile for job in self._jobs], mix)
        few = [
            [(link, flows) for link, flows in zip(path, own, strict=True) if link in shared]
            for path, own in zip(paths, weights, strict=True)
        ]
        self._links = SharedLinks(
            [tuple(link for link, _ in path) for path in few],
            capacities,
            classes,
            [tuple(flows for _, flows in path) for path in few],
            self._owner,
            [tuple(zip(*each, strict=True)) for each in zip(paths, weights, strict=True)],
            **keeps._asdict(),
        )
        self._iterations, self._most = iterations, most_events
        self._heap: list[tuple[float, int, int, int]] = []  # time, number, kind, which
        self._numbers = 0
        self._seen: dict[tuple[float, ...], tuple[float, list[int]]] = {}
        self._grain = _SAME_STATE * min(job.profile.alone_us for job in self._jobs)
        # whose beginnings are looked at: the job of the longest iteration
        self._looked = max(range(len(mix.jobs)), key=lambda j: self._jobs[j].profile.alone_us)
        self._found: tuple[float, float, list[int]] | None = None
        self._lost_at: dict[float, dict[tuple[int, int, int], float]] = {}
        self._short = len(self._jobs)  # jobs that have not run all iterations
        self._events = 0
        self._is_cut = False
        longest = self._jobs[self._looked].profile.alone_us
        self._latest = _PATIENCE * iterations * (longest + max(own.offset_us for own in terms))

    def run(self) -> MixRun:
        """Handle events until the pattern repeats or all have run enough."""
        for j, job in enumerate(self._jobs):
            self._push(job.terms.offset_us, _BEGINS, j)
        heap, links = self._heap, self._links
        now = 0.0
        while self._short and self._found is None:
            self._is_cut = self._events >= self._most or now > self._latest
            if self._is_cut:
                break
            self._events += 1
            if not heap or links.next_end <= heap[0][0]:
                now = links.next_end
                self._end(links.pop(), now)
                continue
            now, _, kind, which = heappop(heap)
            if kind == _BEGINS:
                self._begin(which, now)
            elif kind == _STARTS:
                self._start(which, now)
            elif kind == _SENDS:
                self._send(which, now)
            elif kind == _ENDS:
                self._end(which, now)
            else:
                self._finish(which, now)
        return self._result(now)

    def _push(self, at: float, kind: int, which: int) -> None:
        self._numbers += 1
        heappush(self._heap, (at, self._numbers, kind, which))

    def _begin(self, j: int, now: float) -> None:
        job = self._jobs[j]
        if j == self._looked and not self._watch(now):
            return
        job.base = now
        job.begins.append(now)
        transfers = job.profile.transfers
        job.late = [None] * len(transfers)
        job.done = 0
        job.waiting = [
            sum(each != BEGINNING for each, _ in transfer.after) for transfer in transfers
        ]
        for number, missing in enumerate(job.waiting):
            if not missing:
                self._push(now + transfers[number].start, _STARTS, job.first + number)
        if not transfers:
            self._push(now + job.profile.alone_us, _FINISHES, j)

    def _start(self, which: int, now: float) -> None:
        job = self._jobs[self._owner[which]]
        transfer = job.profile.transfers[which - job.first]
        if transfer.links:
            self._push(now + transfer.startup, _SENDS, which)
        else:
            late = now - (job.base + transfer.start)
            late = 0.0 if abs(late) <= job.exact else late
            self._push(job.base + transfer.end + late, _ENDS, which)

    def _send(self, which: int, now: float) -> None:
        job = self._jobs[self._owner[which]]
        transfer = job.profile.transfers[which - job.first]
        self._links.begin(which, transfer.rest, transfer.rate, 1.0, (now, now + transfer.rest))

    def _end(self, which: int, now: float) -> None:
        j = self._owner[which]
        job = self._jobs[j]
        number = which - job.first
        transfer = job.profile.transfers[number]
        late = now - (job.base + transfer.end)
        job.late[number] = 0.0 if abs(late) <= job.exact + _ULPS * now else late
        job.done += 1
        for succ in job.succs[number]:
            job.waiting[succ] -= 1
            if not job.waiting[succ]:
                at = job.base + job.profile.transfers[succ].start + job.start_late(succ)
                self._push(max(now, at), _STARTS, job.first + succ)
        if job.done == len(job.late):
            time = job.profile.alone_us + job.end_late()
            self._push(max(now, job.base + time), _FINISHES, j)

    def _finish(self, j: int, now: float) -> None:
        """End an iteration; the next begins now, or when its period says."""
        job = self._jobs[j]
        job.count += 1
        self._short -= job.count == self._iterations
        terms = job.terms
        again = now
        if terms.period_us is not None:
            again = max(now, terms.offset_us + job.count * terms.period_us)
            job.times.append(again - job.base if again > now else self._time(job))
        else:
            job.times.append(self._time(job))
        self._push(again, _BEGINS, j)

    def _time(self, job: JobUnderWay) -> float:
        return job.profile.alone_us + job.end_late()

    def _watch(self, now: float) -> bool:
        """Look whether all is as it was before; tell whether to go on."""
        if any(not job.begins for j, job in enumerate(self._jobs) if j != self._looked):
            return True
        state = tuple(round(each / self._grain) for each in self._state(now))
        counts = [len(job.times) for job in self._jobs]
        before = self._seen.get(state)
        if before is not None and all(
            count > then for count, then in zip(counts, before[1], strict=True)
        ):
            self._found = before[0], now, before[1]
            return False
        self._links.settle(now)
        self._lost_at[now] = dict(self._links.lost)
        if before is None:
            self._seen[state] = now, counts
        return True

    def _state(self, now: float) -> list[float]:
        """Return what is to come, as times from now [us]."""
        state: list[float] = []
        flying = self._links
        for j, job in enumerate(self._jobs):
            if j == self._looked:
                continue
            state.append(now - job.base)
            state += [
                late
                if late is not None
                else -1.0 - flying.left(job.first + i, now)
                if flying.is_under_way(job.first + i)
                else -0.5
                for i, late in enumerate(job.late)
            ]
            if job.terms.period_us is not None:
                state.append(job.terms.offset_us + job.count * job.terms.period_us - now)
        state += chain.from_iterable(
            (at - now, float(10 * kind + 1) * self._grain, float(which) * self._grain)
            for at, _, kind, which in sorted(self._heap, key=lambda each: (each[0], each[2:]))
        )
        first = self._jobs[self._looked].terms
        if first.period_us is not None:
            state.append(first.offset_us + self._jobs[self._looked].count * first.period_us - now)
        return state

    def _result(self, now: float) -> MixRun:
        self._links.settle(now)
        jobs = self._jobs
        if self._found is not None:
            begin, end, counts = self._found
        else:
            counts = [len(job.times) // _WARM for job in jobs]
            begun = [(*job.begins, now) for job in jobs]
            begin = min(times[count] for times, count in zip(begun, counts, strict=True))
            end = now
        counted = list(zip(jobs, counts, strict=True))
        before = self._lost_before(begin)
        lost = {key: us - before.get(key, 0.0) for key, us in sorted(self._links.lost.items())}
        carried = tuple(
            each._replace(begin=max(each.begin, begin), end=min(each.end, end))
            for each in self._links.carried
            if each.end > begin and each.begin < end
        )
        return MixRun(
            tuple(
                tuple(job.times[count:]) or (max(now - job.base, job.profile.alone_us),)
                for job, count in counted
            ),
            tuple(tuple(job.begins[count : len(job.times)]) for job, count in counted),
            None if self._found is None else end - begin,
            (begin, end),
            tuple((key, us) for key, us in lost.items() if us > self._grain),
            carried,
            self._events,
            self._is_cut,
        )

    def _lost_before(self, begin: float) -> dict[tuple[int, int, int], float]:
        """Return what was lost before the window: as of the last look at or before its begin."""
        at = [when for when in self._lost_at if when <= begin]
        return self._lost_at[max(at)] if at else {}


_BEGINS, _STARTS, _SENDS, _ENDS, _FINISHES = range(5)
#: Sums of times as large as now are off by so much of it.
_ULPS = 1e-14
