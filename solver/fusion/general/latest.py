"""How late everything in a plan may end without the plan taking longer."""

from collections.abc import Iterator
from typing import NamedTuple

from solver.fusion.general.judge import ChannelLaunches, Execution, GraphJudge, Position


class LatestEnds(NamedTuple):
    """How late each launch may end [us], by channel and place.

    Attributes
    ----------
    in_order
        For what waits for it, and for the launches behind it on its channel.
    for_consumers
        For what waits for its bucket alone: were it gone, those behind it would go sooner.
    starts
        How late each op may start, a collective be released [us].
    """

    in_order: list[list[float]]
    for_consumers: list[list[float]]
    starts: list[float]


def latest_ends(  # noqa: C901 - one pass
    lists: ChannelLaunches, run: Execution, judge: GraphJudge, limit: float
) -> LatestEnds:
    """Tell how late each launch may end for the plan to end by ``limit`` [us] in this order.

    O(n log n) for n ops, edges and launches.
    """
    ends, starts = [limit] * len(run.ends), [limit] * len(run.ends)
    latest = [[limit] * len(launches) for launches in lists]
    needed = [[limit] * len(launches) for launches in lists]
    first: dict[tuple[int, ...], Position] = {}
    for channel, launches in enumerate(lists):
        for place, launch in enumerate(launches):
            first.setdefault(launch.bucket, Position(channel, place))
    for node, at in _backwards(run, judge):
        if at is None:
            start = starts[node] = ends[node] - judge.durations[node]
            for j in judge.preds[node]:
                ends[j] = min(ends[j], start)
            continue
        channel, place = at
        bucket, size = lists[channel][place]
        if run.last[bucket] == at:
            needed[channel][place] = min(ends[judge.node[i]] for i in bucket)
            latest[channel][place] = min(latest[channel][place], needed[channel][place])
        start = latest[channel][place] - judge.cost[bucket[0]].time(size)
        if place:
            latest[channel][place - 1] = min(latest[channel][place - 1], start)
        if first[bucket] == at:
            for i in bucket:
                starts[judge.node[i]] = start
                for j in judge.preds[judge.node[i]]:
                    ends[j] = min(ends[j], start)
    return LatestEnds(latest, needed, starts)


def _backwards(run: Execution, judge: GraphJudge) -> Iterator[tuple[int, Position | None]]:
    """Yield compute ops and launches, each before all that it waits for.

    By end; a compute op that ends with a launch cannot come before it, as the launch takes time.
    """
    rank = {node: k for k, node in enumerate(judge.order)}
    events: list[tuple[float, int, int, Position | None]] = [
        (run.ends[node], 1, rank[node], None) for node in judge.order if judge.tensor[node] is None
    ]
    events += [
        (end, 0, place, Position(channel, place))
        for channel, times in enumerate(run.times)
        for place, (_, end) in enumerate(times)
    ]
    events.sort(key=lambda event: event[:3], reverse=True)
    for _, _, place, at in events:
        yield (judge.order[place] if at is None else -1), at
