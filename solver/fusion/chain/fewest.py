"""The same time with fewer launches, on one channel."""

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from solver.buckets import Launch, Launches, contiguous, union
from solver.chain import Chain
from solver.fusion.chain.fifo import fewest_cuts
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.loops.figures import EarliestLaunches
from solver.fusion.search import Allowance, Budget
from solver.fusion.ties import ties
from solver.units import slack

#: How many launches on from one are tried as a bucket with it.
_REACH = 8


#: Launches over all plans that are looked at.
_LAUNCHES = 2_000_000


#: Steps of an allowance that a plan costs for each of its launches.
_STEPS = 10


def with_fewest_launches(
    launches: Launches,
    chain: Chain,
    judge: ChainJudge,
    limit: float,
    allowance: Allowance | None = None,
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
    allowance
        What may be looked at: once it is spent, the answer is what has been joined by then.
    """
    if has_equal_tails(chain) and len(chain.lanes) == 1:
        end = limit + slack(limit) - judge.tail[0]
        cuts = fewest_cuts(chain.release, chain.bytes, judge.cost, end)
        if cuts is not None:
            buckets = contiguous(chain, cuts)
            return tuple(map(Launch, buckets.members, buckets.bytes.tolist()))
    budget = Budget(_LAUNCHES // len(launches), allowance, _STEPS * len(launches))
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
    plan = list(launches)
    whole = [judge.is_whole(launch) for launch in plan]
    number = {launch.bucket: k for k, launch in enumerate(plan)}
    numbers = [number[launch.bucket] for launch in plan]
    figures = _figures(plan, numbers, judge)
    count = 0
    while count != len(plan):
        count = len(plan)
        at = 0
        while at < len(plan):
            best: tuple[int, int] | None = None
            value = inf
            for other, place in _joins(plan, whole, numbers, at, judge):
                if not budget.spend():
                    break
                time = judge.cost.time(plan[at].bytes + plan[other].bytes)
                found = max(judge.floor, figures.joined(at, other, place, time))
                if found < value:
                    best, value = (other, place), found
            if best and ties(value, limit):
                _join(plan, whole, figures, at, *best, judge)
                other, place = best
                del numbers[at + other - place]
            else:
                at += 1
    return tuple(plan)


def _figures(plan: Sequence[Launch], numbers: Sequence[int], judge: ChainJudge) -> EarliestLaunches:
    """Return the figures of launches, whose buckets have the number of their last part."""
    buckets = [judge.bucket(launch.bucket) for launch in plan]
    return EarliestLaunches(
        [release for release, _, _ in buckets],
        [tail for _, tail, _ in buckets],
        [judge.cost.time(launch.bytes) for launch in plan],
        [number == at for at, number in enumerate(numbers)],
    )


def _joins(
    plan: Sequence[Launch],
    whole: Sequence[bool],
    numbers: Sequence[int],
    at: int,
    judge: ChainJudge,
) -> Iterator[tuple[int, int]]:
    """With which later launch this one may be joined, and in the place of which of the two.

    That is the next part of its bucket, or if it has no other parts one of the next whole ones.
    """
    if whole[at]:
        lane = judge.lane[plan[at].bucket[0]]
        for other in range(at + 1, min(at + 1 + _REACH, len(plan))):
            if whole[other] and judge.lane[plan[other].bucket[0]] == lane:
                yield other, other
                if other > at + 1:
                    yield other, at
    elif numbers[at] in (later := numbers[at + 1 :]):
        other = at + 1 + later.index(numbers[at])
        yield other, other
        if other > at + 1:
            yield other, at


def _join(
    plan: list[Launch],
    whole: list[bool],
    figures: EarliestLaunches,
    at: int,
    other: int,
    place: int,
    judge: ChainJudge,
) -> None:
    """Make one launch of two."""
    here, there = plan[at], plan[other]
    bucket = union(here.bucket, there.bucket) if whole[at] else here.bucket
    joined = Launch(bucket, here.bytes + there.bytes)
    figures.join(at, other, place, judge.cost.time(joined.bytes))
    plan[place], whole[place] = joined, judge.is_whole(joined)
    gone = at + other - place
    del plan[gone], whole[gone]


def _adjoin(launches: Launches) -> Launches:
    """Make one launch of neighbouring parts of the same bucket: one start-up fewer."""
    joined: list[Launch] = []
    for launch in launches:
        if joined and joined[-1].bucket == launch.bucket:
            joined[-1] = Launch(launch.bucket, joined[-1].bytes + launch.bytes)
        else:
            joined.append(launch)
    return tuple(joined)
