"""The same iteration with all as long as it took in a timeline, for another search."""

from collections.abc import Sequence
from dataclasses import replace

from solver.buckets import Launch
from solver.chain import Chain, chain_of
from solver.costs import Cost, Network
from solver.graph import COMPUTE, Graph
from solver.simulation.contention import contention_of, startup_of
from solver.simulation.engine import Timeline, costs_of


def as_it_ran(graph: Graph, timeline: Timeline) -> Graph:
    """Return a graph whose compute ops take the time that they took [us], whatever carries."""
    times = tuple(
        end - start if op.kind == COMPUTE else 0.0
        for op, start, end in zip(graph.ops, timeline.starts, timeline.ends, strict=True)
    )
    ops = tuple(
        op._replace(duration_us=time, slowdown=None) if op.kind == COMPUTE else op
        for op, time in zip(graph.ops, times, strict=True)
    )
    return replace(graph, ops=ops, durations=times)


def costs_as_they_were(graph: Graph, network: Network, timeline: Timeline) -> tuple[Cost, ...]:
    """Return the cost of each lane with bytes that take as long as they took on their channel.

    On a shared card or shared links they take so many times as long as alone in all launches of the
    channel together; start-ups take as long as alone.
    """
    chain = chain_of(graph)
    costs, shares = costs_of(chain, network), contention_of(graph, network).is_shared
    startups = [startup_of(cost) for cost in costs]
    took, alone = [0.0] * len(shares), [0.0] * len(shares)
    channel_of = chain.channel
    for launch in timeline.launches:
        tensor = launch.bucket[0]
        lane, channel = chain.lane[tensor], channel_of[tensor]
        startup = startups[lane].time(launch.bytes)
        took[channel] += launch.end - launch.start - startup
        alone[channel] += costs[lane].time(launch.bytes) - startup
    numbers = {name: channel for channel, name in enumerate(chain.channels)}
    of_lane = [numbers[lane.channel] for lane in chain.lanes]
    return tuple(
        cost
        if not shares[k] or not took[k] > alone[k] > 0
        else cost.stretch(1.0, took[k] / alone[k])
        for cost, k in zip(costs, of_lane, strict=True)
    )


def renumbered(launches: Sequence[Launch], chain: Chain, other: Chain) -> tuple[Launch, ...]:
    """Turn indices of one chain into those of another chain of the same collectives."""
    index = {position: i for i, position in enumerate(other.positions.tolist())}
    positions = chain.positions.tolist()
    return tuple(
        Launch(tuple(sorted(index[positions[i]] for i in bucket)), size)
        for bucket, size in launches
    )
