"""The least that one side of the core can come to, if it had all bytes to itself."""

from array import array
from collections.abc import Sequence

#: Cells of the grid on which it is kept.
_CELLS = 128


class ChainSide:
    """The least that one side can come to, launches paid, if it had all bytes to itself.

    Parameters
    ----------
    head
        Release of each tensor, or its tail for the side behind the core [us], ascending.
    total
        Work of the first 0, 1, ..., n tensors [us].
    startup
        Of a launch [us].

    Notes
    -----
    S_j(e), with a top j just opened and its start-up taken off e, is the least of max(h_j, e - all
    work up to j) and, over the next tops i < j, of a + S_i(max(h_j, e - work between) - a). It
    ascends with e and is kept on a grid, rounded down. O(n^2 cells) at most, far less where bytes
    abound: a side at its floor needs no work between.
    """

    def __init__(self, head: Sequence[float], total: Sequence[float], startup: float) -> None:
        count = len(head)
        self.head = array("d", head)
        self.total = array("d", total)
        self.startup = startup
        self.low = self.head[0]
        self.step = max((self.head[count - 1] - self.low) / (_CELLS - 1), 1e-9)
        self.own = array("d", [0.0]) * (count * _CELLS)
        self.best = array("d", [0.0]) * (count * _CELLS)  # a + the least of all tops up to j
        self.fill()

    def fill(self) -> None:
        """Compute the grid, top by top."""
        at = 0
        for j in range(len(self.head)):
            floor = self.head[j]
            work = self.total[j + 1] - self.total[j]
            for cell in range(_CELLS):
                value = self.least(j, self.low + cell * self.step - work, floor)
                self.own[at] = value
                value += self.startup
                if j and self.best[at - _CELLS] < value:
                    value = self.best[at - _CELLS]
                self.best[at] = value
                at += 1

    def cell(self, level: float) -> int:
        """Place of a level, which is not below the lowest head, on the grid, rounded down."""
        place = int((level - self.low) / self.step)
        return min(place, _CELLS - 1)

    def least(self, count: int, level: float, floor: float) -> float:
        """Least level to come, plus the start-ups of new launches [us].

        ``count`` tensors are left, ``level`` is not below ``floor`` once work has been taken off.
        """
        total, own, a, low, step = self.total, self.own, self.startup, self.low, self.step
        left = total[count]
        least = level - left
        if least >= floor:  # a launch takes off its start-up, and costs as much
            return least
        least = floor
        for j in range(count - 1, -1, -1):
            if least <= a + low:  # no launch comes to less
                break
            rest = level - (left - total[j + 1])
            if rest <= floor:  # so are all lower ones
                return min(least, self.best[j * _CELLS + self.cell(floor - a)])
            place = int((rest - a - low) / step)  # as in cell: calls take long without a compiler
            value = a + own[j * _CELLS + (place if place < _CELLS else _CELLS - 1)]
            least = min(least, value)
        return least
