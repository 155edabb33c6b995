"""Repair of drafts that take too much memory: what has no room comes later, waits come earlier."""

from array import array
from collections.abc import Sequence

from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat
from solver.programs.search.safe_memory import SafeMemory

#: Among so many items of the draft one that has room is looked for.
_WINDOW = 48


class Repair:
    """Rewrites drafts, item by item, so that they keep the limit of memory.

    Of the next items of a draft the first is taken that has room now, and behind which the rest
    still has room one op after another in a safe order. Where none has, launches are waited for
    early; at last the next op of the safe order is taken, out of its bucket where it is in one. So
    a draft is never left half done, and keeps the limit where the safe order does. Memory is
    counted by the order alone: what a launch reads and its copies are held until its wait.
    """

    def __init__(self, flat: Flat, safe: Sequence[int]) -> None:
        """Take a safe order, of the positions of all ops."""
        some = max(1, flat.collectives)
        items = flat.ops + flat.collectives
        self.flat = flat
        self.memory = SafeMemory(flat, safe)
        self.following = array("i", [0]) * (items + 1)
        self.previous = array("i", [0]) * (items + 1)
        self.bucket = array("i", [-1]) * some
        self.follower = array("i", [-1]) * some
        self.first = array("i", [-1]) * some
        self.flying = array("i", [0]) * some
        self.flying_count = 0
        self.over = array("d", [0.0]) * some
        self.unpack = array("d", [0.0]) * some
        self.copies = array("q", [0]) * some
        self.free_at = array("d", [0.0]) * max(1, flat.channels)
        self.clock = 0.0
        self.items: list[int] = []
        self.launched: list[tuple[int, list[int]]] = []

    def make(self, draft: ProgramDraft) -> None:
        """Rewrite a draft; O(items * (window + edges + places between its order and the safe one)).

        It is not executed again.
        """
        self._begin(draft)
        flat = self.flat
        end = flat.ops + flat.collectives
        while self.following[end] != end:
            if not self._take_next() and not self._wait_early():
                self._go_on()
        for b in range(flat.collectives):
            draft.set_members(b, [])
        for b, members in self.launched:
            draft.set_members(b, members)
        draft.set_order(self.items)

    def _begin(self, draft: ProgramDraft) -> None:
        """List what the draft has, and put everything back to the start."""
        flat = self.flat
        self.memory.begin()
        end = flat.ops + flat.collectives
        at = end
        for k in range(draft.length):
            item = draft.order[k]
            if item < end:
                self.following[at] = item
                self.previous[item] = at
                at = item
        self.following[at] = end
        self.previous[end] = at
        for c in range(flat.collectives):
            self.bucket[c] = draft.home[c]
            self.follower[c] = draft.follower[c]
            self.first[c] = draft.first[c]
        for c in range(flat.channels):
            self.free_at[c] = 0.0
        self.clock = 0.0
        self.flying_count = 0
        self.items = []
        self.launched = []

    def _take_next(self) -> bool:
        """Take the first of the next items that has room; tell whether one has."""
        flat = self.flat
        end = flat.ops + flat.collectives
        item = self.following[end]
        looked = 0
        while item != end and looked < _WINDOW:
            members = self._members(item)
            if self._is_ready(members):
                copies = self._copies(members)
                if self._is_room(members, copies) and self.memory.is_safe(members):
                    self._remove(item)
                    self._take(item, members)
                    return True
                if looked == 0 and len(members) > 1 and self._take_one_of(members):
                    return True
            item = self.following[item]
            looked += 1
        return False

    def _take_one_of(self, members: list[int]) -> bool:
        """Take the first of a bucket's members that has room alone; tell whether one has."""
        for i in members:
            if self._is_room([i], 0) and self.memory.is_safe([i]):
                self._take_out(i)
                return True
        return False

    def _members(self, item: int) -> list[int]:
        """Return the positions of an item's ops."""
        flat = self.flat
        if item < flat.ops:
            return [item]
        found = []
        c = self.first[item - flat.ops]
        while c >= 0:
            found.append(flat.position[c])
            c = self.follower[c]
        return found

    def _is_ready(self, members: list[int]) -> bool:
        for i in members:  # noqa: SIM110 - compiled, a generator is slow
            if not self.memory.is_ready(i):
                return False
        return True

    def _copies(self, members: list[int]) -> int:
        """Return the bytes of the copies of a bucket; 0 of one op."""
        if len(members) == 1:
            return 0
        flat = self.flat
        costs = flat.costs([flat.number[i] for i in members])
        return costs[3] + costs[4]

    def _is_room(self, members: list[int], copies: int) -> bool:
        """Tell whether ops have room, at least after launches that have ended are waited for."""
        if self.memory.is_room(members, copies):
            return True
        while self._wait_for_ended():
            if self.memory.is_room(members, copies):
                return True
        return False

    def _wait_for_ended(self) -> bool:
        """Wait for the first launch that has ended, if any: that takes no time."""
        for k in range(self.flying_count):
            if self.over[self.flying[k]] <= self.clock:
                self._wait(k)
                return True
        return False

    def _wait_early(self) -> bool:
        """Wait for the launch that ends first, if any is under way."""
        best = -1
        for k in range(self.flying_count):
            if best < 0 or self.over[self.flying[k]] < self.over[self.flying[best]]:
                best = k
        if best >= 0:
            self._wait(best)
        return best >= 0

    def _wait(self, k: int) -> None:
        """Wait for one of those under way."""
        flat = self.flat
        b = self.flying[k]
        self.flying_count -= 1
        for j in range(k, self.flying_count):
            self.flying[j] = self.flying[j + 1]
        self.clock = max(self.clock, self.over[b]) + self.unpack[b]
        self.memory.hold(-self.copies[b])
        for c in range(flat.collectives):
            if self.bucket[c] == flat.collectives + b:
                self.memory.end(flat.position[c])
        self.items.append(flat.ops + flat.collectives + b)

    def _go_on(self) -> None:
        """Take the next op of the safe order."""
        i = self.memory.safe[self.memory.next]
        if self.flat.number[i] < 0:
            self._remove(i)
            self._take(i, [i])
        else:
            self._take_out(i)

    def _remove(self, item: int) -> None:
        """Take an item off the list of those left."""
        self.following[self.previous[item]] = self.following[item]
        self.previous[self.following[item]] = self.previous[item]

    def _take_out(self, i: int) -> None:
        """Launch a collective alone, out of its bucket."""
        flat = self.flat
        c = flat.number[i]
        b = self.bucket[c]
        if self.first[b] == c:
            self.first[b] = self.follower[c]
        else:
            d = self.first[b]
            while self.follower[d] != c:
                d = self.follower[d]
            self.follower[d] = self.follower[c]
        if self.first[b] < 0:
            self._remove(flat.ops + b)
        self._take(flat.ops + b, [i])

    def _take(self, item: int, members: list[int]) -> None:
        """Issue an item's ops: run one, or launch those of a bucket."""
        flat = self.flat
        for i in members:
            for e in range(flat.preds_at[i], flat.preds_at[i + 1]):
                c = flat.number[flat.preds[e]]
                if c >= 0:
                    self._await(self.bucket[c] - flat.collectives)
            self.memory.issue(i)
        if item < flat.ops:
            self.clock += flat.duration[item]
            self.memory.end(item)
            self.items.append(item)
            return
        numbers = [flat.number[i] for i in members]
        costs = flat.costs(numbers)
        b = numbers[0]
        for c in numbers:
            self.bucket[c] = flat.collectives + b
        channel = flat.channel[b]
        self.clock += costs[1]
        self.over[b] = self.free_at[channel] = max(self.clock, self.free_at[channel]) + costs[0]
        self.unpack[b] = costs[2]
        self.copies[b] = costs[3] + costs[4]
        self.memory.hold(self.copies[b])
        self.flying[self.flying_count] = b
        self.flying_count += 1
        self.items.append(flat.ops + b)
        self.launched.append((b, numbers))

    def _await(self, b: int) -> None:
        """Wait for a bucket, unless that was done."""
        for k in range(self.flying_count):
            if self.flying[k] == b:
                self._wait(k)
                self.items.pop()  # it is waited for there in any case
                return
