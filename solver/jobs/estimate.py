"""A fast estimate of slow-downs: shared bytes and duty cycles, nothing simulated."""

from collections.abc import Sequence

from solver.jobs.bounds import loads_of
from solver.jobs.mix import JobTerms, Mix, fair_terms
from solver.jobs.profile import JobProfile
from solver.units import bytes_per_us

#: Of 300 drawn mixes of two to six jobs on one link nine of ten slow-downs are within this of the
#: simulated ones, relative, the median is within a third of it; one was off by 72 %. How it is
#: found: ``python -m tests.benchmarks.jobs_sharing --estimate``.
ESTIMATE_ERROR = 0.15
#: What a job has of a link at least that higher classes fill: it is late for ever, but not endless.
_LEFT = 1e-3


def estimated_slowdowns(mix: Mix, terms: Sequence[JobTerms] | None = None) -> tuple[float, ...]:
    """Estimate how many times as long each job takes beside the others; no terms are fair sharing.

    Jobs are taken to be at any time of their iterations, independent of one another: while a
    transfer crosses a link, another job sends there for the share d of time that it sends alone,
    and takes what both want above the capacity, at most what its flows are of all flows of both
    there, half of it for one each. The bytes that are exposed
    alone, a share of all, are the later by what the slowest of their links takes. No job is faster
    than what the loads of its links leave: if they add up to more than 1, all stretch by it.

    Of terms classes and periods count, each job's own plan and no offset: a higher class takes what
    it sends, a lower one nothing, and a job that is held to a period sends as often as that says.

    Notes
    -----
    O(links x jobs^2 + transfers).
    """
    capacity = {name: bytes_per_us(gbps) for name, gbps in mix.links}
    profiles = [job.profiles[0] for job in mix.jobs]
    own_terms = terms or fair_terms(mix)
    cycles = [own.cycle_us(p.alone_us) for own, p in zip(own_terms, profiles, strict=True)]
    duty = [_sending(profile) for profile in profiles]
    loads = loads_of(mix, (0,) * len(mix.jobs))
    found = []
    for j, profile in enumerate(profiles):
        delay, full = 0.0, 1.0
        own = own_terms[j].priority
        for link, (time, rate, flows) in duty[j].items():
            more = 0.0
            for k, cycle in enumerate(cycles):
                if k == j or link not in duty[k] or own_terms[k].priority < own:
                    continue
                time_k, rate_k, flows_k = duty[k][link]
                share = min(1.0, time_k / cycle)
                if own_terms[k].priority > own:
                    kept = min(1.0, max(0.0, capacity[link] - rate_k) / rate)
                    more += 1 / max(_LEFT, 1 - share * (1 - kept)) - 1
                    continue
                fair = capacity[link] * flows / (flows + flows_k)
                speed = min(rate, max(fair, capacity[link] - rate_k))
                more += share * (rate / speed - 1)
            delay = max(delay, time * more)
            sums = sum(
                load * (profiles[k].alone_us / cycles[k])
                for k, load in enumerate(loads[link])
                if own_terms[k].priority >= own
            )
            full = max(full, sums)
        shown, waits = _exposed_share(profile), cycles[j] / profile.alone_us
        most = full * waits if shown > 0 else waits
        found.append(max(most, 1 + shown * delay / profile.alone_us))
    return tuple(found)


def _sending(profile: JobProfile) -> dict[str, tuple[float, float, float]]:
    """Return for how long a job sends on each link alone [us], how fast, and with how many flows.

    Rate [bytes/us] and flows are means over that time of an iteration.
    """
    times: dict[str, float] = {}
    flows_in: dict[str, float] = {}
    sent = profile.bytes_on()
    for transfer in profile.transfers:
        time = transfer.end - transfer.start - transfer.startup
        for link, flows in transfer.flows_on.items():
            times[link] = times.get(link, 0.0) + time
            flows_in[link] = flows_in.get(link, 0.0) + flows * time
    return {
        link: (time, sent[link] / time, flows_in[link] / time)
        for link, time in times.items()
        if time > 0
    }


def _exposed_share(profile: JobProfile) -> float:
    """Return the share of the time of transfers that nothing hides alone."""
    sending = sum(transfer.end - transfer.start for transfer in profile.transfers)
    if sending <= 0:
        return 0.0
    return min(1.0, max(0.0, profile.alone_us - hidden_by(profile)) / sending)


def hidden_by(profile: JobProfile) -> float:
    """Return the time of an iteration whose transfers take none [us]."""
    ready: list[float] = []
    end = profile.compute_us
    for transfer in profile.transfers:
        at = max((ready[k] if k >= 0 else 0.0) + way for k, way in transfer.after)
        ready.append(at)
        if transfer.tail is not None:
            end = max(end, at + transfer.tail)
    return end
