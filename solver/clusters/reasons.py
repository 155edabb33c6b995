"""Why an allocation is where it is in the ranking, in a sentence."""

from math import inf

from solver.clusters.allocation import Allocations, RankedAllocation
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import Workload

#: Slow-downs below this are not told.
_TOLD = 0.001


def reason_of(wiring: Wiring, job: Workload, found: Allocations, ranked: RankedAllocation) -> str:
    """Say where the job is, what bounds its step, and whom it slows down."""
    where = _where(wiring, ranked)
    limits = [
        f"{group.name} at {gbps:,.4g} Gbit/s"
        for group, gbps in zip(job.groups, ranked.mapping.gbps, strict=True)
        if gbps < inf
    ]
    network = f", its {' and '.join(limits)} across nodes" if limits else ""
    over = ranked.mapping.time_us / found.lower_bound_us - 1
    against = "as fast as any can be alone" if over < _TOLD else f"{over:.1%} above the bound alone"
    return f"{where}{network}: {against}{_beside(ranked)}."


def _where(wiring: Wiring, ranked: RankedAllocation) -> str:
    nodes = [wiring.topology.nodes[i] for i in ranked.mapping.nodes]
    count = "1 node" if len(nodes) == 1 else f"{len(nodes):,} nodes"
    common = [s for s in nodes[0].above if all(s in node.above for node in nodes)]
    leaves = len({node.above[:1] for node in nodes})
    if len(nodes) == 1 or not common:
        return count
    if leaves == 1:
        return f"{count} below {common[0]}"
    return f"{count} of {leaves:,} switches below {common[0]}"


def _beside(ranked: RankedAllocation) -> str:
    new, others = ranked.jobs[0], ranked.jobs[1:]
    slowed = sorted(
        (job for job in others if job.slowdown > 1 + _TOLD and _is_shared(job.name, ranked)),
        key=lambda job: (-job.slowdown, job.name),
    )
    said = ""
    own = new.time_us / new.alone_us - 1
    if own > _TOLD:
        said += f", {own:.1%} longer beside the jobs that run"
    if slowed:
        worst = slowed[0]
        links = [link for link, names in ranked.shared if worst.name in names]
        said += (
            f"; beside it {worst.name} takes {worst.slowdown - 1:.1%} longer than alone, on "
            f"{links[0]}"
        )
        more = len(slowed) - 1
        said += "" if not more else f", and {more} more {'job' if more == 1 else 'jobs'}"
    elif others and not ranked.shared:
        said += "; shares no link with a job that runs"
    return said


def _is_shared(name: str, ranked: RankedAllocation) -> bool:
    return any(name in names for _, names in ranked.shared)
