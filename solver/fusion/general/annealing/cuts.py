"""Random changes of a plan that cut launches, or put their parts together."""

from solver.buckets import largest_part
from solver.fusion.general.annealing.changes import PlanChanges


class Cuts(PlanChanges):
    """Changes of the parts that buckets are sent in."""

    def cut(self, c: int, launch: int) -> bool:
        """Send a launch in two parts, the second one later."""
        here, there = self.here, self.there
        if there.length[c] == there.capacity[c]:
            return False
        place = here.place[launch]
        size = here.size[launch]
        part = self._share(c, launch, size)
        if part <= 0 or part >= size:
            return False
        there.resize(launch, part)
        other = there.open_launch(there.bucket[launch], size - part)
        if self.below(4):
            target = place + 1
            if place + 1 < there.length[c]:
                target += self.distance(there.length[c] - place - 1)
            there.put(c, target, other)
        else:  # the first part earlier
            there.put(c, place + 1, other)
            if place:
                there.put(c, place - self.distance(place), there.take(c, place))
        return True

    def _share(self, c: int, launch: int, most: int) -> int:
        """Draw the bytes of a launch, up to some: what fits until another one is released, or any.

        0 when nothing fits.
        """
        here, problem = self.here, self.problem
        tensor = here.first[here.bucket[launch]]
        lane, element = problem.lane[tensor], problem.element[tensor]
        draw = self.below(4)
        if draw == 0:
            k = 1 + self.below(15)
            part = most // 16 * k + most % 16 * k // 16  # most * k may be beyond 64 bits
        elif draw == 1 and self.piece_from[lane + 1] > self.piece_from[lane]:
            k = self.piece_from[lane]
            part = self.piece[k + self.below(self.piece_from[lane + 1] - k)]
        else:
            reach = here.length[c] - here.place[launch] - 1
            if not reach:
                return 0
            ahead = 1 if draw == 2 else self.distance(min(reach, 16))
            other = here.row[here.base[c] + here.place[launch] + ahead]
            room = here.release[here.bucket[other]] - here.begin[launch]
            return self._fitting(lane, room, most, element)
        return part - part % element

    def _fitting(self, lane: int, room: float, most: int, element: int) -> int:
        """Most bytes of whole elements, up to some, that a launch carries in a time [us]."""
        problem = self.problem
        if room <= 0:
            return 0
        if not problem.is_line[lane]:
            return self._fits(lane, room, most, element)
        room -= problem.startup[lane]
        if room <= 0:
            return 0
        if room >= problem.per_byte[lane] * most:
            return most
        part = int(room / problem.per_byte[lane])
        return part - part % element

    def _fits(self, lane: int, room: float, size: int, element: int) -> int:
        return largest_part(self.problem.costs[lane], room, size, element)

    def part(self, c: int, launch: int) -> bool:
        """Join a part with another one of its bucket, or shift bytes between them."""
        here, there = self.here, self.there
        b = here.bucket[launch]
        skip = self.below(here.parts[b] - 1)
        k = here.base[c]
        other = here.row[k]
        while skip or here.bucket[other] != b or other == launch:
            if here.bucket[other] == b and other != launch:
                skip -= 1
            k += 1
            other = here.row[k]
        both = here.size[launch] + here.size[other]
        part = both if self.below(3) == 0 else self._share(c, launch, both)
        if part <= 0:
            return False
        there.resize(launch, min(part, both))
        if part < both:
            there.resize(other, both - part)
        else:
            there.take(c, here.place[other])
            there.close_launch(other)
        return True

    def fill(self, c: int, launch: int) -> bool:
        """Send what is released in the gap before a launch: a later one, or as much as fits."""
        here, there, problem = self.here, self.there, self.problem
        place = here.place[launch]
        reach = here.length[c] - place - 1
        if not reach:
            return False
        free = here.finish[here.row[here.base[c] + place - 1]] if place else 0.0
        other = here.row[here.base[c] + place + self.distance(min(reach, 64))]
        b = here.bucket[other]
        free = max(free, here.release[b])
        size, i = here.size[other], here.first[b]
        room = here.begin[launch] - free
        part = self._fitting(problem.lane[i], room, size, problem.element[i])
        if part <= 0:
            return False
        if part >= size:
            there.put(c, place, there.take(c, here.place[other]))
            return True
        if there.length[c] == there.capacity[c]:
            return False
        there.resize(other, size - part)
        there.put(c, place, there.open_launch(b, part))
        return True

    def preempt(self, c: int, launch: int) -> bool:
        """Cut what runs when a launch is released that waits for it, and go on behind it."""
        here, there, problem = self.here, self.there, self.problem
        place = here.place[launch]
        release = here.release[here.bucket[launch]]
        k = place - 1
        while k >= 0 and here.begin[here.row[here.base[c] + k]] >= release:
            k -= 1
        if k < 0:
            return False
        other = here.row[here.base[c] + k]
        if here.finish[other] <= release:
            return False
        b = here.bucket[other]
        size, i = here.size[other], here.first[b]
        room = release - here.begin[other]
        part = self._fitting(problem.lane[i], room, size, problem.element[i])
        if part <= 0 or part >= size:  # nothing fits, or the whole but for rounding
            there.put(c, k, there.take(c, place))
            return True
        if there.length[c] == there.capacity[c]:
            return False
        there.resize(other, part)
        there.put(c, k + 1, there.take(c, place))
        rest = there.open_launch(b, size - part)
        if self.below(2):
            there.put(c, k + 2, rest)
        else:
            there.put(c, place + 1, rest)
        return True
