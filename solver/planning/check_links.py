"""What parts would have taken without others on their links, or compute, from a plan's own times.

Shares no code with the simulator: all rates grow together until one reaches its own most or a link
is full.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import inf
from typing import NamedTuple

from solver.costs import ChannelCost, Crossing, Network, scale
from solver.graph import COMPUTE, Graph, Op
from solver.planning.result import Plan
from solver.units import bytes_per_us


class _Sending(NamedTuple):
    """A part that crosses links: start-up [us], rate alone [bytes/us], when its bytes go [us]."""

    crossing: Crossing
    startup: float
    rate: float
    begin: float
    end: float
    slowed: float  # beside compute
    beside: tuple[tuple[float, float], ...]  # when its ranks compute [us]


def times_without_others(network: Network, plan: Plan) -> dict[int, float]:
    """Return what parts whose time depends on others would have taken alone [us], by place.

    Between two moments at which a part begins or ends to send bytes, or a rank to compute, the
    rates are those in which each part goes as fast as it can or crosses a link that is full and on
    which none of its class or a lower one is faster.
    """
    parts = dict(_sending(network, plan))
    capacity = {name: bytes_per_us(gbps) for name, gbps in network.links}
    served = dict.fromkeys(parts, 0.0)
    moments = {at for each in parts.values() for at in (each.begin, each.end)}
    moments |= {at for each in parts.values() for span in each.beside for at in span}
    for begin, end in pairwise(sorted(moments)):
        most = {
            i: each.rate / (each.slowed if _covers(each.beside, begin, end) else 1.0)
            for i, each in parts.items()
            if each.begin <= begin and each.end >= end and each.rate > 0
        }
        crossings = {i: parts[i].crossing for i in most}
        for i, rate in _filled(crossings, most, capacity).items():
            served[i] += (end - begin) * rate / parts[i].rate
    return {i: each.startup + served[i] for i, each in parts.items()}


def _sending(network: Network, plan: Plan) -> Iterator[tuple[int, _Sending]]:
    """Yield the parts on channels that cross links or are slowed down, by place."""
    lanes = {bucket.id: ChannelCost(bucket.channel, bucket.kind) for bucket in plan.buckets}
    crossing = {each.channel: each for each in network.crossings}
    slowed = dict(network.launch_slowdowns)
    beside = {channel: tuple(_computing(plan, channel)) for channel in slowed}
    for i, part in enumerate(plan.parts):
        lane = lanes[part.bucket]
        if lane.channel in crossing or lane.channel in slowed:
            startup = scale(network(lane), inf).time(part.bytes)
            rest = network(lane).time(part.bytes) - startup
            yield (
                i,
                _Sending(
                    crossing.get(lane.channel, Crossing(lane.channel, ())),
                    startup,
                    part.bytes * network.passes(lane) / rest if rest > 0 else 0.0,
                    part.start_us + startup,
                    part.end_us,
                    slowed.get(lane.channel, 1.0),
                    beside.get(lane.channel, ()),
                ),
            )


def _computing(plan: Plan, channel: str) -> Iterator[tuple[float, float]]:
    """Yield when the ranks of a channel compute: those with compute next to what it carries."""
    graph = plan.graph
    ranks = {
        _rank(graph.ops[other])
        for i in graph.collectives
        if graph.ops[i].channel == channel
        for other in _neighbours(graph, i)
        if graph.ops[other].kind == COMPUTE
    }
    for op, start, end in zip(graph.ops, plan.timeline.starts, plan.timeline.ends, strict=True):
        if op.kind == COMPUTE and end > start and _rank(op) in ranks:
            yield start, end


def _neighbours(graph: Graph, position: int) -> tuple[int, ...]:
    return (*graph.preds[position], *graph.succs[position])


def _rank(op: Op) -> str:
    return op.stream.split("/")[0] if op.stream and "/" in op.stream else ""


def _covers(spans: Iterable[tuple[float, float]], begin: float, end: float) -> bool:
    return any(start <= begin and end <= stop for start, stop in spans)


def _filled(
    crossings: Mapping[int, Crossing], most: Mapping[int, float], capacity: Mapping[str, float]
) -> dict[int, float]:
    """Let all rates of a class grow together; each stops at its own most, or at a full link."""
    rates = dict.fromkeys(most, 0.0)
    for priority in sorted({crossings[i].priority for i in rates}, reverse=True):
        rising = {i for i in rates if crossings[i].priority == priority}
        while rising:
            room = {
                link: of - sum(rates[i] for i in rates if link in crossings[i].path)
                for link, of in capacity.items()
            }
            steps = [most[i] - rates[i] for i in rising]
            for link, left in room.items():
                count = sum(link in crossings[i].path for i in rising)
                steps += [left / count] if count else []
            step = max(0.0, min(steps))
            for i in rising:
                rates[i] += step
            full = {
                link
                for link, of in capacity.items()
                if of - sum(rates[i] for i in rates if link in crossings[i].path) <= 1e-9 * of
            }
            rising = {
                i
                for i in rising
                if rates[i] < most[i] * (1 - 1e-9) and not full & set(crossings[i].path)
            }
    return rates
