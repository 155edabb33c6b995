"""Whether collectives can all be sent in less than a time: every beginning of launches is tried.

A bucket is sent whole, or by one launch that begins it with no bytes, and one that ends it with all
of them, less its *credit*: what its channel waited since, each moment of it for one bucket. Of any
plan, parts in the middle may be left out and bytes moved to the last part, save those that run
where the channel would else wait: no launch ends later, so no plan is left out (MODEL.md, section
5, tried). All times are whole.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from interlace_check import NotCovered

#: Beginnings, and buckets that may be next, that are looked at.
MOST_LOOKS = 200_000


class Collectives(NamedTuple):
    """By number: releases, tails, launches' start-up and work, channels, and lanes of buckets.

    ``after`` has, of each, the longest path of compute from its end into each that comes after it,
    ``before`` the same from those that it comes after, which have lower numbers.
    """

    release: list[int]
    tail: list[int]
    startup: list[int]
    work: list[int]
    channel: list[int]
    lane: list[int]
    after: list[dict[int, int]]
    before: list[dict[int, int]]


class Beginning(NamedTuple):
    """What is in no bucket so far, and when each channel is free, and each collective released.

    By those that have ended. ``begun`` has, of each channel, its buckets begun, in order, each with
    what the channel waited while it was the last of them: credit of that one or one before it.
    """

    left: int
    begun: tuple[tuple[tuple[int, int], ...], ...]
    free: tuple[int, ...]
    release: tuple[int, ...]


@cache
def members(bucket: int) -> tuple[int, ...]:
    """Return what is in a bucket, which has a bit for each."""
    return tuple(i for i in range(bucket.bit_length()) if bucket >> i & 1)


class EveryBeginning:
    """The beginnings of launches of some collectives that may all end before a time."""

    def __init__(self, these: Collectives, goal: int) -> None:
        self.these, self.goal, self.looks = these, goal, 0
        self.work = cache(lambda bucket: sum(these.work[i] for i in members(bucket)))
        self.known: dict[tuple[object, ...], list[list[int]]] = {}

    def some_end(self) -> bool:
        """Tell whether one comes to an end: if none does, no plan takes less than the time."""
        count = max(self.these.channel) + 1
        every = (1 << len(self.these.work)) - 1
        return self._ends(Beginning(every, ((),) * count, (0,) * count, (*self.these.release,)))

    def _look(self) -> None:
        self.looks += 1
        if self.looks > MOST_LOOKS:
            raise NotCovered(f"too many beginnings: {MOST_LOOKS:,} were looked at")

    def _ends(self, state: Beginning) -> bool:
        """Tell whether a state comes to an end in time.

        It does not if one does not that has the same left and begun, and no later figure: that one
        could wait, which gives credit, and go on in the same way.
        """
        if not state.left and not any(state.begun):
            return True
        self._look()
        figures = self._figures(state)
        begun = (tuple(bucket for bucket, _ in each) for each in state.begun)
        known = self.known.setdefault((state.left, *begun), [])
        if any(all(o <= f for o, f in zip(other, figures, strict=True)) for other in known):
            return False
        if not self._is_late(state) and any(map(self._ends, self._next(state))):
            return True
        known.append(figures)
        return False

    def _figures(self, state: Beginning) -> list[int]:
        """When channels are free, what is left may be launched, and credit began to be given."""
        free = state.free
        times = [max(state.release[i], free[self.these.channel[i]]) for i in members(state.left)]
        for c, each in enumerate(state.begun):
            times += [free[c] - sum(wait for _, wait in each[k:]) for k in range(len(each))]
        return [*free, *times]

    def _end(self, state: Beginning, c: int, some: list[int]) -> int:
        """Least end of some of the buckets begun on a channel, by all credit that they may have."""
        end, credit = state.free[c], 0
        for k in reversed(range(some[0], len(state.begun[c]))):
            bucket, wait = state.begun[c][k]
            credit += wait
            if k in some:
                work = self.work(bucket)
                end += self._startup(bucket) + work - min(work, credit)
                credit -= min(work, credit)
        return end

    def _startup(self, bucket: int) -> int:
        return self.these.startup[members(bucket)[0]]

    def _is_late(self, state: Beginning) -> bool:
        """Tell whether what a channel has left, of tails no less than some, ends too late.

        A collective begins when it is released and all before it have ended, each at the earliest.
        """
        left, begun, free, release = state
        these = self.these
        head: dict[int, int] = {}
        end: dict[int, int] = {}
        for c, each in enumerate(begun):
            for k, (bucket, _) in enumerate(each):
                end |= dict.fromkeys(members(bucket), self._end(state, c, [k]))
        for j in members(left):
            ends = [end[i] + path for i, path in these.before[j].items() if i in end]
            head[j] = max(release[j], free[these.channel[j]], *ends)
            end[j] = head[j] + these.startup[j] + these.work[j]
        by_head = sorted(head, key=lambda i: -head[i])
        for i in end:
            c, tail = these.channel[i], these.tail[i]
            work, last, lanes = 0, 0, set[int]()
            for j in by_head:
                if these.channel[j] == c and these.tail[j] >= tail:
                    work += these.work[j] + (these.lane[j] not in lanes) * these.startup[j]
                    lanes.add(these.lane[j])
                    last = max(last, head[j] + work)
            due = [
                k
                for k, (bucket, _) in enumerate(begun[c])
                if any(these.tail[j] >= tail for j in members(bucket))
            ]
            if due:
                last = max(last, self._end(state, c, due) + work)
            if last + tail >= self.goal:
                return True
        return False

    def _next(self, state: Beginning) -> Iterator[Beginning]:
        """Yield what may come next, on the channel on which something may end first.

        Nothing else ends before, so what starts there until then is released by what has ended.
        What starts later may as well come behind it, unless the channel has to wait for it, for the
        credit, and what waits that could start before may come first.
        """
        left, begun, free, release = state
        these = self.these
        unsent = left | sum(bucket for each in begun for bucket, _ in each)
        starts = {
            i: max(release[i], free[these.channel[i]])
            for i in members(left)
            if not any(unsent >> j & 1 for j in these.before[i])
        }
        ends = [(t + these.startup[i] + these.work[i], these.channel[i]) for i, t in starts.items()]
        ends += [
            (self._end(state, c, [k]), c) for c, each in enumerate(begun) for k in range(len(each))
        ]
        end, first = min(ends)
        if end == free[first]:  # without a start-up: any channel may be next
            for c in range(len(free)):
                yield from self._ended(state, c)
                yield from self._launched(state, c, [*starts])
            return
        yield from self._ended(state, first)
        yield from self._launched(state, first, [i for i, t in starts.items() if t < end])
        later = [
            max([release[j], *(end + t for i, t in these.before[j].items() if unsent >> i & 1)])
            for j in members(left)
            if these.channel[j] == first
        ]
        if begun[first] and max(later, default=0) >= end:
            yield self._waits(state, first, min(t for t in later if t >= end))

    def _ended(self, state: Beginning, c: int) -> Iterator[Beginning]:
        """Yield what the last part of each bucket that a channel has begun leads to."""
        for k, (bucket, _) in enumerate(state.begun[c]):
            each, work = [*state.begun[c]], self.work(bucket)
            for n in range(k, len(each)):  # first what the fewest others may use
                sent = min(work, each[n][1])
                work -= sent
                each[n] = each[n][0], each[n][1] - sent
            _, own = each.pop(k)
            if k:
                each[k - 1] = each[k - 1][0], each[k - 1][1] + own
            begun = _put(state.begun, c, tuple(each))
            end = state.free[c] + self._startup(bucket) + work
            yield from self._sent(state._replace(begun=begun), c, bucket, end)

    def _launched(self, state: Beginning, c: int, some: list[int]) -> Iterator[Beginning]:
        """Yield what each bucket of some leads to, whole and begun."""
        these = self.these
        for lane in sorted({these.lane[i] for i in some if these.channel[i] == c}):
            every = bucket = sum(1 << i for i in some if these.lane[i] == lane)
            while bucket:
                self._look()
                start = max(state.free[c], *(state.release[i] for i in members(bucket)))
                ready = self._waits(state, c, start)._replace(left=state.left ^ bucket)
                paid = start + self._startup(bucket)
                yield from self._sent(ready, c, bucket, paid + self.work(bucket))
                begun = _put(ready.begun, c, (*ready.begun[c], (bucket, 0)))
                yield ready._replace(begun=begun, free=_put(state.free, c, paid))
                bucket = bucket - 1 & every

    def _waits(self, state: Beginning, c: int, start: int) -> Beginning:
        """Let a channel wait until a time: credit of the bucket begun last."""
        *others, last = state.begun[c] or [None]
        if last:
            each = (*others, (last[0], last[1] + start - state.free[c]))
            state = state._replace(begun=_put(state.begun, c, each))
        return state._replace(free=_put(state.free, c, start))

    def _sent(self, state: Beginning, c: int, bucket: int, end: int) -> Iterator[Beginning]:
        """Yield a state in which a bucket has ended, if that is in time."""
        release = [*state.release]
        for i in members(bucket):
            for j, path in self.these.after[i].items():
                release[j] = max(release[j], end + path)
        if all(end + self.these.tail[i] < self.goal for i in members(bucket)):
            yield state._replace(free=_put(state.free, c, end), release=(*release,))


def _put(row: tuple[Any, ...], c: int, value: object) -> tuple[Any, ...]:
    return (*row[:c], value, *row[c + 1 :])
