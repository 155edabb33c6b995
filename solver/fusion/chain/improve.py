"""Local search on a chain's launches, guided by the stretch that decides their time.

The value of a plan is decided by one bucket, and by the launches that run without a gap up to that
bucket's end. Only changes to these can help: another place, other tensors, one launch fewer, a part
sent before the gap.
"""

import random
from collections.abc import Iterator, Sequence

from solver.buckets import Launch, Launches, union, whole_elements
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.search import Budget, Reporter, unreported
from solver.units import slack


def improve(
    launches: Launches, judge: ChainJudge, budget: Budget, seed: int, report: Reporter = unreported
) -> Launches:
    """Take the best change while one helps, then try random ones until the budget is spent.

    The answer is never worse than ``launches``, and the same for the same seed and moves. Every
    change taken is reported, also one that only leads back to the best plan's value.
    """
    best = _descend(launches, judge, budget, report)
    generator = random.Random(seed)  # noqa: S311 - a search, not a secret
    here = best
    while budget.spend():
        there = _descend(_shake(here, judge, generator), judge, budget, report)
        if judge.value(there) <= judge.value(here):
            here = there
        if judge.value(here) < judge.value(best):
            best = here
    return best


def _part_pairs(launches: Launches) -> Iterator[tuple[int, int]]:
    """Places of neighbouring parts of one bucket."""
    seen: dict[tuple[int, ...], int] = {}
    for j, (members, _) in enumerate(launches):
        if members in seen:
            yield seen[members], j
        seen[members] = j


def _descend(launches: Launches, judge: ChainJudge, budget: Budget, report: Reporter) -> Launches:
    value = judge.stretch(launches).value
    while value > judge.floor:
        best = None
        for plan in _changes(launches, judge):
            if not budget.spend():
                break
            reached = judge.stretch(plan).value
            if reached < value - slack(value):
                best, value = plan, reached
        if best is None:
            return launches
        launches = best
        report(launches, max(judge.floor, value))
    return launches


def _changes(launches: Launches, judge: ChainJudge) -> Iterator[Launches]:
    """Plans one step away from this one, around its deciding stretch."""
    _, first, last = judge.stretch(launches)
    whole = [judge.is_whole(launch) for launch in launches]
    for i in range(first, last + 1):
        if whole[i]:
            yield from _moves(launches, i)
            yield from _joins(launches, i, whole, judge)
            for some in _ends_of(launches[i].bucket):
                yield from _transfers(launches, i, some, whole, judge)
    yield from _cuts(launches, first, last, whole, judge)
    yield from _shifts(launches, judge.element)


def _moves(launches: Launches, i: int) -> Iterator[Launches]:
    """Send launch i at another place."""
    rest = (*launches[:i], *launches[i + 1 :])
    for place in range(len(launches)):
        if place != i:
            yield (*rest[:place], launches[i], *rest[place:])


def _joins(
    launches: Launches, i: int, whole: Sequence[bool], judge: ChainJudge
) -> Iterator[Launches]:
    """Send launch i together with another one, in that one's place."""
    for j in range(len(launches)):
        if j != i and whole[j]:
            changed = list(launches)
            changed[j] = judge.whole(union(launches[i].bucket, launches[j].bucket))
            del changed[i]
            yield tuple(changed)


def _transfers(
    launches: Launches, i: int, some: tuple[int, ...], whole: Sequence[bool], judge: ChainJudge
) -> Iterator[Launches]:
    """Move tensors of launch i to another launch, or to one of their own."""
    gone = frozenset(some)
    remaining = judge.whole(tuple(k for k in launches[i].bucket if k not in gone))
    for j in range(len(launches)):
        if j != i and whole[j]:
            changed = list(launches)
            changed[i] = remaining
            changed[j] = judge.whole(union(launches[j].bucket, some))
            yield tuple(changed)
    for place in sorted({0, i, i + 1, len(launches)}):
        changed = list(launches)
        changed[i] = remaining
        changed.insert(place, judge.whole(some))
        yield tuple(changed)


def _ends_of(members: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """First and last tensors of a bucket: 1, 2, 4, ... of them, never all."""
    count = 1
    while count < len(members):
        yield members[:count]
        yield members[-count:]
        count *= 2


def _cuts(
    launches: Launches, first: int, last: int, whole: Sequence[bool], judge: ChainJudge
) -> Iterator[Launches]:
    """Send a part of a launch in the gap before the stretch, or cut it at a release in it."""
    starts = judge.starts(launches)
    releases = sorted({judge.bucket(launches[i].bucket)[0] for i in range(first, last + 1)})
    for i in range(first, last + 1):
        if not whole[i]:
            continue
        members, size = launches[i]
        free = starts[first - 1] + judge.cost.time(launches[first - 1].bytes) if first else 0.0
        begin = max(free, judge.bucket(members)[0])
        part = judge.fits(starts[first] - begin, size)
        if 0 < part < size:
            head, tail = Launch(members, part), Launch(members, size - part)
            yield (*launches[:first], head, *launches[first:i], tail, *launches[i + 1 :])
            yield (*launches[:first], head, *launches[first:i], *launches[i + 1 :], tail)
        for release in releases:
            part = judge.fits(release - starts[i], size)
            if 0 < part < size:
                head, tail = Launch(members, part), Launch(members, size - part)
                for place in range(i + 2, len(launches) + 1):
                    yield (*launches[:i], head, *launches[i + 1 : place], tail, *launches[place:])


def _shifts(launches: Launches, element: int) -> Iterator[Launches]:
    """Move whole elements between two parts of one bucket."""
    for i, j in _part_pairs(launches):
        for source, target in ((i, j), (j, i)):
            step = whole_elements(launches[source].bytes // 2, element)
            while step:
                changed = list(launches)
                changed[source] = Launch(launches[source].bucket, launches[source].bytes - step)
                changed[target] = Launch(launches[target].bucket, launches[target].bytes + step)
                yield tuple(changed)
                step = whole_elements(step // 4, element)


def _shake(launches: Launches, judge: ChainJudge, generator: random.Random) -> Launches:
    """Make two random changes: give tensors away, join launches, or swap places."""
    for _ in range(2):
        whole = [judge.is_whole(launch) for launch in launches]
        i = generator.randrange(len(launches))
        choices = [*_moves(launches, i)]
        if whole[i]:
            choices += _joins(launches, i, whole, judge)
            for some in _ends_of(launches[i].bucket):
                choices += _transfers(launches, i, some, whole, judge)
        if choices:
            launches = generator.choice(choices)
    return launches
