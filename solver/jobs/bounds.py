"""What no plan of a mix can be faster than, and about how long it takes if nobody plans."""

from collections.abc import Sequence
from math import sqrt

from solver.jobs.mix import Mix
from solver.units import bytes_per_us


def loads_of(mix: Mix, profiles: Sequence[int] | None = None) -> dict[str, tuple[float, ...]]:
    """Return the share of each link's time that each job needs at its pace alone.

    ``profiles`` says which profile each job runs; None for the least bytes of any of them.
    """
    found: dict[str, tuple[float, ...]] = {}
    for name, gbps in mix.links:
        row = []
        for j, job in enumerate(mix.jobs):
            some = job.profiles if profiles is None else (job.profiles[profiles[j]],)
            sent = min(profile.bytes_on().get(name, 0.0) for profile in some)
            row.append(sent / bytes_per_us(gbps) / job.alone_us)
        found[name] = tuple(row)
    return found


def worst_bound(mix: Mix) -> float:
    r"""Return what the worst slow-down is at least, in the long run.

    A link carries what its jobs send: :math:`\sum_j b_j / s_j \le 1` with b_j the share of its time
    that job j needs alone, and s_j its slow-down. If all s_j are at most s, then
    :math:`s \ge \sum_j b_j`. Nor is a job faster than its fastest profile alone.
    """
    floors = _floors(mix)
    return max([*floors, *(sum(row) for row in loads_of(mix).values())])


def mean_bound(mix: Mix) -> float:
    r"""Return what the weighted mean of slow-downs is at least, in the long run.

    Of each link: minimise :math:`\sum w_j s_j` under :math:`\sum b_j / s_j \le 1` and s_j at least
    its floor. It is convex, and where the link is full :math:`s_j = \max(f_j, \sqrt{m b_j / w_j})`
    for the m with which the sum is 1; what stands at its floor is found one job after another.

    Notes
    -----
    O(links x jobs^2).
    """
    floors = _floors(mix)
    weights = [job.weight for job in mix.jobs]
    total = sum(weights)
    best = sum(w * f for w, f in zip(weights, floors, strict=True)) / total
    for row in loads_of(mix).values():
        best = max(best, _least_of_link(row, weights, floors) / total)
    return best


def _least_of_link(
    loads: Sequence[float], weights: Sequence[float], floors: Sequence[float]
) -> float:
    free = [j for j, load in enumerate(loads) if load > 0]
    slow = list(floors)
    if sum(loads[j] / floors[j] for j in free) <= 1:
        return sum(w * s for w, s in zip(weights, slow, strict=True))
    while free:
        room = 1 - sum(loads[j] / floors[j] for j in range(len(loads)) if j not in free)
        root = sum(sqrt(loads[j] * weights[j]) for j in free) / room
        # above their floors: loads^1/2 weights^-1/2 x root
        fixed = [j for j in free if sqrt(loads[j] / weights[j]) * root < floors[j]]
        if not fixed:
            for j in free:
                slow[j] = sqrt(loads[j] / weights[j]) * root
            break
        free = [j for j in free if j not in fixed]
    return sum(w * s for w, s in zip(weights, slow, strict=True))


def _floors(mix: Mix) -> list[float]:
    return [min(p.alone_us for p in job.profiles) / job.alone_us for job in mix.jobs]
