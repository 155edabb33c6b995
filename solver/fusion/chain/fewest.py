"""The same time with fewer launches, on one channel."""

from collections.abc import Callable, Iterator

import numpy as np

from solver.buckets import Launch, Launches, contiguous, union
from solver.chain import Chain
from solver.fusion.chain.fifo import fewest_cuts
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.search import Budget
from solver.fusion.ties import ties
from solver.units import slack

#: How many launches on from one are tried as a bucket with it.
_REACH = 8


#: Launches over all plans that are looked at.
_LAUNCHES = 2_000_000


def with_fewest_launches(
    launches: Launches,
    chain: Chain,
    judge: ChainJudge,
    limit: float,
    expired: Callable[[], bool] = lambda: False,
) -> Launches:
    """Return a plan with few launches that stays within a time.

    With one lane and equal tails, as a barrier makes them, the fewest whole launches of neighbours
    in release order, wherever these stay within the time: every runtime can be told such a plan,
    and with an affine cost it is optimal (MODEL.md section 5). Else the launches that are left when
    no two of them can be joined.

    Parameters
    ----------
    launches
        The plan at hand.
    chain, judge
        What is sent, and the judge of its plans.
    limit
        The time [us], up to the tolerance.
    expired
        Tells whether to end with what has been joined by then.
    """
    if has_equal_tails(chain) and len(chain.lanes) == 1:
        end = limit + slack(limit) - judge.tail[0]
        cuts = fewest_cuts(chain.release, chain.bytes, judge.cost, end)
        if cuts is not None:
            buckets = contiguous(chain, cuts)
            return tuple(map(Launch, buckets.members, buckets.bytes.tolist()))
    budget = Budget(_LAUNCHES // len(launches), expired)
    return without_needless_launches(launches, judge, budget, limit)


def has_equal_tails(chain: Chain) -> bool:
    """Tell whether the same compute follows every tensor."""
    return bool(np.all(chain.tail == chain.tail[0]))


def without_needless_launches(
    launches: Launches, judge: ChainJudge, budget: Budget, limit: float
) -> Launches:
    """Join parts of a bucket, and buckets of a lane, wherever the plan stays within a time.

    ``limit`` is that time [us], up to the tolerance. Passes over the launches, O(launches) for
    each plan looked at, until one changes nothing or the budget is spent.
    """
    adjoined = _adjoin(launches)
    if ties(judge.value(adjoined), limit):
        launches = adjoined
    count = 0
    while count != len(launches):
        count = len(launches)
        at = 0
        while at < len(launches):
            tried = (plan for plan in _fewer(launches, at, judge) if budget.spend())
            fewer = min(tried, key=judge.value, default=launches)
            if len(fewer) < len(launches) and ties(judge.value(fewer), limit):
                launches = fewer
            else:
                at += 1
    return launches


def _fewer(launches: Launches, at: int, judge: ChainJudge) -> Iterator[Launches]:
    """Plans with one launch fewer: this one joined with a later part of it, or with a later one.

    Both go in the place of one of them.
    """
    here = launches[at]
    is_whole = judge.is_whole(here)
    for j in range(at + 1, len(launches)):
        there = launches[j]
        if there.bucket == here.bucket:
            joined = Launch(here.bucket, here.bytes + there.bytes)
        elif is_whole and j <= at + _REACH and _may_join(here, there, judge):
            joined = judge.whole(union(here.bucket, there.bucket))
        else:
            continue
        yield (*launches[:at], *launches[at + 1 : j], joined, *launches[j + 1 :])
        if j > at + 1:
            yield (*launches[:at], joined, *launches[at + 1 : j], *launches[j + 1 :])
        if there.bucket == here.bucket:
            break


def _may_join(here: Launch, there: Launch, judge: ChainJudge) -> bool:
    lane = judge.lane
    return judge.is_whole(there) and lane[here.bucket[0]] == lane[there.bucket[0]]


def _adjoin(launches: Launches) -> Launches:
    """Make one launch of neighbouring parts of the same bucket: one start-up fewer."""
    joined: list[Launch] = []
    for launch in launches:
        if joined and joined[-1].bucket == launch.bucket:
            joined[-1] = Launch(launch.bucket, joined[-1].bytes + launch.bytes)
        else:
            joined.append(launch)
    return tuple(joined)
