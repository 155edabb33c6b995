"""Plans of a layer chain, told from the core outwards: a bound on all, and the best.

Let r and q ascend along the chain, and call the launch that carries the last tensor the core
(:mod:`solver.fusion.chain.nested`). On either side of it a bucket's top, its last member, says when
it may run; a tensor between two tops rides best with the lower one of those above it on its side.
With U_j the time of the launches from top j to the core, and V_l the mirror image,

    D = max over j of (r_j + U_j) + core + max over l of (q_l + V_l)
      = all work + a for each launch + e + f,

where e = max over j of (r_j + U_j) - U, with U all time before the core, and f its mirror image.
Going down the chain from its last tensor but one, with e = r_n and f = q_n to begin with, a tensor
of work w

    rides in the core, at no change;
    rides with the last top before the core:   e <- max(r_top, e - w);
    is a new top there:                        e <- max(r_k, e - a - w), one more launch;
    does the same behind the core, to f;

or it is the top of a bucket sent in two parts, two more launches, of which either side may carry
any share: e and f fall by a + w each, and together by no more than 2 a + w. What both have fallen
by too much is *shared*: to be added to either. Several buckets in two parts have one account of it,
which can only favour the plan.

A *label* has e, f, what is shared, the floors r_top and q_top, and the number of launches. One is
left out where another one's every sequel is as good: its floors are no higher, and e, f and their
sum with what is shared exceed those of the first by no more than its fewer launches save. So is one
that cannot beat a time, by what e may come to if the other side needs no bytes
(:mod:`solver.fusion.chain.two_sided.side`). When none is left no plan beats that time; when too
many are left, the least of their bounds is a bound.
"""

from array import array
from collections.abc import Sequence
from math import inf

import numpy as np

from solver.fusion.chain.two_sided.outer import dropped_of, outside
from solver.fusion.chain.two_sided.side import ChainSide

#: Where a tensor may go: with the core, with the last top of a side, or as a top itself; on both
#: sides as (in) a bucket in two parts.
CHOICES = ("core", "before", "after", "new before", "new after", "new both", "both")
_CORE, _BEFORE, _AFTER, _NEW_BEFORE, _NEW_AFTER, _NEW_BOTH, _BOTH = range(7)
#: Figures of a label: e, f, what is shared, both floors, and the bound, which is the last.
_FIELDS, _BOUND = 6, 5


class Labels:
    """The labels of one chain.

    Parameters
    ----------
    release, tail
        Of each tensor, or of each block of neighbours the least [us], ascending.
    total
        Work of the first 0, 1, ..., n tensors or blocks [us].
    blocks
        For each place whether it is a block of several tensors: its work goes to any side then.
    startup
        Of a launch [us].
    most
        Most labels kept at once.
    sharp
        Whether to count what both sides need together as well
        (:mod:`solver.fusion.chain.two_sided.outer`).
    """

    def __init__(
        self,
        release: Sequence[float],
        tail: Sequence[float],
        total: Sequence[float],
        blocks: Sequence[int],
        startup: float,
        most: int,
        *,
        sharp: bool = False,
    ) -> None:
        count = len(release)
        self.before = ChainSide(release, total, startup)
        self.after = ChainSide(tail, total, startup)
        self.release = array("d", release)
        self.tail = array("d", tail)
        self.total = array("d", total)
        self.blocks = array("i", blocks)
        self.startup = startup
        self.most = most
        self.dropped_first = array("i", dropped_of(count) if sharp else [])
        self.dropped_count = len(self.dropped_first)
        self.room_before = self.room_after = array("d", [0.0])
        if self.dropped_count:
            work = np.array(total)
            self.room_before = array("d", outside(np.array(release), work, startup).tobytes())
            self.room_after = array("d", outside(np.array(tail), work, startup).tobytes())
        room = 7 * most
        # of labels kept, and of those made of them: e, f, shared, both floors, bound; then launches
        # and whether a bucket is in two parts; then the label it was made of, and by which choice
        self.kept = array("d", [0.0]) * (_FIELDS * most)
        self.kept_counts = array("i", [0]) * (2 * most)
        made = array("d", [0.0]) * (_FIELDS * room)
        self.made = made
        self.bounds = np.frombuffer(made)[_BOUND::_FIELDS]
        self.made_counts = array("i", [0]) * (2 * room)
        self.made_of = array("i", [0]) * (2 * room)
        self.number = 0
        self.parents = array("i", [0]) * (count * most)
        self.choices = array("i", [0]) * (count * most)
        self.looks = 0
        self.dropped = inf
        self.value = inf

    def run(self, to_beat: float, looks: int) -> float:
        """Return a time [us] that no plan is below, at most ``to_beat``.

        ``looks`` limits how often two labels are compared; ``value`` is that of the best plan
        found, inf when no label came to the end.
        """
        count = len(self.release)
        top = count - 1
        kept = self.kept
        kept[0] = kept[3] = self.release[top]
        kept[1] = kept[4] = self.tail[top]
        kept[2] = 0.0
        self.kept_counts[0] = 1
        self.kept_counts[1] = 0
        self.looks = looks
        self.dropped = self.value = inf
        alive = 1
        for k in range(top - 1, -1, -1):
            self.number = 0
            for label in range(alive):
                self.extend(label, k, to_beat)
            alive = self.keep(k)
            if self.looks <= 0:
                for label in range(alive):
                    self.dropped = min(self.dropped, kept[_FIELDS * label + _BOUND])
                return min(to_beat, self.dropped)
        if alive:
            launches = self.startup * self.kept_counts[0]
            self.value = self.total[count] + launches + kept[0] + kept[1] + kept[2]
        return min(to_beat, self.dropped, self.value)

    def extend(self, label: int, k: int, to_beat: float) -> None:
        """Make the labels that tensor k leads to."""
        at = _FIELDS * label
        kept = self.kept
        e, f, shared = kept[at], kept[at + 1], kept[at + 2]
        early, late = kept[at + 3], kept[at + 4]
        launches, torn = self.kept_counts[2 * label], self.kept_counts[2 * label + 1]
        a = self.startup
        w = self.total[k + 1] - self.total[k]
        r, q = self.release[k], self.tail[k]
        # what a block sends to one side the other may have instead
        other = w if self.blocks[k] else 0.0
        self.add(e, f, shared, early, late, launches, torn, k, label, _CORE, to_beat)
        if torn or other:
            self.add(
                e - w, f - w, shared + w, early, late, launches, torn, k, label, _BOTH, to_beat
            )
        if not other:
            if e + shared > early:
                self.add(e - w, f, shared, early, late, launches, torn, k, label, _BEFORE, to_beat)
            if f + shared > late:
                self.add(e, f - w, shared, early, late, launches, torn, k, label, _AFTER, to_beat)
        launches += 1
        shared += other
        taken = a + w
        choice = _NEW_BEFORE
        self.add(e - taken, f - other, shared, r, late, launches, torn, k, label, choice, to_beat)
        choice = _NEW_AFTER
        self.add(e - other, f - taken, shared, early, q, launches, torn, k, label, choice, to_beat)
        launches += 1
        shared += w - other
        choice = _NEW_BOTH
        self.add(e - taken, f - taken, shared, r, q, launches, 1, k, label, choice, to_beat)

    def add(
        self,
        e: float,
        f: float,
        shared: float,
        early: float,
        late: float,
        launches: int,
        torn: int,
        k: int,
        label: int,
        choice: int,
        to_beat: float,
    ) -> None:
        """Add a label if it may beat the time; what is below a floor is given to the other side."""
        if e < early:
            shared = max(0.0, shared - (early - e))
            e = early
        if f < late:
            shared = max(0.0, shared - (late - f))
            f = late
        rest = self.before.least(k, e, early) + self.after.least(k, f, late)
        rest = max(rest, e + f + shared - self.total[k])
        if self.dropped_count:
            rest = max(rest, self.outer(k, early, late))
        bound = self.total[len(self.release)] + self.startup * launches + rest
        if bound >= to_beat:
            return
        at = _FIELDS * self.number
        made = self.made
        made[at], made[at + 1], made[at + 2] = e, f, shared
        made[at + 3], made[at + 4], made[at + _BOUND] = early, late, bound
        at = 2 * self.number
        self.made_counts[at], self.made_counts[at + 1] = launches, torn
        self.made_of[at], self.made_of[at + 1] = label, choice
        self.number += 1

    def outer(self, k: int, early: float, late: float) -> float:
        """Least e, f and shared to come, by what k tensors can send outside of both floors [us]."""
        count = len(self.release)
        first, second = self.place(self.release, early), self.place(self.tail, late)
        least = -1e300
        for i in range(self.dropped_count):
            skipped = self.dropped_first[i]
            if skipped > k:
                break
            at = (i * count + k) * count
            room = self.room_before[at + first] + self.room_after[at + second]
            least = max(least, room - self.total[skipped])
        return least

    def place(self, times: Sequence[float], time: float) -> int:
        """Return the first place of a time in ascending times, where it is one of them."""
        low, high = 0, len(times)
        while low < high:
            middle = (low + high) >> 1
            if times[middle] < time:
                low = middle + 1
            else:
                high = middle
        return low

    def keep(self, k: int) -> int:
        """Keep the labels that no other one makes needless, the least bounds first; how many."""
        alive = 0
        made, kept = self.made, self.kept
        for label in self.bounds[: self.number].argsort(kind="stable").tolist():
            at = _FIELDS * label
            if self.is_needless(label, alive):
                continue
            if alive == self.most:
                self.dropped = min(self.dropped, made[at + _BOUND])
                break
            for field in range(_FIELDS):
                kept[_FIELDS * alive + field] = made[at + field]
            self.kept_counts[2 * alive] = self.made_counts[2 * label]
            self.kept_counts[2 * alive + 1] = self.made_counts[2 * label + 1]
            self.parents[k * self.most + alive] = self.made_of[2 * label]
            self.choices[k * self.most + alive] = self.made_of[2 * label + 1]
            alive += 1
        return alive

    def is_needless(self, label: int, alive: int) -> bool:
        """Tell whether some label kept is as good in all that may follow."""
        made, kept, counts, a = self.made, self.kept, self.kept_counts, self.startup
        at = _FIELDS * label
        e, f, early, late = made[at], made[at + 1], made[at + 3], made[at + 4]
        launches, torn = self.made_counts[2 * label], self.made_counts[2 * label + 1]
        together = e + f + made[at + 2]
        o = -_FIELDS
        for other in range(alive):
            o += _FIELDS
            if kept[o + 3] > early or kept[o + 4] > late or counts[2 * other + 1] < torn:
                continue
            spare = a * (launches - counts[2 * other])
            if (
                spare >= 0.0
                and kept[o] - e <= spare
                and kept[o + 1] - f <= spare
                and kept[o] + kept[o + 1] + kept[o + 2] - together <= spare
            ):
                self.looks -= other + 1
                return True
        self.looks -= alive
        return False

    def chosen(self) -> list[str]:
        """Where each tensor but the last goes in the best plan found, of :data:`CHOICES`."""
        choices = []
        label = 0
        for k in range(len(self.release) - 1):
            choices.append(CHOICES[self.choices[k * self.most + label]])
            label = self.parents[k * self.most + label]
        return choices
