"""Memory of a program in the making, if all that is left of it ran in a safe order."""

from array import array
from collections.abc import Sequence

from solver.programs.search.flat import Flat

#: The level of an op that is over, or takes no time: it is never too high.
_NEVER = -(1 << 61)


class SafeMemory:
    """Bytes now, and at each op of a safe order when what is left runs in that order.

    The ops are issued one after another, in any order that the graph allows, and end later. What
    they write is held from then on, what they read until they and all other readers have ended.
    In the safe order each op ends before the next is issued.

    Attributes
    ----------
    level
        Bytes held now.
    high
        By place in the safe order: bytes held while that op would run.
    next
        The first place in the safe order whose op is not issued.
    """

    def __init__(self, flat: Flat, safe: Sequence[int]) -> None:
        """Lay out the safe order, of the positions of all ops; O(ops + uses of buffers)."""
        self.flat = flat
        some = max(1, flat.buffers)
        self.safe = array("i", [*safe, -1])
        self.turn = array("i", [0]) * (flat.ops + 1)
        for k, i in enumerate(safe):
            self.turn[i] = k
        readers: list[list[int]] = [[] for _ in range(flat.buffers)]
        for i in safe:
            for e in range(flat.reads_at[i], flat.reads_at[i + 1]):
                readers[flat.reads[e]].append(i)
        starts, flattened = [0], []
        for row in readers:
            flattened += row
            starts.append(len(flattened))
        self.readers_at = array("i", starts)
        self.readers = array("i", [*flattened, -1])
        self.takes_time = array("i", [0]) * (flat.ops + 1)
        for i in range(flat.ops):
            c = flat.number[i]
            time = flat.duration[i] if c < 0 else flat.costs((c,))[0]
            self.takes_time[i] = time > 0
        self.is_kept = array("i", [0]) * some
        self.last = array("i", [0]) * some
        self.unended = array("i", [0]) * some
        self.high = array("q", [0]) * (flat.ops + 1)
        self.more = array("q", [0]) * (flat.ops + 1)
        self.issued = array("i", [0]) * (flat.ops + 1)
        self.level = 0
        self.next = 0

    def begin(self) -> None:
        """Issue nothing yet; O(ops + uses of buffers)."""
        flat = self.flat
        for b in range(flat.buffers):
            begin, end = self.readers_at[b], self.readers_at[b + 1]
            self.is_kept[b] = flat.uses[b] >= 1 << 30
            self.unended[b] = end - begin
            self.last[b] = self.turn[self.readers[end - 1]] if end > begin else -1
        self.level = level = flat.base
        for k in range(flat.ops):
            i = self.safe[k]
            self.issued[i] = 0
            level += flat.written[i]
            self.high[k] = level if self.takes_time[i] else _NEVER
            for e in range(flat.reads_at[i], flat.reads_at[i + 1]):
                b = flat.reads[e]
                if self.last[b] == k and not self.is_kept[b]:
                    level -= flat.held[b]
            for e in range(flat.writes_at[i], flat.writes_at[i + 1]):
                b = flat.writes[e]
                if self.last[b] < 0 and not self.is_kept[b]:
                    level -= flat.held[b]
        self.next = 0

    def is_ready(self, i: int) -> bool:
        """Tell whether all that an op comes after is issued."""
        flat = self.flat
        for e in range(flat.preds_at[i], flat.preds_at[i + 1]):
            if not self.issued[flat.preds[e]]:
                return False
        return True

    def is_room(self, members: list[int], copies: int) -> bool:
        """Tell whether ops may be issued together now, with so many bytes of copies."""
        flat = self.flat
        level = self.level + copies
        for i in members:
            level += flat.written[i]
        return level <= flat.memory

    def is_safe(self, members: list[int]) -> bool:
        """Tell whether the safe order still fits behind ops, or needs no more than without them."""
        flat = self.flat
        far = self.next
        for i in members:
            far = max(far, self.turn[i])
        for k in range(self.next, far + 1):
            self.more[k] = 0
        for i in members:
            p = self.turn[i]
            for e in range(flat.writes_at[i], flat.writes_at[i + 1]):
                b = flat.writes[e]
                if self.last[b] >= 0 or self.is_kept[b]:
                    self.more[self.next] += flat.held[b]
                    self.more[p] -= flat.held[b]
            for e in range(flat.reads_at[i], flat.reads_at[i + 1]):
                b = flat.reads[e]
                if self.last[b] == p and not self.is_kept[b]:
                    self.more[max(self.next, self._last_but(b, i) + 1)] -= flat.held[b]
                    self.more[p] += flat.held[b]
        level = 0
        for k in range(self.next, far):
            level += self.more[k]
            if level > 0 and self.high[k] + level > flat.memory:
                return False
        return True

    def _last_but(self, b: int, i: int) -> int:
        """Return the last place of an op not issued that reads a buffer, of others than one."""
        last = -1
        for e in range(self.readers_at[b], self.readers_at[b + 1]):
            j = self.readers[e]
            if j != i and not self.issued[j]:
                last = max(last, self.turn[j])
        return last

    def issue(self, i: int) -> None:
        """Begin an op, that is ready."""
        flat = self.flat
        p = self.turn[i]
        self.issued[i] = 1
        self.level += flat.written[i]
        self.high[p] = _NEVER
        for e in range(flat.writes_at[i], flat.writes_at[i + 1]):
            b = flat.writes[e]
            if self.last[b] >= 0 or self.is_kept[b]:
                for k in range(self.next, p):
                    self.high[k] += flat.held[b]
        for e in range(flat.reads_at[i], flat.reads_at[i + 1]):
            b = flat.reads[e]
            if self.last[b] == p:
                self.last[b] = self._last_but(b, i)
                if not self.is_kept[b]:
                    for k in range(max(self.next, self.last[b] + 1), p):
                        self.high[k] -= flat.held[b]
        while self.next < flat.ops and self.issued[self.safe[self.next]]:
            self.next += 1

    def end(self, i: int) -> None:
        """End an op: what it was the last to read is free."""
        flat = self.flat
        for e in range(flat.reads_at[i], flat.reads_at[i + 1]):
            b = flat.reads[e]
            self.unended[b] -= 1
            if self.unended[b] == 0 and not self.is_kept[b]:
                self.level -= flat.held[b]
        for e in range(flat.writes_at[i], flat.writes_at[i + 1]):
            b = flat.writes[e]
            if self.readers_at[b + 1] == self.readers_at[b] and not self.is_kept[b]:
                self.level -= flat.held[b]

    def hold(self, copies: int) -> None:
        """Hold so many bytes more."""
        self.level += copies
