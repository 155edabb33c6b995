"""What parts would have taken without others on their links, from a plan's own times.

Shares no code with the simulator: all rates grow together until one reaches its own most or a link
is full.
"""

from collections.abc import Mapping
from itertools import pairwise
from math import inf

from solver.costs import ChannelCost, Crossing, Network, scale
from solver.planning.result import Plan
from solver.units import bytes_per_us


def times_without_others(network: Network, plan: Plan) -> dict[int, float]:
    """Return what parts on channels that cross links would have taken alone [us], by place.

    Between two moments at which a part begins or ends to send bytes the rates are those in which
    each part goes as fast as it can or crosses a link that is full and on which none of its class
    or a lower one is faster.
    """
    lanes = {bucket.id: ChannelCost(bucket.channel, bucket.kind) for bucket in plan.buckets}
    crossing = {each.channel: each for each in network.crossings}
    capacity = {name: bytes_per_us(gbps) for name, gbps in network.links}
    parts: dict[int, tuple[Crossing, float, float, float]] = {}
    for i, part in enumerate(plan.parts):
        lane = lanes[part.bucket]
        if lane.channel in crossing:
            startup = scale(network(lane), inf).time(part.bytes)
            rest = network(lane).time(part.bytes) - startup
            rate = part.bytes * network.passes(lane) / rest if rest > 0 else 0.0
            parts[i] = crossing[lane.channel], startup, rate, part.start_us + startup
    served = dict.fromkeys(parts, 0.0)
    moments = sorted({at for i, each in parts.items() for at in (each[3], plan.parts[i].end_us)})
    for begin, end in pairwise(moments):
        going = {
            i: each for i, each in parts.items() if each[3] <= begin and plan.parts[i].end_us >= end
        }
        for i, rate in _filled(going, capacity).items():
            served[i] += (end - begin) * rate / parts[i][2]
    return {i: parts[i][1] + time for i, time in served.items()}


def _filled(
    going: Mapping[int, tuple[Crossing, float, float, float]], capacity: Mapping[str, float]
) -> dict[int, float]:
    """Let all rates of a class grow together; each stops at its own most, or at a full link."""
    rates = {i: 0.0 for i, each in going.items() if each[2] > 0}
    for priority in sorted({going[i][0].priority for i in rates}, reverse=True):
        rising = {i for i in rates if going[i][0].priority == priority}
        while rising:
            room = {
                link: of - sum(rates[i] for i in rates if link in going[i][0].path)
                for link, of in capacity.items()
            }
            steps = [going[i][2] - rates[i] for i in rising]
            for link, left in room.items():
                count = sum(link in going[i][0].path for i in rising)
                steps += [left / count] if count else []
            step = max(0.0, min(steps))
            for i in rising:
                rates[i] += step
            full = {
                link
                for link, of in capacity.items()
                if of - sum(rates[i] for i in rates if link in going[i][0].path) <= 1e-9 * of
            }
            rising -= {
                i
                for i in rising
                if rates[i] >= going[i][2] * (1 - 1e-9) or full & set(going[i][0].path)
            }
    return rates
