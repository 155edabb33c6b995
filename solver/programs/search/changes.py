"""Changes of a draft that keep it in order, and can be taken back."""

from array import array

from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat


class UndoableDraft(ProgramDraft):
    """A draft whose last change can be taken back.

    Attributes
    ----------
    low, high
        The places between which the last change moved items.
    """

    def __init__(self, flat: Flat) -> None:
        """Make a draft without a change."""
        super().__init__(flat)
        items = flat.ops + 2 * flat.collectives
        self.saved = array("i", [0]) * items
        self.moved = array("i", [0]) * items
        self.marked = array("i", [0]) * items
        self.mark = 0
        self.low, self.high = 0, -1
        self.old_length = 0
        self.old_buckets: list[tuple[int, list[int]]] = []
        self.cutoff = flat.problem.limits.bucket_bytes or 1 << 61

    def begin(self) -> None:
        """Forget the last change: what comes next is a change of its own."""
        self.low, self.high = self.length, -1
        self.old_length = self.length
        self.old_buckets = []

    def keep(self, low: int, high: int) -> None:
        """Save the places from ``low`` to ``high``, before a change of them."""
        high = min(high, self.old_length - 1)
        if self.high < 0:
            for k in range(low, high + 1):
                self.saved[k] = self.order[k]
            self.low, self.high = low, high
            return
        for k in range(low, self.low):
            self.saved[k] = self.order[k]
        for k in range(self.high + 1, high + 1):
            self.saved[k] = self.order[k]
        self.low = min(self.low, low)
        self.high = max(self.high, high)

    def take_back(self) -> None:
        """Undo what was changed since :meth:`begin`."""
        for k in range(self.low, self.high + 1):
            item = self.saved[k]
            self.order[k] = item
            self.place[item] = k
        self.length = self.old_length
        for b, members in reversed(self.old_buckets):
            self.set_members(b, members)

    def _mark_before(self, item: int) -> None:
        """Mark the items that an item comes after."""
        flat = self.flat
        if item < flat.ops:
            self._mark_preds(item)
            return
        if item >= flat.ops + flat.collectives:
            self.marked[item - flat.collectives] = self.mark
            return
        c = self.first[item - flat.ops]
        while c >= 0:
            self._mark_preds(flat.position[c])
            c = self.follower[c]

    def _mark_preds(self, i: int) -> None:
        flat = self.flat
        for e in range(flat.preds_at[i], flat.preds_at[i + 1]):
            j = flat.preds[e]
            c = flat.number[j]
            self.marked[j if c < 0 else flat.ops + self.home[c]] = self.mark

    def _mark_behind(self, item: int) -> None:
        """Mark the items that come after an item."""
        flat = self.flat
        if item < flat.ops:
            self._mark_succs(item)
            return
        if item >= flat.ops + flat.collectives:
            return
        self.marked[item + flat.collectives] = self.mark
        c = self.first[item - flat.ops]
        while c >= 0:
            self._mark_succs(flat.position[c])
            c = self.follower[c]

    def _mark_succs(self, i: int) -> None:
        flat = self.flat
        for e in range(flat.succs_at[i], flat.succs_at[i + 1]):
            j = flat.succs[e]
            c = flat.number[j]
            self.marked[j if c < 0 else flat.ops + self.home[c]] = self.mark

    def pull(self, item: int, to: int) -> int:
        """Move an item to a place before its own, with all between that it comes after.

        Returns
        -------
        int
            The item's place then.

        Notes
        -----
        O(places between + edges).
        """
        own = self.place[item]
        if to >= own:
            return own
        self.keep(to, own)
        self.mark += 1
        self.marked[item] = self.mark
        # from behind: what is marked goes before, what is not stays behind
        behind = own
        count = 0
        for k in range(own, to - 1, -1):
            other = self.order[k]
            if self.marked[other] == self.mark:
                self._mark_before(other)
                self.moved[count] = other
                count += 1
            else:
                self.order[behind] = other
                self.place[other] = behind
                behind -= 1
        for k in range(count):
            other = self.moved[k]
            self.order[behind] = other
            self.place[other] = behind
            behind -= 1
        return self.place[item]

    def push(self, item: int, to: int) -> int:
        """Move an item to a place behind its own, with all between that come after it."""
        own = self.place[item]
        if to <= own:
            return own
        self.keep(own, to)
        self.mark += 1
        self.marked[item] = self.mark
        before = own
        count = 0
        for k in range(own, to + 1):
            other = self.order[k]
            if self.marked[other] == self.mark:
                self._mark_behind(other)
                self.moved[count] = other
                count += 1
            else:
                self.order[before] = other
                self.place[other] = before
                before += 1
        for k in range(count):
            other = self.moved[k]
            self.order[before] = other
            self.place[other] = before
            before += 1
        return self.place[item]

    def save_bucket(self, b: int) -> None:
        """Save who is in a bucket, before a change of it."""
        self.old_buckets.append((b, self.members(b)))

    def merge(self, a: int, b: int) -> bool:
        """Send bucket ``b`` with ``a``, whose launch is before; tell whether they may be one.

        What ``b`` needs is pulled before the launch of ``a``.
        """
        flat = self.flat
        if flat.lane[self.first[a]] != flat.lane[self.first[b]]:
            return False
        if self.total[a] + self.total[b] > self.cutoff:
            return False
        first, second = flat.ops + a, flat.ops + b
        if self.place[first] > self.place[second]:
            return False
        self.let_go(b)
        self.pull(second, self.place[first])
        if self.place[second] > self.place[first]:
            return False  # it comes after the launch of the other
        low = self.place[second]
        self.keep(low, self.length - 1)
        members = self.members(a)
        others = self.members(b)
        self.save_bucket(b)
        self.save_bucket(a)
        # b's launch stands right before a's: it goes, all behind move up
        for k in range(low, self.length - 1):
            self.order[k] = self.order[k + 1]
        self.length -= 1
        self.place[second] = -1
        for k in range(low, self.length):
            self.place[self.order[k]] = k
        self.set_members(b, [])
        self.set_members(a, members + others)
        return True

    def hold(self, b: int, steps: int) -> None:
        """Wait for a bucket so many places behind its launch, whether or not anything needs it."""
        flat = self.flat
        at = min(self.length, self.place[flat.ops + b] + 1 + steps)
        self.keep(at, self.length - 1)
        for k in range(self.length - 1, at - 1, -1):
            self.order[k + 1] = self.order[k]
        self.order[at] = flat.ops + flat.collectives + b
        self.length += 1
        for k in range(at, self.length):
            self.place[self.order[k]] = k

    def let_go(self, b: int) -> bool:
        """Wait for a bucket no earlier than it is needed; tell whether that was otherwise."""
        item = self.flat.ops + self.flat.collectives + b
        at = self.place[item]
        if at < 0 or at >= self.length or self.order[at] != item:
            return False
        self.keep(at, self.length - 1)
        for k in range(at, self.length - 1):
            self.order[k] = self.order[k + 1]
        self.length -= 1
        self.place[item] = -1
        for k in range(at, self.length):
            self.place[self.order[k]] = k
        return True

    def split(self, a: int, leaving: list[int]) -> int:
        """Launch some members of a bucket on their own, right after it; return their bucket."""
        flat = self.flat
        staying = [c for c in self.members(a) if c not in leaving]
        at = self.place[flat.ops + a]
        self.keep(at, self.length - 1)
        self.save_bucket(a)
        b = leaving[0]
        while self.count[b]:
            b = b + 1 if b + 1 < flat.collectives else 0
        self.save_bucket(b)
        for k in range(self.length - 1, at, -1):
            self.order[k + 1] = self.order[k]
        self.order[at + 1] = flat.ops + b
        self.length += 1
        for k in range(at + 1, self.length):
            self.place[self.order[k]] = k
        self.set_members(a, staying)
        self.set_members(b, leaving)
        return b
