"""Local search on a plan's launches, guided by the stretch that decides its time.

A plan is a sequence of sends, each as early as its release and the one before allow. Its value is
decided by one bucket, and by the launches that run without a gap up to that bucket's end. Only
changes to these can help: another place, other tensors, one launch fewer, a part sent before the
gap.
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.search import Budget, Sends, Tell, nobody
from solver.simulation.engine import Send
from solver.units import slack


class _Run(NamedTuple):
    """A plan executed: its value [us], and the first and last launch of the deciding stretch."""

    value: float
    first: int
    last: int


class Judge:
    """Values of plans of one chain; what is known of a bucket is computed once."""

    def __init__(self, chain: Chain, cost: Cost) -> None:
        self.release = chain.release.tolist()
        self.tail = chain.tail.tolist()
        self.bytes = chain.bytes.tolist()
        self.cost = cost
        self.floor = chain.compute_time
        self._known: dict[tuple[int, ...], tuple[float, float, int]] = {}

    def bucket(self, members: tuple[int, ...]) -> tuple[float, float, int]:
        """Return release [us], tail [us] and bytes of a bucket."""
        found = self._known.get(members)
        if found is None:
            found = self._known[members] = (
                max(self.release[i] for i in members),
                max(self.tail[i] for i in members),
                sum(self.bytes[i] for i in members),
            )
        return found

    def whole(self, members: tuple[int, ...]) -> Send:
        """Send a bucket in one part."""
        return Send(members, self.bucket(members)[2])

    def starts(self, sends: Sends) -> list[float]:
        """Start of each launch [us]."""
        found = []
        now = 0.0
        for members, size in sends:
            now = max(now, self.bucket(members)[0])
            found.append(now)
            now += self.cost.time(size)
        return found

    def value(self, sends: Sends) -> float:
        """Return the iteration time of a plan [us]."""
        return max(self.floor, self.run(sends).value)

    def run(self, sends: Sends) -> _Run:
        """Execute a plan and find the stretch that decides its value. O(launches)."""
        now = value = 0.0
        first = deciding = begin = 0
        left: dict[tuple[int, ...], int] = {}
        for i, (members, size) in enumerate(sends):
            release, tail, total = self.bucket(members)
            if release > now:
                now, begin = release, i
            now += self.cost.time(size)
            rest = left.get(members, total) - size
            if rest:
                left[members] = rest
            elif now + tail > value:
                value, first, deciding = now + tail, begin, i
        return _Run(value, first, deciding)


def improve(sends: Sends, judge: Judge, budget: Budget, seed: int, tell: Tell = nobody) -> Sends:
    """Take the best change while one helps, then try random ones until the budget is spent.

    The answer is never worse than ``sends``, and the same for the same seed and moves. Every change
    taken is told, also one that only leads back to the best plan's value.
    """
    best = _descend(sends, judge, budget, tell)
    generator = random.Random(seed)  # noqa: S311 - a search, not a secret
    here = best
    while budget.spend():
        there = _descend(_shaken(here, judge, generator), judge, budget, tell)
        if judge.value(there) <= judge.value(here):
            here = there
        if judge.value(here) < judge.value(best):
            best = here
    return best


def without_needless_launches(sends: Sends, judge: Judge, budget: Budget) -> Sends:
    """Join parts of a bucket, and neighbouring buckets, wherever the plan is no slower for it.

    Passes over the launches, O(launches) for each try, until one changes nothing or the budget is
    spent.
    """
    sends = min(_adjoined(sends), sends, key=judge.value)
    value = judge.value(sends)
    count = 0
    while count != len(sends):
        count = len(sends)
        at = 0
        while at < len(sends) and budget.spend():
            found = min(_fewer(sends, at, judge), key=judge.value, default=sends)
            if len(found) < len(sends) and judge.value(found) <= value:
                sends, value = found, judge.value(found)
            else:
                at += 1
    return sends


def _fewer(sends: Sends, at: int, judge: Judge) -> Iterator[Sends]:
    """Plans with one launch fewer: this one joined with a later part of it, or with the next."""
    here = sends[at]
    for j in range(at + 1, len(sends)):
        if sends[j].bucket == here.bucket:
            joined = Send(here.bucket, here.bytes + sends[j].bytes)
            yield (*sends[:at], *sends[at + 1 : j], joined, *sends[j + 1 :])
            yield (*sends[:at], joined, *sends[at + 1 : j], *sends[j + 1 :])
            break
    if at + 1 < len(sends):
        there = sends[at + 1]
        fused = judge.whole(_union(here.bucket, there.bucket))
        if fused.bytes == here.bytes + there.bytes:
            yield (*sends[:at], fused, *sends[at + 2 :])


def _part_pairs(sends: Sends) -> Iterator[tuple[int, int]]:
    """Places of neighbouring parts of one bucket."""
    seen: dict[tuple[int, ...], int] = {}
    for j, (members, _) in enumerate(sends):
        if members in seen:
            yield seen[members], j
        seen[members] = j


def _adjoined(sends: Sends) -> Sends:
    """Make one launch of neighbouring parts of the same bucket: one start-up fewer."""
    joined: list[Send] = []
    for send in sends:
        if joined and joined[-1].bucket == send.bucket:
            joined[-1] = Send(send.bucket, joined[-1].bytes + send.bytes)
        else:
            joined.append(send)
    return tuple(joined)


def _descend(sends: Sends, judge: Judge, budget: Budget, tell: Tell) -> Sends:
    value = judge.run(sends).value
    while value > judge.floor:
        best = None
        for plan in _changes(sends, judge):
            if not budget.spend():
                break
            found = judge.run(plan).value
            if found < value - slack(value):
                best, value = plan, found
        if best is None:
            return sends
        sends = best
        tell(sends, max(judge.floor, value))
    return sends


def _changes(sends: Sends, judge: Judge) -> Iterator[Sends]:
    """Plans one step away from this one, around its deciding stretch."""
    _, first, last = judge.run(sends)
    whole = [judge.whole(members).bytes == size for members, size in sends]
    for i in range(first, last + 1):
        if whole[i]:
            yield from _moved(sends, i)
            yield from _joined(sends, i, whole, judge)
            for some in _ends_of(sends[i].bucket):
                yield from _given(sends, i, some, whole, judge)
    yield from _cut(sends, first, last, whole, judge)
    yield from _shifted(sends)


def _moved(sends: Sends, i: int) -> Iterator[Sends]:
    """Send launch i at another place."""
    rest = (*sends[:i], *sends[i + 1 :])
    for place in range(len(sends)):
        if place != i:
            yield (*rest[:place], sends[i], *rest[place:])


def _joined(sends: Sends, i: int, whole: Sequence[bool], judge: Judge) -> Iterator[Sends]:
    """Send launch i together with another one, in that one's place."""
    for j in range(len(sends)):
        if j != i and whole[j]:
            changed = list(sends)
            changed[j] = judge.whole(_union(sends[i].bucket, sends[j].bucket))
            del changed[i]
            yield tuple(changed)


def _given(
    sends: Sends, i: int, some: tuple[int, ...], whole: Sequence[bool], judge: Judge
) -> Iterator[Sends]:
    """Move tensors of launch i to another launch, or to one of their own."""
    kept = judge.whole(tuple(k for k in sends[i].bucket if k not in some))
    for j in range(len(sends)):
        if j != i and whole[j]:
            changed = list(sends)
            changed[i] = kept
            changed[j] = judge.whole(_union(sends[j].bucket, some))
            yield tuple(changed)
    for place in sorted({0, i, i + 1, len(sends)}):
        changed = list(sends)
        changed[i] = kept
        changed.insert(place, judge.whole(some))
        yield tuple(changed)


def _ends_of(members: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """First and last tensors of a bucket: 1, 2, 4, ... of them, never all."""
    count = 1
    while count < len(members):
        yield members[:count]
        yield members[-count:]
        count *= 2


def _cut(
    sends: Sends, first: int, last: int, whole: Sequence[bool], judge: Judge
) -> Iterator[Sends]:
    """Send a part of a launch in the gap before the stretch, or cut it at a release in it."""
    starts = judge.starts(sends)
    releases = sorted({judge.bucket(sends[i].bucket)[0] for i in range(first, last + 1)})
    for i in range(first, last + 1):
        if not whole[i]:
            continue
        members, size = sends[i]
        free = starts[first - 1] + judge.cost.time(sends[first - 1].bytes) if first else 0.0
        begin = max(free, judge.bucket(members)[0])
        part = judge.cost.fits(starts[first] - begin, size)
        if 0 < part < size:
            head, tail = Send(members, part), Send(members, size - part)
            yield (*sends[:first], head, *sends[first:i], tail, *sends[i + 1 :])
            yield (*sends[:first], head, *sends[first:i], *sends[i + 1 :], tail)
        for release in releases:
            part = judge.cost.fits(release - starts[i], size)
            if 0 < part < size:
                head, tail = Send(members, part), Send(members, size - part)
                for place in range(i + 2, len(sends) + 1):
                    yield (*sends[:i], head, *sends[i + 1 : place], tail, *sends[place:])


def _shifted(sends: Sends) -> Iterator[Sends]:
    """Move bytes between two parts of one bucket."""
    for i, j in _part_pairs(sends):
        for source, target in ((i, j), (j, i)):
            step = sends[source].bytes // 2
            while step:
                changed = list(sends)
                changed[source] = Send(sends[source].bucket, sends[source].bytes - step)
                changed[target] = Send(sends[target].bucket, sends[target].bytes + step)
                yield tuple(changed)
                step //= 4


def _shaken(sends: Sends, judge: Judge, generator: random.Random) -> Sends:
    """Make two random changes: give tensors away, join launches, or swap places."""
    for _ in range(2):
        whole = [judge.whole(members).bytes == size for members, size in sends]
        i = generator.randrange(len(sends))
        choices = [*_moved(sends, i)]
        if whole[i]:
            choices += _joined(sends, i, whole, judge)
            for some in _ends_of(sends[i].bucket):
                choices += _given(sends, i, some, whole, judge)
        if choices:
            sends = generator.choice(choices)
    return sends


def _union(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted((*a, *b)))
