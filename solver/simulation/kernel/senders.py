"""The rules that most policies are made of, and what they send, in flat arrays."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

from solver.buckets import Launch
from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.kernel.heap import Heap

#: A bucket (chain indices) and the sizes of the parts it is sent in [bytes].
Unit = tuple[tuple[int, ...], tuple[int, ...]]

_NONE = -1


class Units:
    """What is sent, and how far that is.

    Parameters
    ----------
    units
        Buckets with their parts; a unit's number is its place among them. It is sent on the
        channel of its first tensor.
    chain
        The tensors.

    Raises
    ------
    IndexError
        When a unit has no part, or a tensor that there is not.
    """

    def __init__(self, units: Sequence[Unit], chain: Chain) -> None:
        channel = chain.channel
        self.units = units
        self.tensors = len(channel)
        self.channel = array("i", (channel[bucket[0]] for bucket, _ in units))
        self.members = array("i", (i for bucket, _ in units for i in bucket))
        self.size = array("q", (size for _, parts in units for size in parts))
        self.begin = _begins(len(bucket) for bucket, _ in units)
        self.first = _begins(len(parts) for _, parts in units)
        # the places of a tensor among the members: the last one, and from each the one before
        self.place = array("i", [_NONE]) * self.tensors
        self.before = array("i", [_NONE]) * len(self.members)
        self.owner = array("i", bytes(4 * len(self.members)))
        self.bytes = array("q", bytes(8 * len(units)))
        self.missing = array("i", bytes(4 * len(units)))  # tensors that are not released
        self.part = array("i", bytes(4 * len(units)))  # the next one
        self.left = array("q", bytes(8 * len(units)))  # bytes that are not launched
        self._find_places(array("i", channel), array("q", chain.bytes.tolist()))
        self.restart()

    def _find_places(self, channel: "array[int]", sizes: "array[int]") -> None:
        for unit in range(len(self.channel)):
            if self.first[unit] == self.first[unit + 1]:
                raise IndexError(unit)
            for place in range(self.begin[unit], self.begin[unit + 1]):
                tensor = self.members[place]
                self.owner[place] = unit
                if tensor < 0 or tensor >= self.tensors:
                    raise IndexError(tensor)
                if channel[tensor] == self.channel[unit]:  # else nothing tells of its release
                    self.before[place] = self.place[tensor]
                    self.place[tensor] = place
                self.bytes[unit] += sizes[tensor]

    def restart(self) -> None:
        """Have nothing released, and nothing sent."""
        for unit in range(len(self.channel)):
            self.missing[unit] = self.begin[unit + 1] - self.begin[unit]
            self.part[unit] = self.first[unit]
            self.left[unit] = self.bytes[unit]

    def times(self, chain: Chain, costs: Sequence[Cost]) -> "array[float]":
        """Time of a launch of each part [us]; ``costs`` are those of the chain's lanes."""
        times = array("d")
        for bucket, parts in self.units:
            time, last = costs[chain.lane[bucket[0]]].time, _NONE
            for size in parts:
                if size != last:
                    last, value = size, time(size)
                times.append(value)
        return times


def _begins(counts: Iterable[int]) -> "array[int]":
    """Where each row begins, and the last one ends, in rows one behind the other."""
    return array("i", accumulate(counts, initial=0))


class Sender:
    """A rule that sends units on its channel.

    A run asks :meth:`take`, so that is what says which unit goes; :meth:`launch` only tells it to
    an engine that runs any rule.
    """

    def __init__(self, units: Units) -> None:
        self.units = units

    def restart(self) -> None:
        """Have nothing sent."""

    def release(self, tensor: int, now: float) -> None:
        """Count a tensor in; a unit is ready with its last tensor."""
        self._count_in(tensor, now)

    def _count_in(self, tensor: int, now: float) -> None:
        units = self.units
        place = units.place[tensor]
        while place != _NONE:
            unit = units.owner[place]
            units.missing[unit] -= 1
            if units.missing[unit] == 0:
                self.ready(unit, now)
            place = units.before[place]

    def ready(self, unit: int, now: float) -> None:
        """Take note that a unit may be sent from now on."""

    def take(self, now: float) -> int:
        """Send the next part of a unit: the unit, -1 for none."""
        return _NONE

    def launch(self, now: float) -> Launch | None:
        """Do as :meth:`take`, and tell the launch."""
        unit = self.take(now)
        if unit == _NONE:
            return None
        return Launch(self.units.units[unit][0], self.units.size[self.units.part[unit] - 1])


class Queue(Sender):
    """Sends the parts of the ready unit with the least rank, one unit after another.

    Of one rank the unit goes that was ready first (``turn`` 1) or last (-1), of those that of the
    smallest number. Units of a lesser rank go between the parts of others.
    """

    def __init__(self, units: Units, count: int, ranks: "array[float]", turn: float) -> None:
        super().__init__(units)
        self.ranks = ranks
        self.turn = turn
        self.heap = Heap(count)

    def restart(self) -> None:
        """Have nothing ready."""
        self.heap.count = 0

    def ready(self, unit: int, now: float) -> None:
        """Queue a unit."""
        self.heap.push(self.ranks[unit], self.turn * now, unit)

    def take(self, now: float) -> int:
        """Send the next part of the first unit; with the last one it leaves the queue."""
        if self.heap.count == 0:
            return _NONE
        unit = self.heap.item[0]
        self.units.part[unit] += 1
        if self.units.part[unit] == self.units.first[unit + 1]:
            self.heap.pop()
        return unit


class InOrder(Sender):
    """Sends parts in the order given, each as soon as its bucket is released.

    Parameters
    ----------
    units
        The units.
    order
        The unit of each launch.
    """

    def __init__(self, units: Units, order: "array[int]") -> None:
        super().__init__(units)
        self.order = order
        self.count = len(order)
        self.at = 0

    def restart(self) -> None:
        """Begin with the first launch."""
        self.at = 0

    def take(self, now: float) -> int:
        """Send the next part, when all of its bucket is released."""
        if self.at == self.count or self.units.missing[self.order[self.at]] != 0:
            return _NONE
        unit = self.order[self.at]
        self.at += 1
        self.units.part[unit] += 1
        return unit
