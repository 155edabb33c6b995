"""Beginnings of launches as rows of figures: buckets begun, waits and credits."""

from array import array
from math import inf
from typing import NamedTuple

#: Most collectives that a bit mask has.
MOST_COLLECTIVES = 30
#: Most launches and waits that follow one another; each is some calls deep.
_ROWS = 150


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


class LaunchStates:
    """Room for the beginnings of launches of at most :data:`MOST_COLLECTIVES`.

    A state is a row of each of the arrays: the collectives in no bucket so far (a bit mask), the
    buckets begun in the order of channels, each channel's in the order in which they were begun,
    with a *credit* each (for how long its channel waited while it was the last one begun), when
    each channel is free, and when each collective is released by those that have ended.
    """

    def __init__(self, these: CollectiveWork, most: float) -> None:
        count = len(these.work)
        self.count = count
        self.channels = max(these.channel) + 1
        self.most = most
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
        self.rows = min(8 * count + 8, _ROWS)
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
        self.left[0] = (1 << count) - 1
        for i in range(count):
            self.release[i] = these.release[i]

    def _key(self, row: int) -> tuple[int, ...]:
        """Return the collectives left and the buckets begun."""
        at = row * self.count
        return (self.left[row], *[self.begun[at + k] for k in range(self.many[row])])

    def _rest(self, row: int, k: int) -> float:
        """Work of a bucket begun [us] without the credit that it may have."""
        at = row * self.count
        bucket = self.begun[at + k]
        c = self.channel[self._first(bucket)]
        rest = self._work_of(bucket)
        for other in range(k, self.many[row]):
            if self.begun[at + other] & self.on[c]:
                rest -= self.credit[at + other]
        return max(0.0, rest)

    def _has_begun(self, row: int, c: int) -> bool:
        """Tell whether a channel has begun buckets."""
        has_begun = False
        for k in range(self.many[row]):
            has_begun = has_begun or self.begun[row * self.count + k] & self.on[c] != 0
        return has_begun

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
        while k and self.channel[self._first(self.begun[at + k - 1])] > c:
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

    def _most(self, paths: "array[float]", first: int, step: int, bucket: int) -> float:
        """Return the longest path of a bucket's."""
        most = -inf
        for i in range(self.count):
            if bucket >> i & 1:
                most = max(most, paths[first + step * i])
        return most

    def _first(self, bucket: int) -> int:
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
