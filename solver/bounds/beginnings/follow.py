"""What follows a beginning of launches, until one comes to an end in a time or none is left."""

from collections.abc import Callable
from math import inf

from solver.bounds.beginnings.late import LateStates
from solver.bounds.beginnings.states import CollectiveWork

#: Of how many states at most, by how many figures they have, it is known that they are too late.
_REMEMBERED = 2_000_000
#: How many buckets are looked at for each state that may be, those that nothing follows included.
_BUCKETS = 20
#: How many states are looked at between two questions whether to stop.
_ASKED = 1_000


class Beginnings(LateStates):
    """The beginnings of launches that may all end in ``most`` [us], of ``looks`` states at most."""

    def __init__(
        self, these: CollectiveWork, most: float, looks: int, is_over: Callable[[], bool]
    ) -> None:
        super().__init__(these, most)
        self.looks = looks
        self.buckets = _BUCKETS * looks
        self.is_over = is_over
        self.known: dict[tuple[int, ...], list[tuple[float, ...]]] = {}
        self.remembered = 0

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

    def _figures(self, row: int) -> tuple[float, ...]:
        """When channels are free, what is left can be launched, and credits from each bucket on."""
        figures = [self.now[row * self.channels + c] for c in range(self.channels)]
        at = row * self.count
        for i in range(self.count):
            if self.left[row] >> i & 1:
                figures.append(max(self.release[at + i], figures[self.channel[i]]))
        credit, c = 0.0, -1
        for k in range(self.many[row] - 1, -1, -1):
            if self.channel[self._first(self.begun[at + k])] != c:
                credit, c = 0.0, self.channel[self._first(self.begun[at + k])]
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
                c = self.channel[self._first(self.begun[at + self.many[row] - 1 - k])]
                # it may wait until the other's channel is free
                if other[last + k] + figures[c] - other[c] < figures[last + k]:
                    is_later = True
                    break
            if not is_later:
                return True
        return False

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
            i = self._first(self.begun[at + k])
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
            self.buckets -= 1
            if self.buckets < 0:
                self.looks = -1
            if self.looks < 0:
                return True
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
        startup = self.startup[self._first(bucket)]
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
        if not other or self.lane[self._first(other)] != self.lane[self._first(bucket)]:
            return False
        if not self.startup[self._first(bucket)]:
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
        end = self.now[by + c] + self.startup[self._first(bucket)] + work
        self.sent[by + self.channels + c] = self.fresh[by + self.channels + c] = 0
        return self._is_sent(row + 1, c, bucket, end) and self._ends(row + 1)
