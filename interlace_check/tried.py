"""Collectives of a graph, with the paths of compute between them, in whole units."""

from fractions import Fraction
from math import lcm

from interlace_check import Refuted
from interlace_check.beginnings import Collectives, EveryBeginning
from interlace_check.graph import Work, order_of


def may_end(work: Work, names: list[str], goal: Fraction) -> bool:
    """Tell whether some collectives, where all others take nothing, may end before a time [us].

    Behind one that others come after is, in the end, each of those in a launch of its own.
    """
    order = order_of(work.before)
    these = [op for op in order if op in names]
    costs = [work.costs[op] for op in these]
    if sorted(these) != sorted(names) or any(len(cost.points) > 1 for cost in costs):
        raise Refuted("one is there twice, or the cost of a launch is no straight line")
    startups = [cost.time(0) for cost in costs]
    works = [cost.slope * work.bytes[op] for op, cost in zip(these, costs, strict=True)]
    unit = lcm(*(t.denominator for t in [goal, *startups, *works, *work.compute.values()]))
    compute = {op: int(work.compute.get(op, 0) * unit) for op in order}
    a, w = ([int(t * unit) for t in times] for times in (startups, works))
    heads = _starts(work, order, compute, these, None)
    starts = [_starts(work, order, compute, these, op) for op in these]
    after = [{j: start[op] for j, op in enumerate(these) if op in start} for start in starts]
    before = [{i: row[j] for i, row in enumerate(after) if j in row} for j in range(len(these))]
    tail = [max([0, *(t + compute[op] for op, t in start.items())]) for start in starts]
    for i in reversed(range(len(these))):
        tail[i] = max([tail[i], *(t + a[j] + w[j] + tail[j] for j, t in after[i].items())])
    lanes = [*dict.fromkeys(work.lanes.values())]
    channels = [*dict.fromkeys(lane[0] for lane in lanes)]
    lane = [lanes.index(work.lanes[op]) for op in these]
    channel = [channels.index(work.lanes[op][0]) for op in these]
    release = [heads[op] for op in these]
    known = Collectives(release, tail, a, w, channel, lane, after, before)
    return EveryBeginning(known, int(goal * unit)).some_end()


def _starts(
    work: Work, order: list[str], compute: dict[str, int], these: list[str], first: str | None
) -> dict[str, int]:
    """Longest path into ops, from the end of a collective or the beginning, by none of these."""
    start: dict[str, int] = {}
    for op in order:
        ways = [start[o] + compute[o] for o in work.before[op] if o in start and o not in these]
        if first is None or first in work.before[op]:
            ways.append(0)
        if ways:
            start[op] = max(ways)
    return start
