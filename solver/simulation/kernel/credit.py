"""A queue whose parts are issued ahead of their launch, as far as a credit goes."""

from array import array

from solver.buckets import Launch
from solver.simulation.kernel.senders import Queue, Units

_NONE = -1


class CreditQueue(Queue):
    """Issues parts in the order of a queue; what is issued is sent first in, first out.

    A part takes its bytes from the credit when it is issued, and they come back when its launch
    ends. When the first part exceeds what is left nothing is issued, but one part may always go
    when none is in flight. What is issued at a time is decided after all that happens by then.

    Parameters
    ----------
    units, count, ranks, turn
        As of a queue.
    parts
        How many parts its units have.
    credit
        Most bytes issued and not finished.
    """

    def __init__(
        self, units: Units, count: int, ranks: "array[float]", turn: float, parts: int, credit: int
    ) -> None:
        super().__init__(units, count, ranks, turn)
        self.credit = credit
        self.next = array("i", bytes(4 * len(units.units)))  # part to issue, of each unit
        self.issued = array("i", bytes(4 * parts))  # units, in the order of their parts
        self.since = array("d", bytes(8 * parts))  # when each was issued
        self.restart()

    def restart(self) -> None:
        """Have nothing ready, nothing issued."""
        self.heap.count = 0
        self.head = self.tail = 0  # of what is issued
        self.flying = self.wire = 0  # bytes issued and not finished, bytes of the launch under way
        self.now = 0.0
        for unit in range(len(self.next)):
            self.next[unit] = self.units.first[unit]

    def release(self, tensor: int, now: float) -> None:
        """Issue what was known before this time, then count the tensor in."""
        self._until(now)
        self._count_in(tensor, now)

    def take(self, now: float) -> int:
        """Settle, and send the first part that is issued."""
        self.settle(now)
        if self.head == self.tail:
            return _NONE
        unit = self.issued[self.head]
        self.head += 1
        self.wire = self.units.size[self.units.part[unit]]
        self.units.part[unit] += 1
        return unit

    def settle(self, now: float) -> None:
        """Take back the bytes of the launch under way, for the channel is free, and issue."""
        self._until(now)
        self.flying -= self.wire
        self.wire = 0
        self._issue()

    def take_issued(self) -> list[tuple[Launch, float]]:
        """Take all that is issued, as launches, each with its time of issue [us]."""
        found = []
        for k in range(self.head, self.tail):
            unit = self.issued[k]
            part = self.units.part[unit]
            self.units.part[unit] += 1
            found.append((Launch(self.units.units[unit][0], self.units.size[part]), self.since[k]))
        self.head = self.tail
        return found

    def _until(self, now: float) -> None:
        if now > self.now:
            self._issue()
            self.now = now

    def _issue(self) -> None:
        while self.heap.count:
            unit = self.heap.item[0]
            size = self.units.size[self.next[unit]]
            if self.flying != 0 and self.flying + size > self.credit:
                return
            self.issued[self.tail] = unit
            self.since[self.tail] = self.now
            self.tail += 1
            self.flying += size
            self.next[unit] += 1
            if self.next[unit] == self.units.first[unit + 1]:
                self.heap.pop()
