"""Local search on the launches of any graph, guided by the longest path.

The longest path runs through launches that wait for their bucket's release or for the launch
before them. Only changes to these can shorten it: another place in the channel's order, a bucket
joined with another or taken apart, a launch cut where a more urgent one is released.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import islice

from solver.buckets import Launch, Launches
from solver.fusion.general.judge import ChannelLaunches, Execution, GraphJudge, Position, flat
from solver.fusion.search import Budget, Reporter, unreported
from solver.units import same

#: How many steps without a better plan before the search returns to the best one.
_PATIENCE = 40


#: A plan this close to the bound, relatively, is not improved further.
_CLOSE = 1e-5


#: Most changes looked at in one step.
_LOOKED = 48


def improve(
    lists: ChannelLaunches,
    judge: GraphJudge,
    budget: Budget,
    seed: int,
    bound: float,
    *,
    fuse: bool,
    report: Reporter = unreported,
) -> ChannelLaunches:
    """Take changes that help; when none does, a random one, and go on from there.

    The answer is never worse than ``lists``, and the same for the same seed and budget. Within
    :data:`_CLOSE` of the bound it is good enough. Without ``fuse`` buckets stay as they are and
    launches are not cut. Every change that helps is reported, also one that only leads back to the
    best plan's value.
    """
    generator = random.Random(seed)  # noqa: S311 - a search, not a secret
    here = best = lists
    run = least = judge.execute(lists)
    idle = 0
    while least.value > bound * (1 + _CLOSE) and budget.spend():
        here, run = _descend(here, run, judge, budget, generator, report, fuse=fuse)
        if run.value < least.value and not same(run.value, least.value):
            best, least, idle = here, run, 0
        elif idle > _PATIENCE:
            here, run, idle = best, least, 0
        idle += 1
        here, run = _shake(here, run, judge, generator, fuse=fuse)
    return best


def _descend(
    lists: ChannelLaunches,
    run: Execution,
    judge: GraphJudge,
    budget: Budget,
    generator: random.Random,
    report: Reporter,
    *,
    fuse: bool,
) -> tuple[ChannelLaunches, Execution]:
    """Take the first change that helps, again and again."""
    while True:
        options = changes(lists, run, judge, generator, fuse=fuse)
        for changed in islice(options, _LOOKED):
            if not budget.spend():
                return lists, run
            there = judge.execute(changed)
            if there.value < run.value and not same(there.value, run.value):
                lists, run = changed, there
                report(flat(lists), run.value)
                break
        else:
            return lists, run


def _shake(
    lists: ChannelLaunches,
    run: Execution,
    judge: GraphJudge,
    generator: random.Random,
    *,
    fuse: bool,
) -> tuple[ChannelLaunches, Execution]:
    """Make one to three random changes to what lies on the longest path."""
    for _ in range(generator.choice((1, 1, 2, 3))):
        changed = next(changes(lists, run, judge, generator, fuse=fuse), lists)
        there = judge.execute(changed)
        if there.value < 2 * run.value:  # not a deadlock
            lists, run = changed, there
    return lists, run


def changes(
    lists: ChannelLaunches,
    run: Execution,
    judge: GraphJudge,
    generator: random.Random,
    *,
    fuse: bool,
) -> Iterator[ChannelLaunches]:
    """Yield plans that differ from this one on its longest path, in random order."""
    path = judge.critical(lists, run)
    places = list(range(len(path)))
    generator.shuffle(places)
    for at in places:
        part, waited = path[at]
        channel, k = part
        launches = lists[channel]
        options = [*_moves(launches, k, _first(path, at), waited=waited)]
        if fuse:
            options += _joins(launches, k, judge)
            options += _splits(launches, k, run, judge)
            options += _cuts(lists, part, run, judge, waited=waited)
        generator.shuffle(options)
        for changed in options:
            yield (*lists[:channel], changed, *lists[channel + 1 :])


def _first(path: Sequence[tuple[Position, bool]], at: int) -> int:
    """Place of the launch with which the run without a gap began."""
    while path[at][1]:
        at += 1
    return path[at][0].place


def _moves(launches: Launches, k: int, first: int, *, waited: bool) -> Iterator[Launches]:
    """Put a launch that waits before others that ran without a gap, or one of these behind it."""
    if waited:
        for place in sorted({first, (first + k) // 2, k - 1}):
            yield (*launches[:place], launches[k], *launches[place:k], *launches[k + 1 :])
        for place in sorted({first, k - 1}):
            yield (
                *launches[:place],
                *launches[place + 1 : k + 1],
                launches[place],
                *launches[k + 1 :],
            )
    elif k + 1 < len(launches):  # waits for its release: others may go first
        for place in (k + 1, k + 2):
            if place < len(launches):
                yield (*launches[:k], launches[place], *launches[k:place], *launches[place + 1 :])


def _joins(launches: Launches, k: int, judge: GraphJudge) -> Iterator[Launches]:
    """Join a launch with the nearest ones of its lane, before and behind; or with its own parts."""
    bucket, size = launches[k]
    if size < judge.total(bucket):
        for j, other in enumerate(launches):
            if j != k and other.bucket == bucket:
                low, high = min(j, k), max(j, k)
                one = Launch(bucket, size + other.bytes)
                rest = [*launches[low + 1 : high]]
                yield (*launches[:low], one, *rest, *launches[high + 1 :])
                yield (*launches[:low], *rest, one, *launches[high + 1 :])
        return
    lane = judge.chain.lane[bucket[0]]
    for step in (-1, 1):
        near = 0
        j = k + step
        while 0 <= j < len(launches) and near < 2:  # noqa: PLR2004 - two on each side
            if judge.chain.lane[launches[j].bucket[0]] == lane and judge.is_whole(launches[j]):
                near += 1
                both = tuple(sorted((*bucket, *launches[j].bucket)))
                low, high = min(j, k), max(j, k)
                rest = [*launches[low + 1 : high]]
                if may_join(launches[j].bucket, bucket, judge):
                    one = judge.whole(both)
                    yield (*launches[:low], *rest, one, *launches[high + 1 :])
                    if rest:
                        yield (*launches[:low], one, *rest, *launches[high + 1 :])
            j += step


def may_join(a: Sequence[int], b: Sequence[int], judge: GraphJudge) -> bool:
    """Tell whether no tensor of one bucket precedes one of the other."""
    before = judge.chain.before
    if not before:
        return True
    of_a, of_b = sum(1 << i for i in a), sum(1 << i for i in b)
    return not any(before[i] & of_b for i in a) and not any(before[i] & of_a for i in b)


def _splits(launches: Launches, k: int, run: Execution, judge: GraphJudge) -> Iterator[Launches]:
    """Take a bucket apart by the releases or the tails of its members."""
    bucket, size = launches[k]
    if len(bucket) == 1 or size < judge.total(bucket):
        return
    by_release = sorted(bucket, key=lambda i: (run.starts[judge.node[i]], i))
    by_tail = sorted(bucket, key=lambda i: (-float(judge.chain.tail[i]), i))
    halves = {
        (tuple(sorted(order[:cut])), tuple(sorted(order[cut:])))
        for order in (by_release, by_tail)
        for cut in (1, len(order) // 2, len(order) - 1)
    }
    for some, rest in sorted(halves):
        one, two = judge.whole(some), judge.whole(rest)
        yield (*launches[:k], one, two, *launches[k + 1 :])
        if k + 1 < len(launches):
            yield (*launches[:k], one, launches[k + 1], two, *launches[k + 2 :])
        if k:
            yield (*launches[: k - 1], one, launches[k - 1], two, *launches[k + 1 :])
        for kept, given in ((some, rest), (rest, some)):
            yield from _transfers(launches, k, kept, given, judge)


def _transfers(
    launches: Launches,
    k: int,
    remaining: tuple[int, ...],
    transferred: tuple[int, ...],
    judge: GraphJudge,
) -> Iterator[Launches]:
    """Give some tensors of a bucket to a neighbour of its lane."""
    lanes = judge.chain.lane
    for j in (k - 1, k + 1):
        if not 0 <= j < len(launches) or not judge.is_whole(launches[j]):
            continue
        near = launches[j].bucket
        if lanes[near[0]] == lanes[remaining[0]] and may_join(near, transferred, judge):
            changed = list(launches)
            changed[k] = judge.whole(remaining)
            changed[j] = judge.whole(tuple(sorted((*near, *transferred))))
            yield tuple(changed)


def _cuts(
    lists: ChannelLaunches, part: Position, run: Execution, judge: GraphJudge, *, waited: bool
) -> Iterator[Launches]:
    """Cut what runs when a waiting launch is released; or fill the gap before one that is not."""
    channel, k = part
    launches, times = lists[channel], run.times[channel]
    release = max(run.starts[judge.node[i]] for i in launches[k].bucket)
    if waited:
        for o in range(k - 1, -1, -1):
            begin, end = times[o]
            if begin < release < end:
                bucket, size = launches[o]
                fits = judge.fits(bucket, release - begin, size)
                if 0 < fits < size:
                    head, tail = Launch(bucket, fits), Launch(bucket, size - fits)
                    between = launches[o + 1 : k]
                    yield (*launches[:o], head, launches[k], tail, *between, *launches[k + 1 :])
                    yield (*launches[:o], head, launches[k], *between, tail, *launches[k + 1 :])
            if begin <= release:
                break
        return
    free = times[k - 1][1] if k else 0.0
    for j in range(k + 1, min(k + 3, len(launches))):
        bucket, size = launches[j]
        begin = max(free, *(run.starts[judge.node[i]] for i in bucket))
        fits = judge.fits(bucket, release - begin, size) if begin < release else 0
        if 0 < fits < size:
            head, tail = Launch(bucket, fits), Launch(bucket, size - fits)
            yield (*launches[:k], head, *launches[k:j], tail, *launches[j + 1 :])
