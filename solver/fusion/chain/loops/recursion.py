"""The labels of the recursion from both ends: :mod:`solver.fusion.chain.nested` says what they are.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from math import inf
from typing import Any, Literal

AFTER, BEFORE, BOTH = 0, 1, 2
_AFTER, _BEFORE, _BOTH = AFTER, BEFORE, BOTH

#: How many of the most promising labels are tried in two parts at every cell.
_TRIED = 24


class Recursion:
    """The labels (X, Y) of every prefix, at most one in each cell of a grid on X.

    Along the labels of a prefix X ascends and Y descends, so two sorts of label need no look. One
    whose X the release of a group exceeds gives the same X as all earlier ones do, at less Y; and
    where the tail exceeds Y it does so of all later ones, which give the same Y at more X.

    Parameters
    ----------
    cells
        Ends of the cells [us], no two the same, ascending; one more has what is beyond.
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
        self.x = array("d", [0.0])
        self.y = array("d", [0.0])
        self.origin = array("i", [-1])
        self.side = array("i", [_BEFORE])
        self.cell = array("i", [bisect_left(self.cells, 0.0)])  # where X is
        self.first = array("i", [0]) * (prefixes + 1)  # label of each prefix
        self.first[1] = 1
        self.prefixes = 1
        self.best_x = array("d", [0.0]) * (self.count + 1)
        self.best_y = array("d", [0.0]) * (self.count + 1)
        self.best_origin = array("i", [0]) * (self.count + 1)
        self.best_side = array("i", [0]) * (self.count + 1)
        self.tried = array("d", [0.0]) * _TRIED
        self.tried_label = array("i", [0]) * _TRIED
        self.tried_ready = array("d", [0.0]) * _TRIED
        self.tried_work = array("d", [0.0]) * _TRIED
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
        self.send_before(release, group_time)
        self.send_after(tail, group_time)
        self.split(release, tail, group_work)
        if self.first[self.prefixes] + self.count >= len(self.x):
            self.grow()
        self.keep()

    def send_before(self, release: float, times: Sequence[float]) -> None:
        """Offer groups before the core, of each prefix from its last label that is ready."""
        cells, x, first = self.cells, self.x, self.first
        cell = 0
        for j in range(self.prefixes):
            last = first[j + 1] - 1
            if last < first[j]:
                continue
            label = last
            while label > first[j] and x[label] > release:
                label -= 1
            while label <= last:
                sent = max(x[label], release) + times[j]
                while cell < self.count and cells[cell] < sent:
                    cell += 1
                while cell and cells[cell - 1] >= sent:
                    cell -= 1
                self.offer(sent, self.y[label], cell, label, _BEFORE)
                label += 1

    def send_after(self, tail: float, times: Sequence[float]) -> None:
        """Offer groups after the core, of each prefix up to its first label that is ready."""
        y, cell, first, best_y = self.y, self.cell, self.first, self.best_y
        for j in range(self.prefixes):
            time = times[j]
            for label in range(first[j], first[j + 1]):
                own = y[label]
                sent = max(own, tail) + time
                at = cell[label]
                if sent <= best_y[at]:
                    self.offer(self.x[label], sent, at, label, _AFTER)
                if own <= tail:
                    break

    def split(self, release: float, tail: float, work: Sequence[float]) -> None:
        """Offer groups in two parts, the one before the core ending exactly at a cell.

        Both parts pay the start-up: Y = ready + rest + 2 a + work - cell, for the label that makes
        it least among the most promising ones.
        """
        tried, cells, a = self.tried, self.cells, self.startup
        count = self.promising(release, tail, work)
        for cell in range(self.count):
            end = cells[cell]
            if end - release - a <= 0.0:  # nothing is ready before the release
                continue
            for place in range(count):
                carried = end - self.tried_ready[place] - a
                if 0.0 < carried < self.tried_work[place]:
                    y = tried[place] + 2.0 * a - end
                    self.offer(end, y, cell, self.tried_label[place], _BOTH)
                    break

    def promising(self, release: float, tail: float, work: Sequence[float]) -> int:
        """Find the labels of which two parts need the least time, the least first; how many.

        They are sought from the last label backwards, as later groups are smaller: so most earlier
        prefixes need no look. Of equal ones the earlier comes first.
        """
        x, y, first = self.x, self.y, self.first
        tried, count = self.tried, 0
        for j in range(self.prefixes - 1, -1, -1):
            if count == _TRIED and release + tail + work[j] > tried[count - 1]:
                continue
            for label in range(first[j + 1] - 1, first[j] - 1, -1):
                ready = max(x[label], release)
                total = ready + max(y[label], tail) + work[j]
                if count < _TRIED:
                    count += 1
                elif total > tried[count - 1]:
                    continue
                place = count - 1
                while place and total <= tried[place - 1]:
                    tried[place] = tried[place - 1]
                    self.tried_label[place] = self.tried_label[place - 1]
                    self.tried_ready[place] = self.tried_ready[place - 1]
                    self.tried_work[place] = self.tried_work[place - 1]
                    place -= 1
                tried[place], self.tried_label[place] = total, label
                self.tried_ready[place], self.tried_work[place] = ready, work[j]
        return count

    def offer(self, x: float, y: float, cell: int, origin: int, side: int) -> None:
        """Take a label if it has the least Y of its cell; of equal ones the least X, the first."""
        if x + y + self.rest >= self.to_beat:
            return
        if y < self.best_y[cell] or (y == self.best_y[cell] and x < self.best_x[cell]):
            self.best_x[cell], self.best_y[cell] = x, y
            self.best_origin[cell], self.best_side[cell] = origin, side

    def grow(self) -> None:
        """Make room for a quarter more labels, and for those of one prefix.

        Few cells have a label of most prefixes, so room for all would be many times what is used.
        """
        more = len(self.x) // 4 + self.count + 1
        self.x, self.y = _longer("d", self.x, more), _longer("d", self.y, more)
        self.origin = _longer("i", self.origin, more)
        self.side = _longer("i", self.side, more)
        self.cell = _longer("i", self.cell, more)

    def keep(self) -> None:
        """Keep what no label of an earlier cell beats in both."""
        at = self.first[self.prefixes]
        least = inf
        for cell in range(self.count + 1):
            if self.best_y[cell] < least:
                least = self.best_y[cell]
                self.x[at], self.y[at], self.cell[at] = self.best_x[cell], least, cell
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


def _longer(typecode: Literal["d", "i"], values: "array[Any]", more: int) -> "array[Any]":
    """Return the same numbers, and so many zeros more."""
    longer = array(typecode, [0]) * (len(values) + more)
    memoryview(longer)[: len(values)] = memoryview(values)
    return longer
