"""Launches of any graph that gain nothing by being apart are joined.

How late each op and launch may end without the plan taking longer says which pairs may be joined:
a launch of both in the later one's place must end before what waits for either needs it. So a plan
in which all is urgent costs one look; the plan that comes out is executed, so nothing rests on that
rule alone.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from solver.buckets import Launch
from solver.fusion.general.judge import ChannelLaunches, Execution, GraphJudge
from solver.fusion.general.latest import latest_ends
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


def may_join(a: Sequence[int], b: Sequence[int], judge: GraphJudge) -> bool:
    """Tell whether no tensor of one bucket precedes one of the other."""
    before = judge.chain.before
    if not before:
        return True
    of_a, of_b = sum(1 << i for i in a), sum(1 << i for i in b)
    return not any(before[i] & of_b for i in a) and not any(before[i] & of_a for i in b)


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
