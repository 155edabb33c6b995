"""What ends too late however a beginning of launches goes on."""

from math import inf

from solver.bounds.beginnings.states import LaunchStates


class LateStates(LaunchStates):
    """States, and whether what each leaves ends later than ``most`` [us], whatever is next."""

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
            i = self._first(bucket)
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
                total += self.startup[self._first(bucket)] + work - sent
        if are_some:
            best = max(best, self.now[row * self.channels + c] + total)
        return best + tail
