"""A program that is being changed: its order, its buckets, and what it takes.

:func:`solver.programs.execute.execute` says the same in other words; tests hold this against it.
Waits and copies are where :func:`solver.programs.program.with_waits` puts them; but a launch that
has ended is waited for as soon as memory would not be enough without.
"""

from array import array
from collections.abc import Sequence
from math import inf

from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program, with_waits
from solver.programs.search.flat import Flat


class ProgramDraft:
    """An order of compute ops and launches, and the buckets of these.

    Items are compute ops, by position, from ``flat.ops`` on the launches of buckets, and behind
    these waits that come before they must: of each bucket one at most, after its launch. A bucket
    has the number of one of its collectives, or of one that is in another.

    Attributes
    ----------
    order, place, length
        The items in the host's order, the place of each, and how many there are.
    home, follower, first, count
        Of each collective its bucket and the next member; of each bucket its first, and how many.
    cost, pack, unpack, packed, unpacked
        Of each bucket [us, us, us, bytes, bytes].
    start, end
        Of each item, when it runs [us].
    output
        Bytes that each bucket's members write.
    value, peak, excess
        Time [us], the most memory [bytes], and how much of it is above the limit.
    makes_room
        Whether launches that have ended are waited for where memory would not be enough without.
    over
        What is above the limit, over the time that it is [bytes us].
    peak_at
        The place that is come to when the most memory is first held.
    """

    def __init__(self, flat: Flat) -> None:
        """Make a draft of one bucket a collective, in the order of the graph."""
        self.flat = flat
        ops, collectives = flat.ops, flat.collectives
        items, some = ops + 2 * collectives, max(1, collectives)
        self.order = array("i", [0]) * items
        self.place = array("i", [-1]) * items
        self.length = 0
        self.home = array("i", range(some))
        self.follower = array("i", [-1]) * some
        self.first = array("i", range(some))
        self.count = array("i", [1]) * some
        self.total = array("q", [0]) * some
        self.cost = array("d", [0.0]) * some
        self.pack = array("d", [0.0]) * some
        self.unpack = array("d", [0.0]) * some
        self.packed = array("q", [0]) * some
        self.unpacked = array("q", [0]) * some
        self.start = array("d", [0.0]) * items
        self.end = array("d", [0.0]) * items
        self.waited = array("i", [0]) * some
        self.left = array("i", [0]) * max(1, flat.buffers)
        self.free_at = array("d", [0.0]) * max(1, flat.channels)
        self.queue = array("i", [0]) * (some * max(1, flat.channels))
        self.queued = array("i", [0]) * max(1, flat.channels)
        self.asked = array("i", [0]) * some
        self.asked_count = self.oldest = 0
        self.under_way = 0
        self.begun = array("i", [0]) * max(1, flat.channels)
        self.ended = array("i", [0]) * max(1, flat.channels)
        self.value, self.peak, self.excess = inf, 0, 0
        self.now, self.level, self.clock = 0.0, 0, 0.0
        self.output = array("q", [0]) * some
        self.makes_room = True
        self.early = array("i", [0]) * some
        self.early_at = array("i", [0]) * some
        self.promised = self.settled = self.early_count = self.here = 0
        self.over, self.next_at, self.rest = 0.0, inf, 0.0
        self.peak_at = 0
        for c in range(collectives):
            self.reckon(c, [c])

    def reckon(self, b: int, members: Sequence[int]) -> None:
        """Set what a bucket costs."""
        costs = self.flat.costs(members)
        self.cost[b], self.pack[b], self.unpack[b], self.packed[b], self.unpacked[b] = costs
        self.total[b] = sum([self.flat.size[c] for c in members])
        self.output[b] = sum([self.flat.written[self.flat.position[c]] for c in members])

    def members(self, b: int) -> list[int]:
        """Return the numbers of a bucket's collectives."""
        found, c = [], self.first[b]
        while c >= 0:
            found.append(c)
            c = self.follower[c]
        return found

    def set_members(self, b: int, members: Sequence[int]) -> None:
        """Make a bucket of these collectives; none closes it."""
        ordered = sorted(members)
        self.count[b] = len(ordered)
        self.first[b] = ordered[0] if ordered else -1
        for k, c in enumerate(ordered):
            self.home[c] = b
            self.follower[c] = ordered[k + 1] if k + 1 < len(ordered) else -1
        if ordered:
            self.reckon(b, ordered)

    def set_order(self, items: Sequence[int]) -> None:
        """Take these items in this order."""
        self.length = len(items)
        for k in range(len(self.place)):
            self.place[k] = -1
        for k, item in enumerate(items):
            self.order[k] = item
            self.place[item] = k

    def adopt(self, other: "ProgramDraft") -> None:
        """Become a copy of another draft of the same problem, as it was executed."""
        self.order[:] = other.order
        self.place[:] = other.place
        self.home[:] = other.home
        self.follower[:] = other.follower
        self.first[:] = other.first
        self.count[:] = other.count
        self.total[:] = other.total
        self.cost[:] = other.cost
        self.pack[:] = other.pack
        self.unpack[:] = other.unpack
        self.packed[:] = other.packed
        self.unpacked[:] = other.unpacked
        self.output[:] = other.output
        self.take_run(other)
        self.length = other.length
        self.value, self.peak, self.excess = other.value, other.peak, other.excess
        self.over = other.over

    def take_run(self, other: "ProgramDraft") -> None:
        """Have when each item of another draft ran, and in which order launches were asked for."""
        self.start[:] = other.start
        self.end[:] = other.end
        self.asked[:] = other.asked
        self.queue[:] = other.queue
        self.early[:] = other.early
        self.early_at[:] = other.early_at

    def execute(self, most: float) -> float:
        """Run the draft; return its time [us], or inf once it must be longer than ``most``.

        O(items + edges + buffers).
        """
        self._begin()
        return self.run_from(0, most)

    def run_from(self, place: int, most: float) -> float:
        """Run what is at a place and behind it; as :meth:`execute`."""
        if not self.run_between(place, self.length, most):
            self.value = inf
            return inf
        for k in range(self.asked_count):
            if not self.waited[self.asked[k]]:
                self.finish(self.asked[k])
        time = self.clock
        for c in range(self.flat.channels):
            time = max(time, self.free_at[c])
        self.pass_to(time)
        self.excess = max(0, self.peak - self.flat.memory)
        self.value = time
        return time if time <= most else inf

    def run_between(self, place: int, end: int, most: float) -> bool:
        """Run from a place to before another; tell whether it can end by ``most`` [us]."""
        flat = self.flat
        for k in range(place, end):
            item = self.order[k]
            self.here = k
            if item < flat.ops:
                self._await(item)
                if self.clock + self.rest > most:
                    return False
                self.rest -= flat.duration[item]
                self._compute(item)
            elif item < flat.ops + flat.collectives:
                self.launch(item - flat.ops)
            elif not self.waited[item - flat.ops - flat.collectives]:
                self.finish(item - flat.ops - flat.collectives)
        return True

    def _begin(self) -> None:
        """Put everything back to the start."""
        flat = self.flat
        for c in range(flat.channels):
            self.free_at[c] = 0.0
            self.queued[c] = self.begun[c] = self.ended[c] = 0
        for c in range(flat.collectives):
            self.waited[c] = 0
        for b in range(flat.buffers):
            self.left[b] = flat.uses[b]
        self.clock = self.now = 0.0
        self.level, self.peak = flat.base, 0
        self.asked_count = self.oldest = 0
        self.under_way = 0
        self.promised = 0
        self.settled = self.early_count = 0
        self.over = 0.0
        self.next_at = inf
        self.rest = flat.load

    def _compute(self, i: int) -> None:
        """Run a compute op."""
        flat = self.flat
        self.pass_to(self.clock)
        if self.level + self.promised + flat.written[i] > flat.memory:
            self._make_room(flat.written[i])
        self.start[i] = self.clock
        self.level += flat.written[i]
        self.clock += flat.duration[i]
        self.end[i] = self.clock
        self.pass_to(self.clock)
        self.drop_reads(i)
        self.drop_writes(i)

    def _await(self, i: int) -> None:
        """Wait for the launches that an op comes after."""
        flat = self.flat
        for e in range(flat.needs_at[i], flat.needs_at[i + 1]):
            b = self.home[flat.needs[e]]
            if not self.waited[b]:
                self.finish(b)

    def launch(self, b: int) -> None:
        """Pack and launch a bucket."""
        flat = self.flat
        c = self.first[b]
        while c >= 0:
            self._await(flat.position[c])
            c = self.follower[c]
        self.pass_to(self.clock)
        copies = self.packed[b] + self.unpacked[b]
        if self.level + self.promised + copies + self.output[b] > flat.memory:
            self._make_room(copies + self.output[b])
        while self.under_way and self.under_way + self.total[b] > flat.most_under_way:
            if not self.waited[self.asked[self.oldest]]:
                self.finish(self.asked[self.oldest])
            self.oldest += 1
        self.promised += self.unpacked[b] + self.output[b]
        self.under_way += self.total[b]
        self.asked[self.asked_count] = b
        self.asked_count += 1
        if self.count[b] > 1:
            self.pass_to(self.clock)
            self.level += self.packed[b]
            self.clock += self.pack[b]
        channel = flat.channel[self.first[b]]
        start = max(self.clock, self.free_at[channel])
        item = flat.ops + b
        self.start[item] = start
        self.end[item] = self.free_at[channel] = start + self.cost[b]
        self.queue[channel * flat.collectives + self.queued[channel]] = b
        self.queued[channel] += 1
        self.next_at = min(self.next_at, start)

    def finish(self, b: int) -> None:
        """Wait for a bucket, and unpack it."""
        flat = self.flat
        self.waited[b] = 1
        self.under_way -= self.total[b]
        self.clock = max(self.clock, self.end[flat.ops + b])
        if flat.is_held_to_wait:
            self.pass_to(self.clock)
            self._let_inputs_go(b)
        if self.count[b] > 1:
            self.clock += self.unpack[b]
            self.pass_to(self.clock)
            self.level -= self.unpacked[b]
            c = self.first[b]
            while c >= 0:
                i = flat.position[c]
                self.drop_writes(i)
                c = self.follower[c]

    def pass_to(self, time: float) -> None:
        """Let the launches begin and end that do so until a time."""
        flat = self.flat
        if time < self.next_at:
            self._stand(time)
            return
        while True:
            found, when, is_end = -1, time, False
            for c in range(flat.channels):
                if self.ended[c] < self.queued[c]:
                    b = self.queue[c * flat.collectives + self.ended[c]]
                    if self.begun[c] == self.ended[c]:
                        at = self.start[flat.ops + b]
                        if at < when or (at == when and found < 0):
                            found, when, is_end = c, at, False
                    else:
                        at = self.end[flat.ops + b]
                        if at < when or (at == when and found < 0):
                            found, when, is_end = c, at, True
            if found < 0:
                break
            self._stand(when)
            b = self.queue[found * flat.collectives + self.ended[found]]
            if is_end:
                self.ended[found] += 1
                self._come_off(b)
            else:
                self.begun[found] += 1
                self._go_out(b)
        self._stand(time)
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Find when a launch begins or ends next."""
        flat = self.flat
        self.next_at = inf
        for c in range(flat.channels):
            if self.ended[c] < self.queued[c]:
                item = flat.ops + self.queue[c * flat.collectives + self.ended[c]]
                is_end = self.begun[c] > self.ended[c]
                self.next_at = min(self.next_at, self.end[item] if is_end else self.start[item])

    def _go_out(self, b: int) -> None:
        """Hold what a bucket writes from its launch on."""
        self.level += self.unpacked[b] + self.output[b]
        self.promised -= self.unpacked[b] + self.output[b]

    def _make_room(self, need: int) -> None:
        """Wait for launches that have ended, the first first, until so many bytes have room.

        That takes no time, but that of unpacking earlier. Where no launch frees anything it is left
        to be waited for later.
        """
        if not self.makes_room:
            return
        flat = self.flat
        while self.settled < self.asked_count and self.waited[self.asked[self.settled]]:
            self.settled += 1
        for k in range(self.settled, self.asked_count):
            b = self.asked[k]
            if self.waited[b] or self.end[flat.ops + b] > self.clock:
                continue
            if flat.is_held_to_wait or self.count[b] > 1:
                self.early[self.early_count] = b
                self.early_at[self.early_count] = self.here
                self.early_count += 1
                self.finish(b)
                if self.level + self.promised + need <= flat.memory:
                    return

    def _come_off(self, b: int) -> None:
        """End a launch: a bucket alone has written."""
        flat = self.flat
        if not flat.is_held_to_wait:
            self._let_inputs_go(b)
        if self.count[b] == 1:
            i = flat.position[self.first[b]]
            self.drop_writes(i)

    def _let_inputs_go(self, b: int) -> None:
        """Free what a bucket's launch read."""
        flat = self.flat
        self.level -= self.packed[b]
        c = self.first[b]
        while c >= 0:
            i = flat.position[c]
            self.drop_reads(i)
            c = self.follower[c]

    def _stand(self, time: float) -> None:
        """Come to a time: what was held since the last counts, if any time passed."""
        if time > self.now:
            if self.level > self.peak:
                self.peak = self.level
                self.peak_at = self.here
            if self.level > self.flat.memory:
                self.over += (self.level - self.flat.memory) * (time - self.now)
            self.now = time

    def drop_reads(self, i: int) -> None:
        """Use the buffers that an op reads; the last time they are used frees them."""
        flat = self.flat
        for e in range(flat.reads_at[i], flat.reads_at[i + 1]):
            b = flat.reads[e]
            self.left[b] -= 1
            if self.left[b] == 0:
                self.level -= flat.held[b]

    def drop_writes(self, i: int) -> None:
        """Use the buffers that an op writes: it has ended."""
        flat = self.flat
        for e in range(flat.writes_at[i], flat.writes_at[i + 1]):
            b = flat.writes[e]
            self.left[b] -= 1
            if self.left[b] == 0:
                self.level -= flat.held[b]

    def is_in_order(self) -> bool:
        """Tell whether all comes after what it needs, and is there once; O(items + edges)."""
        flat = self.flat
        for k in range(self.length):
            item = self.order[k]
            if self.place[item] != k:
                return False
            if item < flat.ops:
                if not self._is_after(item, k):
                    return False
            elif item >= flat.ops + flat.collectives:
                if not 0 <= self.place[item - flat.collectives] < k:
                    return False
            else:
                c = self.first[item - flat.ops]
                while c >= 0:
                    if not self._is_after(flat.position[c], k):
                        return False
                    c = self.follower[c]
        return True

    def _is_after(self, i: int, k: int) -> bool:
        flat = self.flat
        for e in range(flat.preds_at[i], flat.preds_at[i + 1]):
            j = flat.preds[e]
            c = flat.number[j]
            at = self.place[j] if c < 0 else self.place[flat.ops + self.home[c]]
            if at < 0 or at >= k:
                return False
        return True

    def program(self) -> Program:
        """Return the program, its waits where they are when it is executed; it is."""
        flat = self.flat
        self.execute(inf)
        early: dict[int, list[int]] = {}
        for k in range(self.early_count):
            early.setdefault(self.early_at[k], []).append(self.early[k])
        names: dict[int, int] = {}
        buckets: list[list[int]] = []
        order: list[tuple[str, int]] = []
        for k in range(self.length):
            item = self.order[k]
            if k in early:
                waits = [*self._needed(item), *early[k]]
                order += [(WAIT, names[b]) for b in waits]
            if item < flat.ops:
                order.append((COMPUTE, item))
            elif item >= flat.ops + flat.collectives:
                order.append((WAIT, names[item - flat.ops - flat.collectives]))
            else:
                b = item - flat.ops
                names[b] = len(buckets)
                buckets.append([flat.position[c] for c in self.members(b)])
                order.append((LAUNCH, names[b]))
        return with_waits(flat.problem, buckets, order)

    def _needed(self, item: int) -> list[int]:
        """Return the buckets that an item comes after."""
        flat = self.flat
        some = (
            [item] if item < flat.ops else [flat.position[c] for c in self.members(item - flat.ops)]
        )
        return [
            self.home[flat.needs[e]]
            for i in some
            for e in range(flat.needs_at[i], flat.needs_at[i + 1])
        ]

    def follow(self, program: Program, *, is_eager: bool) -> None:
        """Become a program; its waits where they are (``is_eager``), or as late as they may be."""
        flat = self.flat
        names = []
        for b in range(flat.collectives):
            self.set_members(b, [])
        for positions in program.buckets:
            members = sorted(flat.number[i] for i in positions)
            self.set_members(members[0], members)
            names.append(flat.ops + members[0])
        items = []
        for do, what in program.steps:
            if do == COMPUTE:
                items.append(what)
            elif do == LAUNCH:
                items.append(names[what])
            elif do == WAIT and is_eager:
                items.append(names[what] + flat.collectives)
        self.set_order(items)
