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
any share: e and f fall by a + w each, and together by no more than 2 a + w. So e + f has a least
value of its own: ``both``. A tensor may ride with the last such bucket, on both sides; but what e
comes to by the tops since then, ``held``, does not fall by that, for the bucket is sent after them;
``behind`` is its mirror image.

A *label* has e, f, ``both``, the floors r_top and q_top, ``held``, ``behind`` and the launches.
Each choice takes its figures by sums and maxima to figures that are no lower where they were no
lower. So a label stands for another one whose figures are no lower, where what it has fewer in
launches may be added to e, f and ``both`` of the other.
One that cannot beat a time is left out, by what e may come to if the other side needs no bytes
(:mod:`solver.fusion.chain.two_sided.side`). When none is left no plan beats that time. Where too
many are left, labels whose figures are near to each other become one, with the least of each
figure: none of their plans is lost, and the best of what is left is a bound (MODEL.md section 5).
"""

from array import array
from collections.abc import Sequence
from math import inf

import numpy as np

from solver.fusion.chain.two_sided.beginning import Beginning
from solver.fusion.chain.two_sided.side import ChainSide

#: Where a tensor may go: with the core, with the last top of a side, or as a top itself; on both
#: sides as (in) a bucket in two parts.
CHOICES = ("core", "before", "after", "new before", "new after", "new both", "both")
_CORE, _BEFORE, _AFTER, _NEW_BEFORE, _NEW_AFTER, _NEW_BOTH, _BOTH = range(7)
#: Figures of a label: e, f, both; from the first floor on both floors, and what is held on both
#: sides; the bound, which is the last.
_FIELDS, _FLOORS, _BOUND = 8, 3, 7
#: How far figures of labels that become one may be apart at first, as a share of the longest time;
#: by how much that grows until the labels are few enough, and falls at the next tensor.
_NEAR, _MORE, _LESS = 1e-6, 1.7, 0.25


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
    """

    def __init__(
        self,
        release: Sequence[float],
        tail: Sequence[float],
        total: Sequence[float],
        blocks: Sequence[int],
        startup: float,
        most: int,
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
        self.longest = release[count - 1] + tail[count - 1] + total[count] + startup * count
        room = 7 * most
        # of labels kept, and of those made of them: the figures; then launches and whether a bucket
        # is in two parts; then the label it was made of, and by which choice
        self.kept = array("d", [0.0]) * (_FIELDS * most)
        self.kept_counts = array("i", [0]) * (2 * most)
        self.firsts = array("i", [0]) * most
        made = array("d", [0.0]) * (_FIELDS * room)
        self.made = made
        self.bounds = np.frombuffer(made)[_BOUND::_FIELDS]
        self.boths = np.frombuffer(made)[2::_FIELDS]
        made_counts = array("i", [0]) * (2 * room)
        self.made_counts = made_counts
        self.counts = np.frombuffer(made_counts, np.int32)[::2]
        self.made_of = array("i", [0]) * (2 * room)
        self.number = self.alive = 0
        # of the label that is extended, and of what is made of it
        self.of = self.torn = self.launches = 0
        self.near = 0.0
        self.parents = array("i", [0]) * (count * most)
        self.choices = array("i", [0]) * (count * most)
        # the same of the last labels kept of which none was lowered
        self.exact = array("d", [0.0]) * (_FIELDS * most)
        self.exact_counts = array("i", [0]) * (2 * most)
        self.exact_from = self.exact_alive = 0
        self.dropped = inf
        self.value = inf
        self.looks = 0  # how often two labels were compared, about

    def run(self, to_beat: float, beginning: Beginning | None = None) -> float:
        """Return a time [us] that no plan is below, at most ``to_beat``.

        With a beginning no plan that begins so. ``value`` is the least that labels come to, inf
        when none came to the end; no plan need take it.
        """
        begin = beginning or self.first()
        kept = self.kept
        for field in range(_BOUND):
            kept[field] = begin.figures[field]
        self.kept_counts[0] = begin.launches
        self.kept_counts[1] = begin.torn
        self.dropped = self.value = inf
        self.near = 0.0
        self.alive = 1
        self.exact_from, self.exact_alive = begin.left, 0
        for k in range(begin.left - 1, -1, -1):
            self.number = 0
            for label in range(self.alive):
                self.extend(label, k, to_beat)
            self.keep(k)
            if self.near == 0.0 and self.exact_from == k + 1:
                self.remember(k)
        for label in range(self.alive):
            self.value = min(self.value, self.end(label))
        return min(to_beat, self.dropped, self.value)

    def first(self) -> Beginning:
        """Return what all plans begin with: the core carries the last tensor."""
        top = len(self.release) - 1
        r, q = self.release[top], self.tail[top]
        return Beginning(top, (r, q, r + q, r, q, r, q), 1, 0)

    def remember(self, k: int) -> None:
        """Note the labels of a place, of which none stands for another one that is not as good."""
        self.exact_from = k
        self.exact_alive = self.alive
        for i in range(_FIELDS * self.alive):
            self.exact[i] = self.kept[i]
        for i in range(2 * self.alive):
            self.exact_counts[i] = self.kept_counts[i]

    def beginnings(self, beginning: Beginning) -> list[Beginning]:
        """Return beginnings of all plans that begin like one, those of the last run's labels.

        As far as no label stands for another one that is not as good: one of them begins a best
        plan of these, unless none beats the time.
        """
        found = []
        for label in range(self.exact_alive):
            at = _FIELDS * label
            figures = tuple(self.exact[at + field] for field in range(_BOUND))
            launches, torn = self.exact_counts[2 * label], self.exact_counts[2 * label + 1]
            way = self.way_to(label, self.exact_from, beginning.left)
            choices = (*way, *beginning.choices)
            bound = self.exact[at + _BOUND]
            found.append(Beginning(self.exact_from, figures, launches, torn, choices, bound))
        return found

    def extend(self, label: int, k: int, to_beat: float) -> None:
        """Make the labels that tensor k leads to."""
        at = _FIELDS * label
        kept = self.kept
        e, f, both = kept[at], kept[at + 1], kept[at + 2]
        early, late = kept[at + 3], kept[at + 4]
        held, behind = kept[at + 5], kept[at + 6]
        launches, torn = self.kept_counts[2 * label], self.kept_counts[2 * label + 1]
        a = self.startup
        w = self.total[k + 1] - self.total[k]
        r, q = self.release[k], self.tail[k]
        self.of, self.torn, self.launches = label, torn, launches
        self.add(e, f, both, early, late, held, behind, k, _CORE, to_beat)
        # what a block sends to one side the other may have instead
        other = w if self.blocks[k] else 0.0
        fall = both - w
        if other:
            self.add(e - w, f - w, fall, early, late, held, behind, k, _BOTH, to_beat)
        else:
            if torn:
                f_torn = max(f - w, behind)
                self.add(
                    max(e - w, held), f_torn, fall, early, late, held, behind, k, _BOTH, to_beat
                )
            if both - f > early:
                self.add(e - w, f, fall, early, late, held - w, behind, k, _BEFORE, to_beat)
            if both - e > late:
                self.add(e, f - w, fall, early, late, held, behind - w, k, _AFTER, to_beat)
        taken = a + w
        fall = both - taken
        self.launches = launches + 1
        self.add(
            e - taken,
            f - other,
            fall,
            r,
            late,
            held - taken,
            behind - other,
            k,
            _NEW_BEFORE,
            to_beat,
        )
        self.add(
            e - other,
            f - taken,
            fall,
            early,
            q,
            held - other,
            behind - taken,
            k,
            _NEW_AFTER,
            to_beat,
        )
        self.launches, self.torn = launches + 2, 1
        self.add(e - taken, f - taken, fall - a, r, q, r, q, k, _NEW_BOTH, to_beat)

    def add(
        self,
        e: float,
        f: float,
        both: float,
        early: float,
        late: float,
        held: float,
        behind: float,
        k: int,
        choice: int,
        to_beat: float,
    ) -> None:
        """Add a label if it may beat the time; no side falls below its floor."""
        e = max(e, early)
        f = max(f, late)
        both = max(both, e + f)
        rest = self.before.least(k, e, early) + self.after.least(k, f, late)
        rest = max(rest, both - self.total[k])
        bound = self.total[len(self.release)] + self.startup * self.launches + rest
        if bound >= to_beat:
            return
        at = _FIELDS * self.number
        made = self.made
        made[at], made[at + 1], made[at + 2] = e, f, both
        made[at + 3], made[at + 4] = early, late
        made[at + 5], made[at + 6] = max(held, early), max(behind, late)
        made[at + _BOUND] = bound
        at = 2 * self.number
        self.made_counts[at], self.made_counts[at + 1] = self.launches, self.torn
        self.made_of[at], self.made_of[at + 1] = self.of, choice
        self.number += 1

    def keep(self, k: int) -> None:
        """Keep labels that stand for all, the least bounds first; as near to each as may be.

        Where they are too many however far apart, the others are dropped.
        """
        number = self.number
        by = self.boths[:number], self.counts[:number], self.bounds[:number]
        order = array("i", np.lexsort(by).tolist())
        self.near *= _LESS
        while not self.keep_near(order) and self.near < self.longest:
            self.near = max(self.near * _MORE, self.longest * _NEAR)
        for label in range(self.alive):
            first = self.firsts[label]
            self.parents[k * self.most + label] = self.made_of[2 * first]
            self.choices[k * self.most + label] = self.made_of[2 * first + 1]

    def keep_near(self, order: Sequence[int]) -> bool:
        """Keep labels, and lower them to stand for others that are near; whether for all."""
        self.alive = 0
        made, kept = self.made, self.kept
        for i in range(self.number):
            label = order[i]
            self.looks += self.alive + 1
            nearest = self.nearest(label)
            if nearest >= 0:
                self.lower(nearest, label)
                continue
            if self.alive == self.most:
                if self.near >= self.longest:
                    self.dropped = min(self.dropped, made[_FIELDS * label + _BOUND])
                return False
            for field in range(_FIELDS):
                kept[_FIELDS * self.alive + field] = made[_FIELDS * label + field]
            self.kept_counts[2 * self.alive] = self.made_counts[2 * label]
            self.kept_counts[2 * self.alive + 1] = self.made_counts[2 * label + 1]
            self.firsts[self.alive] = label
            self.alive += 1
        return True

    def nearest(self, label: int) -> int:
        """Return the label kept that falls least when it stands for this one; -1: none is near.

        It has no more launches, and may do as much with a bucket in two parts.
        """
        made, kept, counts = self.made, self.kept, self.kept_counts
        a, near = self.startup, self.near
        launches, torn = self.made_counts[2 * label], self.made_counts[2 * label + 1]
        at = _FIELDS * label
        e, f, both, early, late = made[at], made[at + 1], made[at + 2], made[at + 3], made[at + 4]
        best, least = -1, inf
        for other in range(self.alive):
            fewer = launches - counts[2 * other]
            if fewer < 0 or counts[2 * other + 1] < torn:
                continue
            spare = a * fewer
            o = _FIELDS * self.firsts[other]  # as it was made: so none drifts
            # one comparison after the other, as most are far: max takes long without a compiler
            if made[o + 3] - early > near or made[o + 4] - late > near:
                continue
            if made[o] - e - spare > near or made[o + 1] - f - spare > near:
                continue
            if made[o + 2] - both - spare > near:
                continue
            if torn and (made[o + 5] - made[at + 5] > near or made[o + 6] - made[at + 6] > near):
                continue
            o = _FIELDS * other
            fall = max(0.0, kept[o] - e - spare) + max(0.0, kept[o + 1] - f - spare)
            fall = max(fall, kept[o + 2] - both - spare)
            floors = max(0.0, kept[o + 3] - early) + max(0.0, kept[o + 4] - late)
            fall = max(fall, floors)
            if torn:
                held = max(0.0, kept[o + 5] - made[at + 5]) + max(0.0, kept[o + 6] - made[at + 6])
                fall = max(fall, held)
            if fall < least:
                best, least = other, fall
                if fall <= 0.0:
                    break
        return best

    def lower(self, other: int, label: int) -> None:
        """Let a label kept stand for another one: the least of each figure."""
        made, kept = self.made, self.kept
        at, o = _FIELDS * label, _FIELDS * other
        spare = self.startup * (self.made_counts[2 * label] - self.kept_counts[2 * other])
        stop = _BOUND if self.made_counts[2 * label + 1] else _BOUND - 2
        for field in range(stop):
            figure = made[at + field]
            if field < _FLOORS:
                figure += spare
            if figure < kept[o + field]:  # noqa: PLR1730 - min takes twice as long without a compiler
                kept[o + field] = figure
        # e and f together are no more than both: what is too much is taken off, down to the floors
        excess = kept[o] + kept[o + 1] - kept[o + 2]
        if excess > 0.0:
            fall = min(excess, kept[o] - kept[o + 3])
            kept[o] -= fall
            kept[o + 1] -= excess - fall
        kept[o + 5] = min(kept[o + 5], kept[o])
        kept[o + 6] = min(kept[o + 6], kept[o + 1])

    def chosen(self, most: int) -> list[list[str]]:
        """Where each tensor but the last goes, by the labels that came to the least.

        Of at most ``most`` labels, one of :data:`CHOICES` for each tensor. Where labels became one
        these plans may be longer than it said.
        """
        ends = sorted(range(self.alive), key=lambda label: (self.end(label), label))
        count = len(self.release) - 1
        return [self.way_to(label, 0, count) for label in ends[:most]]

    def end(self, label: int) -> float:
        """Return what a label that has placed all tensors comes to [us]."""
        launches = self.startup * self.kept_counts[2 * label]
        return self.total[len(self.release)] + launches + self.kept[_FIELDS * label + 2]

    def way_to(self, label: int, k: int, stop: int) -> list[str]:
        """Return where the tensors from k on went before a label of place k, up to a tensor."""
        choices = []
        for place in range(k, stop):
            choices.append(CHOICES[self.choices[place * self.most + label]])
            label = self.parents[place * self.most + label]
        return choices
