"""Jobs that share links, and the terms on which each runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from solver.codes import FaultCode
from solver.errors import Fault
from solver.jobs.profile import JobProfile


@dataclass(frozen=True, slots=True)
class MixedJob:
    """A job among others.

    Attributes
    ----------
    name
        Unlike all others'.
    profiles
        Its iteration under its own plan, and under others that it may be given.
    weight
        How much its slow-down counts.
    gpus
        How many it computes on.
    """

    name: str
    profiles: tuple[JobProfile, ...]
    weight: float = 1.0
    gpus: int = 1

    @property
    def alone_us(self) -> float:
        """Time of its iteration under its own plan, with the links to itself [us]."""
        return self.profiles[0].alone_us


@dataclass(frozen=True, slots=True)
class Mix:
    """Jobs and the links that they share.

    Attributes
    ----------
    links
        Name and capacity [Gbit/s] of each.
    jobs
        The jobs, which begin again as soon as they have ended.
    """

    links: tuple[tuple[str, float], ...]
    jobs: tuple[MixedJob, ...]


@dataclass(frozen=True, slots=True)
class JobTerms:
    """How a job runs beside others.

    Attributes
    ----------
    offset_us
        When its first iteration begins [us].
    priority
        Its class on all links: higher ones are served first.
    period_us
        No iteration k begins before the offset and k periods [us]; None for as soon as it can.
    profile
        Which of its profiles it runs.
    """

    offset_us: float = 0.0
    priority: int = 0
    period_us: float | None = None
    profile: int = 0

    def cycle_us(self, alone_us: float) -> float:
        """Return the time from one beginning to the next of a job alone that takes so long [us]."""
        return max(alone_us, self.period_us or 0.0)


#: Terms of a job that knows nothing of others: at once, and again as soon as it has ended.
AT_ONCE: Final = JobTerms()


def fair_terms(mix: Mix) -> tuple[JobTerms, ...]:
    """Return the terms of jobs that know nothing of one another."""
    return (AT_ONCE,) * len(mix.jobs)


def faults_of_mix(mix: Mix) -> Iterator[Fault]:
    """Yield what is wrong with a mix; pointers begin with ``/links`` or ``/jobs``.

    O(jobs x transfers x links of each).
    """
    capacity = dict(mix.links)
    for name, gbps in mix.links:
        if not (isfinite(gbps) and gbps > 0):
            detail = f"Link {name!r}: its capacity must be above 0 Gbit/s, got {gbps!r}."
            yield Fault(f"/links/{name}", FaultCode.OUT_OF_RANGE, detail)
    seen: set[str] = set()
    for i, job in enumerate(mix.jobs):
        if job.name in seen:
            detail = f"Job {job.name!r} is there twice; names must differ."
            yield Fault(f"/jobs/{i}/name", FaultCode.DUPLICATE_ID, detail)
        seen.add(job.name)
        if not (isfinite(job.weight) and job.weight > 0):
            detail = f"Job {job.name!r}: its weight must be above 0, got {job.weight!r}."
            yield Fault(f"/jobs/{i}/weight", FaultCode.OUT_OF_RANGE, detail)
        if not all(profile.alone_us > 0 for profile in job.profiles):
            detail = f"Job {job.name!r}: an iteration must take some time."
            yield Fault(f"/jobs/{i}", FaultCode.OUT_OF_RANGE, detail)
        used = dict.fromkeys(name for profile in job.profiles for name in profile.bytes_on())
        for name in used:
            if name not in capacity:
                detail = f"Job {job.name!r} crosses link {name!r}, which is not among the links."
                yield Fault(f"/jobs/{i}", FaultCode.UNKNOWN_LINK, detail)


def objective(slowdowns: Sequence[float], weights: Sequence[float], *, worst: bool) -> float:
    """Return the weighted mean of slow-downs, or the worst of them."""
    if worst:
        return max(slowdowns)
    total = sum(weights)
    return sum(s * w for s, w in zip(slowdowns, weights, strict=True)) / total
