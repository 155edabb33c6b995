"""A graph under a policy as the transfers of a job: its launches, and the compute between."""

from heapq import heappop, heappush
from math import inf

from solver.chain import chain_of
from solver.costs import Network
from solver.graph import COMPUTE, Graph
from solver.jobs.profile import BEGINNING, JobProfile, Transfer
from solver.simulation.contention import startup_of
from solver.simulation.engine import Policy, Timeline, costs_of, simulate


def profile_of_graph(graph: Graph, network: Network, policy: Policy) -> JobProfile:
    """Run an iteration alone, and keep what matters to jobs beside it.

    Launches keep their order on each channel and wait for what they come after, by the longest
    compute between; so an iteration with later launches ends when the replayed plan would. What is
    taken as it was alone: how far compute is slowed down by launches, launches by compute or by
    others of their card, and a wait of the policy that no earlier launch explains.

    Parameters
    ----------
    graph, network
        The iteration, and its costs with the links that its channels cross.
    policy
        What launches.

    Raises
    ------
    Deadlock
        As :func:`solver.simulation.engine.simulate` does.

    Notes
    -----
    O(launches x (ops + edges) log(ops)) at most: of each launch what comes after it is followed to
    the next launches.
    """
    timeline = simulate(graph, network, policy)
    chain = chain_of(graph)
    first: dict[tuple[int, ...], int] = {}
    last: dict[tuple[int, ...], int] = {}
    for number, launch in enumerate(timeline.launches):
        first.setdefault(launch.bucket, number)
        last[launch.bucket] = number
    positions = chain.positions.tolist()
    opened = {positions[i]: number for bucket, number in first.items() for i in bucket}
    ops_of = {number: [positions[i] for i in bucket] for bucket, number in last.items()}
    after: list[dict[int, float]] = [{} for _ in timeline.launches]
    tails: list[float | None] = [None] * len(timeline.launches)
    ahead = _Ahead(graph, timeline, opened)
    sources = [op for op, before in enumerate(graph.preds) if not before]
    compute, reached = ahead.follow(sources)
    for number, way in reached.items():
        after[number][BEGINNING] = way
    for number, ops in ops_of.items():
        after_it = [op for each in ops for op in graph.succs[each]]
        tail, reached = ahead.follow(dict.fromkeys(after_it))
        for other, way in reached.items():
            after[other][number] = max(way, after[other].get(number, 0.0))
        if tail is not None or any(not graph.succs[op] for op in ops):
            tails[number] = tail or 0.0
    return JobProfile(
        timeline.iteration_time,
        compute or 0.0,
        tuple(_transfers(graph, network, timeline, after, tails)),
        sum(op.duration_us or 0.0 for op in graph.ops if op.kind == COMPUTE),
    )


def _transfers(
    graph: Graph,
    network: Network,
    timeline: Timeline,
    after: list[dict[int, float]],
    tails: list[float | None],
) -> list[Transfer]:
    """Return the launches as transfers, each behind that before it on its channel."""
    chain = chain_of(graph)
    costs = costs_of(chain, network)
    startups = [startup_of(cost).time for cost in costs]
    paths = {each.channel: each.path for each in network.crossings}
    slowed = {name for name, _ in network.launch_slowdowns} | {name for name, _ in network.cards}
    before: dict[str, int] = {}
    found = []
    for number, launch in enumerate(timeline.launches):
        lane = chain.lane[launch.bucket[0]]
        channel = chain.lanes[lane].channel
        alone = launch.end - launch.start
        time = alone if channel in slowed else costs[lane].time(launch.bytes)
        startup = min(startups[lane](launch.bytes), time)
        rest = time - startup
        rate = launch.bytes * network.passes(chain.lanes[lane]) / rest if rest > 0 else 0.0
        path = paths.get(channel, ()) if rate > 0 else ()
        waits = after[number]
        if channel in before:
            waits.setdefault(before[channel], 0.0)
        before[channel] = number
        found.append(
            Transfer(
                launch.start,
                launch.end,
                startup,
                rest,
                rate,
                tuple(path),
                tuple(sorted(waits.items())),
                tails[number],
                channel,
            )
        )
    return found


class _Ahead:
    """Compute that comes after something, up to the next launches."""

    def __init__(self, graph: Graph, timeline: Timeline, opened: dict[int, int]) -> None:
        self._graph, self._opened = graph, opened
        self._rank = [0] * len(graph.ops)
        for rank, op in enumerate(graph.order):
            self._rank[op] = rank
        self._time = [
            end - start for start, end in zip(timeline.starts, timeline.ends, strict=True)
        ]

    def follow(self, ops: object) -> tuple[float | None, dict[int, float]]:
        """Return the longest compute to an end, if there is any, and to each of the launches."""
        far: dict[int, float] = dict.fromkeys(ops, 0.0)  # type: ignore[call-overload]
        heap = sorted((self._rank[op], op) for op in far)
        reached: dict[int, float] = {}
        longest = -inf
        while heap:
            _, op = heappop(heap)
            way = far[op]
            number = self._opened.get(op)
            if number is not None:
                reached[number] = max(way, reached.get(number, 0.0))
                continue
            way += self._time[op]
            longest = max(longest, way)
            for succ in self._graph.succs[op]:
                if succ not in far:
                    far[succ] = way
                    heappush(heap, (self._rank[succ], succ))
                elif far[succ] < way:
                    far[succ] = way
        return (longest if longest > -inf else None), reached
