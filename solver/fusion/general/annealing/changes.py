"""Random changes of a plan: the order of its launches, and their buckets.

Each makes of the plan ``here``, which stays, the plan ``there``, which is a copy of it; it says
whether it was possible, and where it was not ``there`` is as it was.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate

from solver.fusion.general.annealing.plan import AnnealedPlan
from solver.fusion.general.annealing.problem import NONE, AnnealingProblem

_WORD = 0xFFFFFFFF


class PlanChanges:
    """Plans of one problem, and changes of their order and buckets.

    Parameters
    ----------
    problem
        Whose plans.
    urgency
        Of each tensor: the longest path behind it [us].
    pieces
        Of each lane, sizes of little time per byte [bytes].
    capacity
        Most launches of each channel.
    seed
        Of every random choice.
    fuse
        Whether buckets may change, and launches be cut.

    Attributes
    ----------
    here, best
        The plan that the search has come to, and the best one so far.
    """

    def __init__(
        self,
        problem: AnnealingProblem,
        urgency: Sequence[float],
        pieces: Sequence[Sequence[int]],
        capacity: Sequence[int],
        seed: int,
        *,
        fuse: bool,
    ) -> None:
        self.problem = problem
        self.urgency = array("d", urgency)
        self.piece = array("q", [*(size for sizes in pieces for size in sizes), 0])
        self.piece_from = array("i", [0, *accumulate(map(len, pieces))])
        self.fuse = fuse
        self.state = (seed * 0x9E3779B1 + 0x7F4A7C15) & _WORD or 1
        self.here = AnnealedPlan(problem, capacity)
        self.there = AnnealedPlan(problem, capacity)
        self.best = AnnealedPlan(problem, capacity)

    def below(self, count: int) -> int:
        """Draw one of 0 .. count - 1."""
        state = self.state
        state ^= (state << 13) & _WORD
        state ^= state >> 17
        state ^= (state << 5) & _WORD
        self.state = state
        return (state * count) >> 32

    def any_launch(self) -> int:
        """Draw any launch."""
        here = self.here
        total = 0
        for c in range(self.problem.channels):
            total += here.length[c]
        k = self.below(total)
        c = 0
        while k >= here.length[c]:
            k -= here.length[c]
            c += 1
        return here.row[here.base[c] + k]

    def distance(self, most: int) -> int:
        """Draw a distance of 1 .. most, mostly a short one."""
        reach = 1 << self.below(9)
        return 1 + self.below(min(reach, most))

    def reorder(self, c: int, place: int, waits: int) -> bool:
        """Put a launch at another place."""
        there = self.there
        count = there.length[c]
        source, target = place, place
        draw = self.below(4)
        if waits:
            earliest = self._earliest(c, place)
            if earliest == place:
                return False
            if draw < 2:
                target = earliest + self.below(place - earliest)
            elif draw == 2:
                source = earliest + self.below(place - earliest)
            else:
                if place + 1 >= count:
                    return False
                target = place + self.distance(count - 1 - place)
        else:
            if place + 1 >= count:
                return False
            if draw < 3:
                source = place + self.distance(count - 1 - place)
            else:
                target = place + self.distance(count - 1 - place)
        there.put(c, target, there.take(c, source))
        return True

    def _earliest(self, c: int, place: int) -> int:
        """First place before which a launch might begin no later than when it is released."""
        here = self.here
        release = here.release[here.bucket[here.row[here.base[c] + place]]]
        while place and here.finish[here.row[here.base[c] + place - 1]] > release:
            place -= 1
        return place

    def near(self, c: int, launch: int) -> int:
        """Draw a whole launch near another one, in its lane; NONE where there is none."""
        here, problem = self.here, self.problem
        b = here.bucket[launch]
        lane = problem.lane[here.first[b]]
        draw = self.below(4)
        if draw < 2:  # a neighbour in the order of release
            i = here.first[b]
            if draw:
                while here.follower[i] >= 0:
                    i = here.follower[i]
                i += 1
                while i < problem.tensors and (problem.lane[i] != lane or here.home[i] == b):
                    i += 1
            else:
                i -= 1
                while i >= 0 and (problem.lane[i] != lane or here.home[i] == b):
                    i -= 1
            if i < 0 or i >= problem.tensors:
                return NONE
            other = here.last[here.home[i]]
            return other if here.size[other] == here.total[here.bucket[other]] else NONE
        skip = self.below(1 << self.below(4))
        step = 1 if draw == 2 else -1
        k = here.place[launch] + step
        while 0 <= k < here.length[c]:
            other = here.row[here.base[c] + k]
            of_other = here.bucket[other]
            if problem.lane[here.first[of_other]] == lane and here.parts[of_other] == 1:
                if not skip:
                    return other
                skip -= 1
            k += step
        return NONE

    def merge(self, c: int, launch: int) -> bool:
        """Send a launch together with another one, in the place of either."""
        here, there = self.here, self.there
        other = self.near(c, launch)
        if other < 0:
            return False
        if self.below(2):
            launch, other = other, launch
        a, b = there.bucket[launch], there.bucket[other]
        there.take(c, here.place[other])
        there.close_launch(other)
        self._give(b, a, NONE, 0)
        there.close_bucket(b)
        there.resize(launch, there.total[a])
        return True

    def split(self, c: int, launch: int) -> bool:
        """Take a bucket apart, by release or by urgency."""
        there = self.there
        a = there.bucket[launch]
        if there.count[a] < 2 or there.length[c] == there.capacity[c]:
            return False
        b = there.open_bucket()
        if not self._give_some(a, b):
            there.close_bucket(b)
            return False
        place = self.here.place[launch]
        there.resize(launch, there.total[a])
        other = there.open_launch(b, there.total[b])
        draw = self.below(4)
        if draw == 0:
            there.put(c, place, other)
        elif draw == 1:
            there.put(c, place + 1, other)
        elif draw == 2:
            there.put(c, place + self.distance(there.length[c] - place), other)
        else:
            there.put(c, place - self.distance(place) if place else 0, other)
        return True

    def transfer(self, c: int, launch: int) -> bool:
        """Give some tensors of a bucket to another one, or take some of its."""
        there = self.there
        other = self.near(c, launch)
        if other < 0:
            return False
        if self.below(2):
            launch, other = other, launch
        a, b = there.bucket[launch], there.bucket[other]
        if there.count[a] < 2 or not self._give_some(a, b):
            return False
        there.resize(launch, there.total[a])
        there.resize(other, there.total[b])
        return True

    def _give_some(self, a: int, b: int) -> bool:
        """Move some tensors of a bucket to another one: one, the first, the last, the urgent."""
        there = self.there
        skip = self.below(there.count[a])
        how = 1 + self.below(5)
        pivot = there.first[a]
        while skip:
            pivot = there.follower[pivot]
            skip -= 1
        if (how == 2 and there.follower[pivot] < 0) or (how == 3 and pivot == there.first[a]):
            return False
        if how > 3:
            i = there.first[a]
            while i >= 0 and _goes(how, i, pivot, self.urgency[i], self.urgency[pivot]):
                i = there.follower[i]
            if i < 0:
                return False
        self._give(a, b, pivot, how)
        return True

    def _give(self, a: int, b: int, pivot: int, how: int) -> None:  # noqa: PLR0912 - one merge
        """Move tensors of a bucket to another one: all, or those that ``how`` says of a pivot."""
        there, problem = self.there, self.problem
        i, j = there.first[a], there.first[b]
        if there.count[b] == 0:
            j = NONE
        end_a = end_b = NONE
        while i >= 0 or j >= 0:
            if j >= 0 and (i < 0 or j < i):
                moved, goes = j, True
                j = there.follower[j]
            else:
                moved = i
                goes = how == 0 or _goes(how, i, pivot, self.urgency[i], self.urgency[pivot])
                i = there.follower[i]
                if goes:
                    there.home[moved] = b
                    there.count[a] -= 1
                    there.count[b] += 1
                    there.total[a] -= problem.size[moved]
                    there.total[b] += problem.size[moved]
            if goes:
                if end_b < 0:
                    there.first[b] = moved
                else:
                    there.follower[end_b] = moved
                end_b = moved
            else:
                if end_a < 0:
                    there.first[a] = moved
                else:
                    there.follower[end_a] = moved
                end_a = moved
        if end_a >= 0:
            there.follower[end_a] = NONE
        else:
            there.first[a] = NONE
        there.follower[end_b] = NONE


def _goes(how: int, i: int, pivot: int, urgency: float, least: float) -> bool:
    """Tell whether a tensor is among those that stand to the pivot as ``how`` says."""
    if how == 1:
        return i == pivot
    if how == 2:
        return i <= pivot
    if how == 3:
        return i >= pivot
    if how == 4:
        return urgency >= least
    return urgency <= least
