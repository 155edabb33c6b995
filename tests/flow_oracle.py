"""Jobs as single flows in both ways of links, filled together; shares no code with the library."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: A way of a link: its name, and whether it goes up.
Way = tuple[str, bool]


def way_between(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[Way, ...]:
    """Go from a node up to the first switch above both, and down; both are given with theirs."""
    meet = next(switch for switch in one if switch in two)
    up = [f"{a}>{b}" for a, b in pairwise(one)][: one.index(meet)]
    down = [f"{a}>{b}" for a, b in pairwise(two)][: two.index(meet)]
    return tuple((name, True) for name in up) + tuple((name, False) for name in reversed(down))


@dataclass
class FlowJob:
    """Compute [us], and then flows of so many bytes each, no faster than ``most`` [bytes/us]."""

    compute: float
    bytes: float
    most: float
    flows: Sequence[tuple[Way, ...]]
    times: list[float] = field(default_factory=list)
    begun: float = 0.0
    computing: float = 0.0
    sending: float = 0.0


def run_flows(jobs: Sequence[FlowJob], capacity: dict[str, float], iterations: int) -> None:
    """Run each job so many iterations at least; their times are kept with them."""
    now = 0.0
    for job in jobs:
        job.computing, job.sending = job.compute, job.bytes
    while any(len(job.times) < iterations for job in jobs):
        rates = filled([job for job in jobs if not job.computing], capacity)
        ends = [job.computing or job.sending / rates[id(job)] for job in jobs]
        step = min(ends)
        now += step
        for job, end in zip(jobs, ends, strict=True):
            is_over = end <= step * (1 + 1e-12)
            if job.computing:
                job.computing = 0.0 if is_over else job.computing - step
            elif not is_over:
                job.sending -= step * rates[id(job)]
            else:
                job.times.append(now - job.begun)
                job.begun, job.computing, job.sending = now, job.compute, job.bytes


def filled(jobs: Sequence[FlowJob], capacity: dict[str, float]) -> dict[int, float]:
    """Raise all flows together; what is full stops a flow, and with it all of its job's."""
    rates = dict.fromkeys(map(id, jobs), 0.0)
    rising = list(jobs)
    while rising:
        steps = {id(job): job.most - rates[id(job)] for job in rising}
        room = dict[Way, float]()
        for name, most in capacity.items():
            for way in ((name, True), (name, False)):
                used = sum(rates[id(job)] for job in jobs for flow in job.flows if way in flow)
                count = sum(way in flow for job in rising for flow in job.flows)
                if count:
                    room[way] = (most - used) / count
        step = min([*steps.values(), *room.values()])
        full = {way for way, left in room.items() if left <= step + 1e-9 * capacity[way[0]]}
        for job in rising:
            rates[id(job)] += step
        rising = [
            job
            for job in rising
            if steps[id(job)] > step + 1e-9 * job.most
            and not any(way in full for flow in job.flows for way in flow)
        ]
    return rates
