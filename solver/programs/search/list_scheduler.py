"""List scheduling: of what could come next, the most urgent, forwards or from the end."""

from array import array
from math import inf

from solver.programs.search.draft import ProgramDraft


class ListScheduler:
    """Makes orders of a draft's items; its buckets stay as they are.

    Attributes
    ----------
    urgency
        Of each item: among those that could start at once the smallest comes first.
    rank
        Of each item: how the window goes.
    at
        Of each item, when it starts in the order made; from the end where that was made backwards.
    """

    def __init__(self, draft: ProgramDraft) -> None:
        """Make the arrays."""
        flat = draft.flat
        items = flat.ops + flat.collectives
        self.draft = draft
        self.urgency = array("d", [0.0]) * items
        self.rank = array("i", [0]) * items
        self.at = array("d", [0.0]) * items
        self.waiting = array("i", [0]) * items
        self.over = array("d", [-1.0]) * items
        self.ready = array("i", [0]) * items
        self.able = array("i", [0]) * items
        self.sequence = array("i", [0]) * items
        self.ranked = array("i", [0]) * items
        self.placed = array("i", [0]) * items
        self.finished = array("i", [0]) * items
        self.free_at = array("d", [0.0]) * max(1, flat.channels)
        self.ready_count = self.able_count = self.length = self.left = self.come_to = 0
        self.clock = 0.0
        self._face(backwards=False)

    def make(self, window: int, backwards: bool = False) -> float:  # noqa: FBT001, FBT002
        """Order the draft anew; return the time of the order [us].

        Parameters
        ----------
        window
            A compute op is not taken before one that is so many compute ops above it by rank.
        backwards
            From the end of the graph; the order is turned, and the times count from the end.

        Notes
        -----
        O(items * (ready ones) + edges).
        """
        flat = self.draft.flat
        self._face(backwards)
        self._begin()
        total = self.left
        while self.left or self.able_count:
            while self._ask(self.clock):
                pass
            if self.left == 0 or self.ready_count == 0:
                self._ask(inf)
                continue
            while self.come_to < total and self.finished[self.ranked[self.come_to]]:
                self.come_to += 1
            i = self._choose(self.come_to + window)
            if i < 0:
                if self._ask(inf):
                    continue
                i = self._choose(2 * total)
            available = self._available(i)
            if available > self.clock and self._ask(available):
                continue
            self._await(i)
            while self._ask(self.clock + flat.duration[i]):
                pass
            self._take(i)
        time = self.clock
        for c in range(flat.channels):
            time = max(time, self.free_at[c])
        self._write(backwards)
        return time

    def _face(self, backwards: bool) -> None:  # noqa: FBT001
        """Take the links, and the copies, of one direction."""
        draft, flat = self.draft, self.draft.flat
        if backwards:
            self.before_at, self.before = flat.succs_at, flat.succs
            self.behind_at, self.behind = flat.preds_at, flat.preds
            self.copy_in, self.copy_out = draft.unpack, draft.pack
        else:
            self.before_at, self.before = flat.preds_at, flat.preds
            self.behind_at, self.behind = flat.succs_at, flat.succs
            self.copy_in, self.copy_out = draft.pack, draft.unpack
        items = [(self.rank[i], i) for i in range(flat.ops) if flat.number[i] < 0]
        items.sort(reverse=backwards)
        for k, (_, i) in enumerate(items):
            self.ranked[k] = i
            self.placed[i] = k

    def _begin(self) -> None:
        """Count what everything waits for."""
        draft = self.draft
        flat = draft.flat
        ops = flat.ops
        self.ready_count = self.able_count = self.length = self.left = self.come_to = 0
        self.clock = 0.0
        for c in range(flat.channels):
            self.free_at[c] = 0.0
        for i in range(ops):
            self.finished[i] = 0
            if flat.number[i] < 0:
                self.left += 1
                self.waiting[i] = self.before_at[i + 1] - self.before_at[i]
                if self.waiting[i] == 0:
                    self.ready[self.ready_count] = i
                    self.ready_count += 1
        for b in range(flat.collectives):
            self.finished[ops + b] = 0
            self.over[ops + b] = -1.0
            if draft.count[b]:
                self.waiting[ops + b] = 0
                c = draft.first[b]
                while c >= 0:
                    i = flat.position[c]
                    self.waiting[ops + b] += self.before_at[i + 1] - self.before_at[i]
                    c = draft.follower[c]
                if self.waiting[ops + b] == 0:
                    self.able[self.able_count] = b
                    self.able_count += 1

    def _choose(self, most: int) -> int:
        """Return the op that starts first, the most urgent of these, -1 without any."""
        best, first, urgency = -1, inf, inf
        for k in range(self.ready_count):
            i = self.ready[k]
            if self.placed[i] >= most:
                continue
            at = max(self._available(i), self.clock)
            if at > first:
                continue
            if at == first:
                if self.urgency[i] > urgency:
                    continue
                if self.urgency[i] == urgency and i > best:
                    continue
            best, first, urgency = i, at, self.urgency[i]
        return best

    def _available(self, i: int) -> float:
        """Return when the launches that an op needs have ended."""
        draft = self.draft
        flat = draft.flat
        at = 0.0
        for e in range(self.before_at[i], self.before_at[i + 1]):
            c = flat.number[self.before[e]]
            if c >= 0:
                item = flat.ops + draft.home[c]
                if not self.finished[item] and self.over[item] > at:
                    at = self.over[item]
        return at

    def _await(self, i: int) -> None:
        """Wait for what an op needs, and unpack it."""
        draft = self.draft
        flat = draft.flat
        for e in range(self.before_at[i], self.before_at[i + 1]):
            c = flat.number[self.before[e]]
            if c >= 0:
                b = draft.home[c]
                item = flat.ops + b
                if not self.finished[item]:
                    self.finished[item] = 1
                    self.clock = max(self.clock, self.over[item]) + self.copy_out[b]

    def _take(self, i: int) -> None:
        """Run an op."""
        for k in range(self.ready_count):
            if self.ready[k] == i:
                self.ready_count -= 1
                self.ready[k] = self.ready[self.ready_count]
                break
        self.at[i] = self.clock
        self.clock += self.draft.flat.duration[i]
        self.finished[i] = 1
        self.sequence[self.length] = i
        self.length += 1
        self.left -= 1
        self._release(i)

    def _ask(self, until: float) -> bool:
        """Launch the most urgent bucket whose channel is free before or at a time, if any."""
        draft = self.draft
        flat = draft.flat
        best, at, urgency = -1, -1, inf
        for k in range(self.able_count):
            b = self.able[k]
            if self.free_at[flat.channel[draft.first[b]]] > until:
                continue
            value = self.urgency[flat.ops + b]
            if value < urgency or (value == urgency and b < best):
                best, at, urgency = b, k, value
        if best < 0:
            return False
        self.able_count -= 1
        self.able[at] = self.able[self.able_count]
        self._launch(best)
        return True

    def _launch(self, b: int) -> None:
        """Launch a bucket."""
        draft = self.draft
        flat = draft.flat
        c = draft.first[b]
        while c >= 0:
            self._await(flat.position[c])
            c = draft.follower[c]
        self.clock += self.copy_in[b]
        item, channel = flat.ops + b, flat.channel[draft.first[b]]
        start = max(self.clock, self.free_at[channel])
        self.at[item] = start
        self.over[item] = self.free_at[channel] = start + draft.cost[b]
        self.sequence[self.length] = item
        self.length += 1
        c = draft.first[b]
        while c >= 0:
            self._release(flat.position[c])
            c = draft.follower[c]

    def _release(self, i: int) -> None:
        """Count an op as asked for."""
        draft = self.draft
        flat = draft.flat
        for e in range(self.behind_at[i], self.behind_at[i + 1]):
            j = self.behind[e]
            c = flat.number[j]
            if c < 0:
                self.waiting[j] -= 1
                if self.waiting[j] == 0:
                    self.ready[self.ready_count] = j
                    self.ready_count += 1
            else:
                b = draft.home[c]
                self.waiting[flat.ops + b] -= 1
                if self.waiting[flat.ops + b] == 0:
                    self.able[self.able_count] = b
                    self.able_count += 1

    def _write(self, backwards: bool) -> None:  # noqa: FBT001
        """Give the draft the order, and no waits but those that must be."""
        draft = self.draft
        flat = draft.flat
        for k in range(self.length):
            item = self.sequence[self.length - 1 - k] if backwards else self.sequence[k]
            draft.order[k] = item
            draft.place[item] = k
        draft.length = self.length
        for b in range(flat.collectives):
            draft.place[flat.ops + flat.collectives + b] = -1
