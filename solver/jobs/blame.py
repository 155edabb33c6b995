"""Who slows whom, by how much, on which link; and how links are used over time."""

from typing import NamedTuple

from solver.jobs.mix import JobTerms, Mix
from solver.jobs.simulate import MixRun
from solver.units import bytes_per_us


class Blame(NamedTuple):
    """What one job costs another one on a link.

    Attributes
    ----------
    job, by, link
        Whose iterations are longer, by whose transfers, where.
    delay_us
        Of each iteration in the mean [us]: all of a job's add up to what it takes longer.
    lost_us
        By how much its transfers take longer, hidden or not, in an iteration [us].
    """

    job: str
    by: str
    link: str
    delay_us: float
    lost_us: float


def blames_of(mix: Mix, terms: tuple[JobTerms, ...], run: MixRun) -> tuple[Blame, ...]:
    """Share out what each job takes longer, in proportion to what its transfers lost to others.

    Largest delays first. What a period holds a job back is nobody's doing, and neither is what it
    takes longer under another profile.
    """
    lost_in_all: dict[int, float] = {}
    for (job, _, _), us in run.lost:
        lost_in_all[job] = lost_in_all.get(job, 0.0) + us
    found = []
    for (job, by, link), us in run.lost:
        alone = mix.jobs[job].profiles[terms[job].profile].alone_us
        if (period := terms[job].period_us) is not None:
            alone = max(alone, period)
        later = max(0.0, run.means[job] - alone)
        share, count = us / lost_in_all[job], len(run.times[job])
        names = mix.jobs[job].name, mix.jobs[by].name, mix.links[link][0]
        found.append(Blame(*names, later * share, us / count))
    return tuple(sorted(found, key=lambda each: (-each.delay_us, -each.lost_us, each[:3])))


def use_of_links(mix: Mix, run: MixRun, bins: int) -> dict[str, tuple[float, ...]]:
    """Return the share of each link's capacity that is used, in equal bins of the window.

    O(pieces carried x bins that each is in).
    """
    begin, end = run.window
    width = (end - begin) / bins
    found = [[0.0] * bins for _ in mix.links]
    for each in run.carried:
        first = min(bins - 1, int((each.begin - begin) / width))
        last = min(bins - 1, int((each.end - begin) / width))
        row = found[each.link]
        for k in range(first, last + 1):
            left = max(each.begin, begin + k * width)
            right = min(each.end, begin + (k + 1) * width)
            row[k] += max(0.0, right - left) * each.rate
    return {
        name: tuple(min(1.0, sent / (width * bytes_per_us(gbps))) for sent in found[k])
        for k, (name, gbps) in enumerate(mix.links)
    }


def p95(times: tuple[float, ...]) -> float:
    """Return the time that 95 of 100 iterations do not exceed [us]: one of them, no mean."""
    order = sorted(times)
    return order[min(len(order) - 1, -(-95 * len(order) // 100) - 1)]
