"""The labels of the recursion from both ends: :mod:`solver.fusion.chain.nested` says what they are.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from array import array
from collections.abc import Sequence
from math import inf

AFTER, BEFORE, BOTH = 0, 1, 2
_AFTER, _BEFORE, _BOTH = AFTER, BEFORE, BOTH

#: How many of the most promising labels are tried in two parts at every cell.
_TRIED = 24


class Recursion:
    """The labels (X, Y) of every prefix, at most one in each cell of a grid on X.

    Parameters
    ----------
    cells
        Ends of the cells [us], ascending; one more has what is beyond.
    prefixes
        How many prefixes have labels, the empty one among them.
    startup
        Of a launch [us].
    to_beat
        Labels that cannot come to less [us] are dropped.
    """

    def __init__(
        self, cells: Sequence[float], prefixes: int, startup: float, to_beat: float
    ) -> None:
        self.cells = array("d", cells)
        self.count = len(self.cells)
        self.startup = startup
        self.to_beat = to_beat
        room = prefixes * (self.count + 1)
        self.x = array("d", [0.0]) * room
        self.y = array("d", [0.0]) * room
        self.origin = array("i", [-1]) * room
        self.side = array("i", [_BEFORE]) * room
        self.first = array("i", [0]) * (prefixes + 1)  # label of each prefix
        self.first[1] = 1
        self.prefixes = 1
        self.best_x = array("d", [0.0]) * (self.count + 1)
        self.best_y = array("d", [0.0]) * (self.count + 1)
        self.best_origin = array("i", [0]) * (self.count + 1)
        self.best_side = array("i", [0]) * (self.count + 1)
        self.tried = array("d", [0.0]) * _TRIED
        self.tried_label = array("i", [0]) * _TRIED
        self.tried_group = array("i", [0]) * _TRIED
        self.rest = 0.0

    def extend(
        self,
        release: float,
        tail: float,
        times: Sequence[float],
        work: Sequence[float],
        rest: float,
    ) -> None:
        """Make the labels of the next prefix of those of all earlier ones.

        Parameters
        ----------
        release, tail
            Of its last tensor [us].
        times
            Of the group from each earlier prefix to this one [us].
        work
            The same without the start-up, by a line [us].
        rest
            What is left takes so long at least [us].
        """
        group_time = array("d", times)
        group_work = array("d", work)
        self.rest = rest
        for cell in range(self.count + 1):
            self.best_y[cell] = inf
        for j in range(self.prefixes):
            for label in range(self.first[j], self.first[j + 1]):
                self.offer(
                    max(self.x[label], release) + group_time[j], self.y[label], label, _BEFORE
                )
        for j in range(self.prefixes):
            for label in range(self.first[j], self.first[j + 1]):
                self.offer(self.x[label], max(self.y[label], tail) + group_time[j], label, _AFTER)
        self.split(release, tail, group_work)
        self.keep()

    def split(self, release: float, tail: float, work: Sequence[float]) -> None:
        """Offer groups in two parts, the one before the core ending exactly at a cell.

        Both parts pay the start-up: Y = ready + rest + 2 a + work - cell, for the label that makes
        it least among the most promising ones.
        """
        tried, count = self.tried, 0
        for j in range(self.prefixes):
            for label in range(self.first[j], self.first[j + 1]):
                total = max(self.x[label], release) + max(self.y[label], tail) + work[j]
                if count == _TRIED and total >= tried[count - 1]:
                    continue
                place = count if count < _TRIED else count - 1
                while place and total < tried[place - 1]:
                    tried[place] = tried[place - 1]
                    self.tried_label[place] = self.tried_label[place - 1]
                    self.tried_group[place] = self.tried_group[place - 1]
                    place -= 1
                tried[place] = total
                self.tried_label[place] = label
                self.tried_group[place] = j
                count = min(count + 1, _TRIED)
        for cell in range(self.count):
            for place in range(count):
                label = self.tried_label[place]
                ready = max(self.x[label], release)
                carried = self.cells[cell] - ready - self.startup
                if 0.0 < carried < work[self.tried_group[place]]:
                    y = tried[place] + 2.0 * self.startup - self.cells[cell]
                    self.offer(self.cells[cell], y, label, _BOTH)
                    break

    def offer(self, x: float, y: float, origin: int, side: int) -> None:
        """Take a label if it has the least Y of its cell; of equal ones the least X, the first."""
        if x + y + self.rest >= self.to_beat:
            return
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.cells[middle] < x:
                low = middle + 1
            else:
                high = middle
        if y < self.best_y[low] or (y == self.best_y[low] and x < self.best_x[low]):
            self.best_x[low], self.best_y[low] = x, y
            self.best_origin[low], self.best_side[low] = origin, side

    def keep(self) -> None:
        """Keep what no label of an earlier cell beats in both."""
        at = self.first[self.prefixes]
        least = inf
        for cell in range(self.count + 1):
            if self.best_y[cell] < least:
                least = self.best_y[cell]
                self.x[at], self.y[at] = self.best_x[cell], least
                self.origin[at], self.side[at] = self.best_origin[cell], self.best_side[cell]
                at += 1
        self.prefixes += 1
        self.first[self.prefixes] = at

    def close(self, release: float, tail: float, times: Sequence[float]) -> tuple[float, int]:
        """Return the least D with the core last, and its label; -1 when all were dropped."""
        group_time = array("d", times)
        best, at = inf, -1
        for j in range(self.prefixes):
            for label in range(self.first[j], self.first[j + 1]):
                value = max(self.x[label], release) + group_time[j] + max(self.y[label], tail)
                if value < best:
                    best, at = value, label
        return best, at

    def trace(self, label: int) -> list[tuple[int, int, float]]:
        """Walk back from a label: its prefix, how its last group was sent, and its X."""
        found = []
        j = self.prefixes - 1
        while label >= 0:
            while label < self.first[j]:
                j -= 1
            found.append((j, self.side[label], self.x[label]))
            label = self.origin[label]
        return found
