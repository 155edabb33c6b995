"""Whether collectives can all end in less than a time, by trying every beginning of launches.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures. Why nothing is left out is in MODEL.md section 5, *tried*.
"""

from array import array
from collections.abc import Callable
from math import inf
from typing import NamedTuple

#: Of how many states at most, by how many figures they have, it is known that they are too late.
_REMEMBERED = 2_000_000
#: How many states are looked at between two questions whether to stop.
_ASKED = 1_000


class CollectiveWork(NamedTuple):
    """Collectives whose launches take a start-up and the work of their bytes, by index.

    Attributes
    ----------
    release, tail
        Longest path of compute from the start into each, and from each to the end [us].
    between
        Longest path of compute from the end of one into another [us]; -inf where there is none.
        Paths through collectives are no such paths.
    startup, work
        Of each launch that has its bytes, and of all its bytes [us]; one start-up for each lane.
    channel, lane
        Channel of each, and lane: those of one lane may share a launch.
    """

    release: list[float]
    tail: list[float]
    between: list[list[float]]
    startup: list[float]
    work: list[float]
    channel: list[int]
    lane: list[int]


class Beginnings:
    """The beginnings of launches of at most 30 collectives that may all end in ``most`` [us].

    A state is a row of each of the arrays: the collectives in no bucket so far (a bit mask), the
    buckets begun in the order of channels, each channel's in the order in which they were begun,
    with a *credit* each (for how long its channel waited while it was the last one begun), when
    each channel is free, and when each collective is released by those that have ended.
    """

    def __init__(
        self, these: CollectiveWork, most: float, looks: int, is_over: Callable[[], bool]
    ) -> None:
        count = len(these.work)
        self.count = count
        self.channels = max(these.channel) + 1
        self.most = most
        self.looks = looks
        self.is_over = is_over
        self.startup = array("d", these.startup)
        self.work = array("d", these.work)
        self.tail = array("d", these.tail)
        self.channel = array("i", these.channel)
        self.lane = array("i", these.lane)
        self.between = array("d", [path for row in these.between for path in row])
        self.before = array("i", [_mask(these, j) for j in range(count)])
        self.order = array("i", _in_order(self.before))
        self.longest = array("d", self.between)  # paths through collectives alone in a launch, too
        self.above = array("i", self.before)  # all that come before, directly or not
        for j in self.order:
            for i in range(count):
                if self.above[j] >> i & 1:
                    self.above[j] |= self.above[i]
            for i in range(count):
                into = self.longest[i * count + j]
                for k in range(count) if into > -inf else ():
                    path = into + self.startup[j] + self.work[j] + self.between[j * count + k]
                    self.longest[i * count + k] = max(self.longest[i * count + k], path)
        self.on = array("i", [0] * self.channels)
        for i in range(count):
            self.on[self.channel[i]] |= 1 << i
        self.rows = 8 * count + 8
        self.left = array("i", [0] * self.rows)
        self.many = array("i", [0] * self.rows)
        self.begun = array("i", [0] * (self.rows * count))
        self.credit = array("d", [0.0] * (self.rows * count))
        self.now = array("d", [0.0] * (self.rows * self.channels))
        self.release = array("d", [0.0] * (self.rows * count))
        self.sent = array("i", [0] * (self.rows * self.channels))  # whole by the launch before
        self.started = array("d", [0.0] * (self.rows * self.channels))  # that launch
        self.fresh = array("i", [0] * (self.rows * self.channels))  # begun by the launch before
        self.head = array("d", [0.0] * count)
        self.end = array("d", [0.0] * count)
        self.late = array("d", [0.0] * count)
        self.sorted = array("i", [0] * count)
        self.known: dict[tuple[int, ...], list[tuple[float, ...]]] = {}
        self.remembered = 0
        self.left[0] = (1 << count) - 1
        for i in range(count):
            self.release[i] = these.release[i]

    def some_end(self) -> bool:
        """Tell whether some beginning comes to an end in the time, or there are too many."""
        return self._ends(0)

    def _ends(self, row: int) -> bool:
        """Tell whether a state comes to an end in the time, or there are too many."""
        if not self.left[row] and not self.many[row]:
            return True
        self.looks -= 1
        if not self.looks % _ASKED and self.is_over():
            self.looks = -1
        if self.looks < 0 or row + 1 >= self.rows:
            self.looks = -1
            return True
        key = self._key(row)
        figures = self._figures(row)
        known = self.known.get(key)
        if known is not None and self._is_known(row, figures, known):
            return False
        if not self._is_late(row) and self._follows(row):
            return True
        self.remembered += len(figures)
        if self.remembered <= _REMEMBERED:
            self.known.setdefault(key, []).append(figures)
        return False

    def _key(self, row: int) -> tuple[int, ...]:
        """Return the collectives left and the buckets begun."""
        at = row * self.count
        return (self.left[row], *[self.begun[at + k] for k in range(self.many[row])])

    def _figures(self, row: int) -> tuple[float, ...]:
        """When channels are free, what is left can be launched, and credits from each bucket on."""
        figures = [self.now[row * self.channels + c] for c in range(self.channels)]
        at = row * self.count
        for i in range(self.count):
            if self.left[row] >> i & 1:
                figures.append(max(self.release[at + i], figures[self.channel[i]]))
        credit, c = 0.0, -1
        for k in range(self.many[row] - 1, -1, -1):
            if self.channel[_first(self.begun[at + k])] != c:
                credit, c = 0.0, self.channel[_first(self.begun[at + k])]
            credit += self.credit[at + k]
            figures.append(credit)
        return tuple(figures)

    def _is_known(
        self, row: int, figures: tuple[float, ...], known: list[tuple[float, ...]]
    ) -> bool:
        """Tell whether a state with the same rest ahead, that is no later, is known to be late."""
        at = row * self.count
        last = len(figures) - self.many[row]
        for other in known:
            is_later = False
            for k in range(last):
                if other[k] > figures[k]:
                    is_later = True
                    break
            if is_later:
                continue
            for k in range(self.many[row]):
                c = self.channel[_first(self.begun[at + self.many[row] - 1 - k])]
                # it may wait until the other's channel is free
                if other[last + k] + figures[c] - other[c] < figures[last + k]:
                    is_later = True
                    break
            if not is_later:
                return True
        return False

    def _is_late(self, row: int) -> bool:
        """Tell whether what is left ends too late, whatever is launched next."""
        unsent = self._end_begun(row)
        for place in range(self.count):
            i = self.order[place]
            if self.left[row] >> i & 1:
                self.head[i] = self._head(row, i, unsent)
                self.end[i] = self.head[i] + self.startup[i] + self.work[i]
            if unsent >> i & 1 and self.end[i] + self.tail[i] > self.most:
                return True
        for place in range(self.count - 1, -1, -1):
            i = self.order[place]
            if unsent >> i & 1:
                tail = self.tail[i]
                for j in range(self.count):
                    if self.left[row] >> j & 1 and self.before[j] >> i & 1:
                        after = self.startup[j] + self.work[j] + self.late[j]
                        tail = max(tail, self.between[i * self.count + j] + after)
                self.late[i] = tail
        return self._carried(row, unsent) > self.most

    def _end_begun(self, row: int) -> int:
        """Set the least ends of buckets begun; return what has not ended."""
        unsent = self.left[row]
        for k in range(self.many[row]):
            bucket = self.begun[row * self.count + k]
            unsent |= bucket
            i = _first(bucket)
            now = self.now[row * self.channels + self.channel[i]]
            end = now + self.startup[i] + self._rest(row, k)
            for i in range(self.count):
                if bucket >> i & 1:
                    self.head[i] = now
                    self.end[i] = end
        return unsent

    def _head(self, row: int, j: int, unsent: int) -> float:
        """Return the least start [us] of what is in no bucket, by the ends of what precedes it."""
        now = self.now[row * self.channels + self.channel[j]]
        head = max(self.release[row * self.count + j], now)
        for i in range(self.count):
            if self.before[j] & unsent & 1 << i:
                head = max(head, self.end[i] + self.between[i * self.count + j])
        above = self.above[j] & unsent
        if above & above - 1:
            for i in range(self.count):
                if above >> i & 1:
                    self.late[i] = self.longest[i * self.count + j]
            head = max(head, self._carried(row, above))
        return head

    def _carried(self, row: int, some: int) -> float:
        """Least time [us] when some collectives and what comes after each (``late``) have ended."""
        best = 0.0
        for c in range(self.channels):
            size = 0
            for i in range(self.count):
                if some & self.on[c] & self.left[row] & 1 << i:
                    place = size
                    while place and self.head[self.sorted[place - 1]] < self.head[i]:
                        self.sorted[place] = self.sorted[place - 1]
                        place -= 1
                    self.sorted[place] = i
                    size += 1
            for i in range(self.count):
                if some & self.on[c] & 1 << i:
                    best = max(best, self._carried_before(row, some, c, size, self.late[i]))
        return best

    def _carried_before(self, row: int, some: int, c: int, size: int, tail: float) -> float:
        """Return the same of a channel's that have so long a tail [us] or longer."""
        at = row * self.count
        best, total, lanes = -inf, 0.0, 0
        for place in range(size):
            i = self.sorted[place]
            if self.late[i] >= tail:
                if not lanes >> self.lane[i] & 1:
                    lanes |= 1 << self.lane[i]
                    total += self.startup[i]
                total += self.work[i]
                best = max(best, self.head[i] + total)
        credit, are_some = 0.0, False
        for k in range(self.many[row] - 1, -1, -1):
            bucket = self.begun[at + k]
            if not bucket & self.on[c]:
                continue
            credit += self.credit[at + k]
            due = False
            for i in range(self.count):
                due = due or (bucket & some & 1 << i != 0 and self.late[i] >= tail)
            if due:
                are_some = True
                work = self._work_of(bucket)
                sent = min(credit, work)
                credit -= sent
                total += self.startup[_first(bucket)] + work - sent
        if are_some:
            best = max(best, self.now[row * self.channels + c] + total)
        return best + tail

    def _follows(self, row: int) -> bool:
        """Tell whether a state comes to an end by some next launch on the channel that may end one.

        No collective ends before the least end of one that could be launched by itself, or of a
        bucket begun. So on that channel what starts before can be launched now. Of what starts
        later, only what is released later is worth to wait for, and that where buckets are begun.
        """
        at, by = row * self.count, row * self.channels
        unsent = self.left[row]
        for k in range(self.many[row]):
            unsent |= self.begun[at + k]
        least, c = inf, 0
        for i in range(self.count):
            if self.left[row] >> i & 1 and not self.before[i] & unsent:
                start = max(self.release[at + i], self.now[by + self.channel[i]])
                end = start + self.startup[i] + self.work[i]
                if end < least or (end == least and self.channel[i] < c):
                    least, c = end, self.channel[i]
        for k in range(self.many[row]):
            i = _first(self.begun[at + k])
            end = self.now[by + self.channel[i]] + self.startup[i] + self._rest(row, k)
            if end < least or (end == least and self.channel[i] < c):
                least, c = end, self.channel[i]
        if least > self.now[by + c]:
            return self._follows_on(row, c, unsent, least)
        # without start-ups a bucket begun may end at once: anything on any channel may be next
        ends = False
        for c in range(self.channels):
            ends = ends or self._follows_on(row, c, unsent, inf)
        return ends

    def _follows_on(self, row: int, c: int, unsent: int, least: float) -> bool:
        """Tell whether a state comes to an end by a launch on a channel that starts before a time.

        Or by one of what is released then or later, where buckets are begun.
        """
        for k in range(self.many[row]):
            if self.begun[row * self.count + k] & self.on[c] and self._ends_bucket(row, k, c):
                return True
        seen = 0
        for i in range(self.count):
            if not seen >> self.lane[i] & 1 and self.on[c] >> i & 1:
                seen |= 1 << self.lane[i]
                if self._launches(row, c, self.lane[i], unsent, least):
                    return True
        if not self._has_begun(row, c):
            return False  # a collective alone ends by then, and its launch later is the shorter
        release = self._next_release(row, c, unsent, least)
        if release == inf:
            return False
        self._copy(row)
        self._wait(row + 1, c, release)
        return self._ends(row + 1)

    def _has_begun(self, row: int, c: int) -> bool:
        """Tell whether a channel has begun buckets."""
        has_begun = False
        for k in range(self.many[row]):
            has_begun = has_begun or self.begun[row * self.count + k] & self.on[c] != 0
        return has_begun

    def _next_release(self, row: int, c: int, unsent: int, least: float) -> float:
        """When the next collective of a channel is released at a time or later [us], at least.

        Nothing that is not sent ends before that time.
        """
        following = inf
        for j in range(self.count):
            if self.left[row] & self.on[c] & 1 << j:
                release = self.release[row * self.count + j]
                for i in range(self.count):
                    if self.before[j] & unsent & 1 << i:
                        release = max(release, least + self.between[i * self.count + j])
                if release >= least:
                    following = min(following, release)
        return following

    def _rest(self, row: int, k: int) -> float:
        """Work of a bucket begun [us] without the credit that it may have."""
        at = row * self.count
        bucket = self.begun[at + k]
        c = self.channel[_first(bucket)]
        rest = self._work_of(bucket)
        for other in range(k, self.many[row]):
            if self.begun[at + other] & self.on[c]:
                rest -= self.credit[at + other]
        return max(0.0, rest)

    def _launches(self, row: int, c: int, lane: int, unsent: int, least: float) -> bool:
        """Tell whether a state comes to an end by launching a lane's bucket, or its first part."""
        at, by = row * self.count, row * self.channels
        some, one = 0, 0
        for i in range(self.count):
            is_free = self.left[row] >> i & 1 != 0 and not self.before[i] & unsent
            start = max(self.release[at + i], self.now[by + c])
            if is_free and self.lane[i] == lane and start < least:
                some |= 1 << i
                one = i
        bucket = some
        while bucket:
            # of no start-up each goes by itself
            may_be_several = self.startup[one] > 0.0
            if (may_be_several or not bucket & bucket - 1) and self._launch(row, c, bucket):
                return True
            bucket = bucket - 1 & some
        return False

    def _launch(self, row: int, c: int, bucket: int) -> bool:
        """Tell whether a state comes to an end by launching a bucket, or its first part."""
        at, by = row * self.count, row * self.channels
        start = self.now[by + c]
        for i in range(self.count):
            if bucket >> i & 1:
                start = max(start, self.release[at + i])
        if self._joins(row, c, bucket):
            return False
        startup = self.startup[_first(bucket)]
        end = start + startup + self._work_of(bucket)
        self._copy(row)
        self._wait(row + 1, c, start)
        self.left[row + 1] ^= bucket
        if self._is_sent(row + 1, c, bucket, end):
            self.sent[by + self.channels + c] = bucket
            self.started[by + self.channels + c] = start
            if self._ends(row + 1):
                return True
        if not self.left[row] & self.on[c] & ~bucket and not self._has_begun(row, c):
            return False  # nothing could come in between
        self._copy(row)
        self._wait(row + 1, c, start)
        self.left[row + 1] ^= bucket
        self._begin(row + 1, c, bucket)
        self.now[by + self.channels + c] = start + startup
        return self._ends(row + 1)

    def _joins(self, row: int, c: int, bucket: int) -> bool:
        """Tell whether a bucket could go with the one sent before, and nothing waits longer."""
        at = row * self.count
        other = self.sent[row * self.channels + c]
        if not other or self.lane[_first(other)] != self.lane[_first(bucket)]:
            return False
        if not self.startup[_first(bucket)]:
            return False
        for i in range(self.count):
            if bucket >> i & 1 and self.release[at + i] > self.started[row * self.channels + c]:
                return False
        if self._most(self.tail, 0, 1, other) > self._most(self.tail, 0, 1, bucket):
            return False
        for j in range(self.count):
            if self._most(self.between, j, self.count, other) > self._most(
                self.between, j, self.count, bucket
            ):
                return False
        return True

    def _most(self, paths: "array[float]", first: int, step: int, bucket: int) -> float:
        """Return the longest path of a bucket's."""
        most = -inf
        for i in range(self.count):
            if bucket >> i & 1:
                most = max(most, paths[first + step * i])
        return most

    def _ends_bucket(self, row: int, k: int, c: int) -> bool:
        """Tell whether a state comes to an end by launching the last part of a bucket begun."""
        at, by = row * self.count, row * self.channels
        bucket = self.begun[at + k]
        if self.fresh[by + c] == bucket:
            return False  # whole it would have ended as early
        work = self._work_of(bucket)
        self._copy(row)
        after = at + self.count
        # the credit that the fewest others could use goes first
        for other in range(k, self.many[row]):
            if self.begun[at + other] & self.on[c]:
                sent = min(work, self.credit[at + other])
                work -= sent
                self.credit[after + other] -= sent
        # what is left of its own goes to the bucket begun before it
        for other in range(k - 1, -1, -1):
            if self.begun[at + other] & self.on[c]:
                self.credit[after + other] += self.credit[after + k]
                break
        for other in range(k, self.many[row] - 1):
            self.begun[after + other] = self.begun[after + other + 1]
            self.credit[after + other] = self.credit[after + other + 1]
        self.many[row + 1] -= 1
        end = self.now[by + c] + self.startup[_first(bucket)] + work
        self.sent[by + self.channels + c] = self.fresh[by + self.channels + c] = 0
        return self._is_sent(row + 1, c, bucket, end) and self._ends(row + 1)

    def _is_sent(self, row: int, c: int, bucket: int, end: float) -> bool:
        """End a bucket in a state; tell whether that is in time."""
        at = row * self.count
        self.now[row * self.channels + c] = end
        self.fresh[row * self.channels + c] = 0
        for i in range(self.count):
            if bucket >> i & 1:
                if end + self.tail[i] > self.most:
                    return False
                for j in range(self.count):
                    path = self.between[i * self.count + j]
                    self.release[at + j] = max(self.release[at + j], end + path)
        return True

    def _begin(self, row: int, c: int, bucket: int) -> None:
        """Put a bucket behind those that its channel has begun."""
        at = row * self.count
        k = self.many[row]
        while k and self.channel[_first(self.begun[at + k - 1])] > c:
            self.begun[at + k] = self.begun[at + k - 1]
            self.credit[at + k] = self.credit[at + k - 1]
            k -= 1
        self.begun[at + k] = bucket
        self.credit[at + k] = 0.0
        self.many[row] += 1
        self.sent[row * self.channels + c] = 0
        self.fresh[row * self.channels + c] = bucket

    def _wait(self, row: int, c: int, start: float) -> None:
        """Let a channel wait until a time: credit of the bucket that it has begun last."""
        at = row * self.count
        for k in range(self.many[row] - 1, -1, -1):
            if self.begun[at + k] & self.on[c]:
                self.credit[at + k] += start - self.now[row * self.channels + c]
                break
        self.now[row * self.channels + c] = start

    def _copy(self, row: int) -> None:
        """Copy a state to the next row."""
        self.left[row + 1] = self.left[row]
        self.many[row + 1] = self.many[row]
        for k in range(row * self.count, (row + 1) * self.count):
            self.begun[k + self.count] = self.begun[k]
            self.credit[k + self.count] = self.credit[k]
            self.release[k + self.count] = self.release[k]
        for k in range(row * self.channels, (row + 1) * self.channels):
            self.now[k + self.channels] = self.now[k]
            self.sent[k + self.channels] = self.sent[k]
            self.started[k + self.channels] = self.started[k]
            self.fresh[k + self.channels] = self.fresh[k]

    def _work_of(self, bucket: int) -> float:
        """Return the work of all bytes of a bucket [us]."""
        work = 0.0
        for i in range(self.count):
            if bucket >> i & 1:
                work += self.work[i]
        return work


def _first(bucket: int) -> int:
    """Return the first collective of a bucket."""
    i = 0
    while not bucket >> i & 1:
        i += 1
    return i


def _mask(these: CollectiveWork, j: int) -> int:
    """Return the collectives that come before one with only compute between, as a bit mask."""
    return sum(1 << i for i, row in enumerate(these.between) if row[j] > -inf)


def _in_order(before: "array[int]") -> list[int]:
    """Put collectives in an order in which none comes before one that precedes it."""
    order: list[int] = []
    done = 0
    while len(order) < len(before):
        for j, mask in enumerate(before):
            if not done >> j & 1 and not mask & ~done:
                order.append(j)
                done |= 1 << j
    return order
