"""Launches of any graph that gain nothing by being apart are joined.

How late each op and launch may end without the plan taking longer says which pairs may be joined:
a launch of both in the later one's place must end before what waits for either needs it. So a plan
in which all is urgent costs one look; the plan that comes out is executed, so nothing rests on that
rule alone.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from solver.buckets import Launch
from solver.fusion.general.improve import may_join
from solver.fusion.general.judge import ChannelLaunches, Execution, GraphJudge, Position
from solver.fusion.search import Budget
from solver.fusion.ties import ties
from solver.units import slack


class Pair(NamedTuple):
    """Two launches of a channel, by their places, and the one that takes the later one's place."""

    channel: int
    first: int
    second: int
    one: Launch


def without_needless_launches(
    lists: ChannelLaunches, judge: GraphJudge, budget: Budget, limit: float
) -> ChannelLaunches:
    """Join parts of a bucket, and buckets of a lane, wherever the plan stays within a time.

    ``limit`` is that time [us], up to the tolerance. Pairs that do not touch are joined at once;
    when that takes longer, half of them, and so on. Ends when there is none, or the budget is
    spent.

    Notes
    -----
    Each round costs one pass backwards over ops and launches, and an execution for itself and each
    halving: O(log launches) rounds where all may be joined.
    """
    run = judge.execute(lists)
    while pairs := list(_pairs(lists, run, judge, limit)):
        while budget.spend():
            joined = _join(lists, pairs)
            there = judge.execute(joined)
            if ties(there.value, limit):
                break
            pairs = pairs[: len(pairs) // 2]
            if not pairs:
                return lists
        else:
            return lists
        lists, run = joined, there
    return lists


class LatestEnds(NamedTuple):
    """How late each launch may end [us], by channel and place.

    Attributes
    ----------
    in_order
        For what waits for it, and for the launches behind it on its channel.
    for_consumers
        For what waits for its bucket alone: were it gone, those behind it would go sooner.
    """

    in_order: list[list[float]]
    for_consumers: list[list[float]]


def latest_ends(
    lists: ChannelLaunches, run: Execution, judge: GraphJudge, limit: float
) -> LatestEnds:
    """Tell how late each launch may end for the plan to end by ``limit`` [us] in this order.

    O(n log n) for n ops, edges and launches.
    """
    ends = [limit] * len(run.ends)
    latest = [[limit] * len(launches) for launches in lists]
    needed = [[limit] * len(launches) for launches in lists]
    first: dict[tuple[int, ...], Position] = {}
    for channel, launches in enumerate(lists):
        for place, launch in enumerate(launches):
            first.setdefault(launch.bucket, Position(channel, place))
    for node, at in _backwards(run, judge):
        if at is None:
            start = ends[node] - judge.durations[node]
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
            for j in (j for i in bucket for j in judge.preds[judge.node[i]]):
                ends[j] = min(ends[j], start)
    return LatestEnds(latest, needed)


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


def _pairs(
    lists: ChannelLaunches, run: Execution, judge: GraphJudge, limit: float
) -> Iterator[Pair]:
    """Yield pairs that may be joined, none with a launch of another."""
    latest = latest_ends(lists, run, judge, limit)
    for channel, launches in enumerate(lists):
        before: dict[int, int] = {}  # the last launch of each lane that is in no pair
        for place, launch in enumerate(launches):
            lane = judge.chain.lane[launch.bucket[0]]
            first = before.get(lane)
            one = None if first is None else _one_of(launches[first], launch, judge)
            if first is None or one is None:
                before[lane] = place
                continue
            end = _start(run, judge, Pair(channel, first, place, one))
            end += judge.cost[one.bucket[0]].time(one.bytes)
            needed = min(latest.for_consumers[channel][first], latest.in_order[channel][place])
            if end <= needed + slack(limit):
                del before[lane]
                yield Pair(channel, first, place, one)
            else:
                before[lane] = place


def _one_of(a: Launch, b: Launch, judge: GraphJudge) -> Launch | None:
    """Return the launch of both; None where there is none."""
    if a.bucket == b.bucket:
        return Launch(a.bucket, a.bytes + b.bytes)
    if judge.is_whole(a) and judge.is_whole(b) and may_join(a.bucket, b.bucket, judge):
        return judge.whole(tuple(sorted((*a.bucket, *b.bucket))))
    return None


def _start(run: Execution, judge: GraphJudge, pair: Pair) -> float:
    """Start of a joined launch [us]: the channel is free, and all of its bucket is released."""
    times = run.times[pair.channel]
    place = pair.second - 1 if pair.second - 1 > pair.first else pair.first - 1
    free = times[place][1] if place >= 0 else 0.0
    return max(free, *(run.starts[judge.node[i]] for i in pair.one.bucket))


def _join(lists: ChannelLaunches, pairs: Sequence[Pair]) -> ChannelLaunches:
    changed: list[list[Launch | None]] = [list(launches) for launches in lists]
    for pair in pairs:
        changed[pair.channel][pair.first] = None
        changed[pair.channel][pair.second] = pair.one
    return tuple(tuple(launch for launch in launches if launch) for launches in changed)
