"""Jobs on shared links as a fluid in exact fractions; shares no code with the library.

Time goes from one change to the next. Every job is a list of phases: compute, then bytes over
links, and begins again when the last is done, or when its period says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class PlainPhase:
    """Compute [us], bytes, the links that they cross, and the most of each [bytes/us]."""

    compute: Fraction
    bytes: Fraction = Fraction(0)
    links: tuple[str, ...] = ()
    most: Fraction | None = None


@dataclass
class PlainJob:
    """A job, its terms, and where it is."""

    phases: Sequence[PlainPhase]
    offset: Fraction = Fraction(0)
    priority: int = 0
    period: Fraction | None = None
    times: list[Fraction] = field(default_factory=list)
    begun: Fraction | None = None
    phase: int = 0
    wait: Fraction = Fraction(0)  # until it computes
    compute: Fraction = Fraction(0)  # left
    bytes: Fraction = Fraction(0)  # left

    def enter(self, phase: int) -> None:
        self.phase = phase
        self.compute, self.bytes = self.phases[phase].compute, self.phases[phase].bytes


def run_plainly(
    jobs: Sequence[PlainJob], capacity: Mapping[str, Fraction], iterations: int
) -> list[list[Fraction]]:
    """Return the times of each job's first iterations, so many of each unless one is starved."""
    now = Fraction(0)
    for job in jobs:
        job.wait = job.offset
        job.enter(0)
    for _ in range(200 * iterations):
        if all(len(job.times) >= iterations for job in jobs):
            break
        for job in jobs:
            settle(job, now)
        sending = [job for job in jobs if not job.wait and not job.compute and job.bytes]
        rates = dict(zip(map(id, sending), rates_of(sending, capacity), strict=True))
        steps = [job.wait for job in jobs if job.wait]
        steps += [job.compute for job in jobs if not job.wait and job.compute]
        steps += [job.bytes / rates[id(job)] for job in sending if rates[id(job)]]
        step = min(steps)
        now += step
        for job in jobs:
            if job.wait:
                job.wait -= step
            elif job.compute:
                job.compute -= step
            else:
                job.bytes -= step * rates[id(job)]
    return [job.times for job in jobs]


def settle(job: PlainJob, now: Fraction) -> None:
    """Go on to what takes time."""
    while not job.wait and not job.compute and not job.bytes:
        if job.begun is None:
            job.begun = now
        if job.phase + 1 < len(job.phases):
            job.enter(job.phase + 1)
            continue
        again = now
        if job.period is not None:
            again = max(now, job.offset + (len(job.times) + 1) * job.period)
        job.times.append(again - job.begun)
        job.begun, job.wait = again, again - now
        job.enter(0)
    if not job.wait and job.begun is None:
        job.begun = now


def rates_of(sending: Sequence[PlainJob], capacity: Mapping[str, Fraction]) -> list[Fraction]:
    """Let rates grow together, class after class, each until it or one of its links is full."""
    rates = [Fraction(0)] * len(sending)
    for priority in sorted({job.priority for job in sending}, reverse=True):
        rising = [i for i, job in enumerate(sending) if job.priority == priority]
        while rising:
            steps = []
            for i in rising:
                most = sending[i].phases[sending[i].phase].most
                if most is not None:
                    steps.append(most - rates[i])
            for link, size in capacity.items():
                used = sum(rates[i] for i, job in enumerate(sending) if link in path(job))
                count = sum(link in path(sending[i]) for i in rising)
                steps += [(size - used) / count] if count else []
            step = min(steps)
            for i in rising:
                rates[i] += step
            full = {
                link
                for link, size in capacity.items()
                if sum(rates[i] for i, job in enumerate(sending) if link in path(job)) == size
            }
            rising = [
                i
                for i in rising
                if rates[i] != sending[i].phases[sending[i].phase].most
                and not full & set(path(sending[i]))
            ]
    return rates


def path(job: PlainJob) -> tuple[str, ...]:
    return job.phases[job.phase].links
