"""Iterations of a graph in flat arrays."""

from array import array
from collections.abc import Sequence
from typing import Any

from solver.chain import chain_of
from solver.costs import Network
from solver.graph import Graph
from solver.simulation.kernel.flat_graph import FlatGraph, flat_graph
from solver.simulation.kernel.heap import Heap
from solver.simulation.kernel.senders import Sender, Units

_NONE = -1
_HAPPENS, _WAKES = 0, 1


def run_of(
    graph: Graph, network: Network, rules: Sequence[Any], slowdown: float = 1.0
) -> "KernelRun | None":
    """Return what runs a graph under rules; None but for senders of the same units.

    Every channel has a sender of its own. Compute takes ``slowdown`` times as long while any
    channel carries.
    """
    tensors = chain_of(graph)
    senders = [rule for rule in rules if isinstance(rule, Sender)]
    if not senders:
        return None
    units = senders[0].units
    if units.tensors != len(tensors) or any(sender.units is not units for sender in senders):
        return None
    if not len(senders) == len(rules) == len(tensors.channels):
        return None
    costs = [network(lane) for lane in tensors.lanes]
    return KernelRun(flat_graph(graph), units, senders, units.times(tensors, costs), slowdown)


class KernelRun:
    """Iterations of a graph whose channels have senders of the same units, one at a time.

    Parameters
    ----------
    graph
        The graph.
    senders
        Of each channel its rule.
    times
        Of each part of the units how long its launch takes [us].
    slowdown
        How many times as long compute takes while a channel carries. Where that is more than once,
        compute is on one clock, as in :mod:`solver.simulation.clock`.
    """

    def __init__(
        self,
        graph: FlatGraph,
        units: Units,
        senders: list[Sender],
        times: "array[float]",
        slowdown: float = 1.0,
    ) -> None:
        self.slowdown = slowdown
        self.computing = Heap(len(graph.durations) if slowdown > 1 else 0)  # end on the clock, op
        self.clock = self.since = self.next_end = 0.0
        self.speed, self.carrying = slowdown, 0
        self.units = units
        self.senders = senders
        self.times = times
        self.ops, self.tensors = len(graph.durations), len(graph.position)
        self.durations = graph.durations
        self.waiting, self.tensor = graph.waiting, graph.tensor
        self.succ_from, self.succ = graph.succ_from, graph.succ
        self.position, self.channel = graph.position, graph.channel
        self.missing = array("i", bytes(4 * self.ops))
        self.stack = array("i", bytes(4 * self.ops))
        self.starts = array("d", bytes(8 * self.ops))
        self.ends = array("d", bytes(8 * self.ops))
        self.flying = array("i", bytes(4 * len(senders)))  # the unit on each channel
        self.waking = array("i", bytes(4 * len(senders)))
        self.heap = Heap(self.tensors + 2 * len(senders))  # time, kind of event, event
        # of each launch so far the unit, when it begins and ends, and of what bytes
        self.sent = array("i", bytes(4 * len(times)))
        self.begun = array("d", bytes(8 * len(times)))
        self.landed = array("d", bytes(8 * len(times)))
        self.offset = array("q", bytes(8 * len(times)))
        self.size = array("q", bytes(8 * len(times)))
        self.launches = self.events = self.unsent = 0

    def run(self, durations: Sequence[float] = (), factors: Sequence[float] = ()) -> float:
        """Run an iteration from its beginning, and return its time [us].

        Parameters
        ----------
        durations
            Of each op [us]; those of the graph when empty.
        factors
            Of each tensor: a launch takes so many times its time, by its bucket's first tensor.

        Raises
        ------
        IndexError
            When there are too few of them.
        """
        if 0 < len(durations) < self.ops or 0 < len(factors) < self.tensors:
            raise IndexError(len(durations), len(factors))
        return self._run(array("d", durations or self.durations), array("d", factors))

    def _run(self, durations: "array[float]", factors: "array[float]") -> float:
        self._restart()
        heap, computing = self.heap, self.computing
        self._begin(durations)
        while heap.count or computing.count:
            if computing.count and (heap.count == 0 or self.next_end <= heap.major[0]):
                now, op = self.next_end, computing.item[0]
                computing.pop()
                self._look(now)
                self._pass_on(self._end(op, now, 0), durations)
                continue
            now, wakes, event = heap.major[0], heap.minor[0] == _WAKES, heap.item[0]
            heap.pop()
            self.events += 1
            if wakes:
                self.waking[event] = 0
                self._ask(event, now, factors)
            elif event < self.tensors:
                channel = self.channel[event]
                sender = self.senders[channel]
                sender.release(event, now)
                self._wake(channel, now)
            else:
                self._land(event - self.tensors, now, durations)
        self.events += self.ops - self.tensors
        time = 0.0
        for op in range(self.ops):
            time = max(time, self.ends[op])
        return time

    def _restart(self) -> None:
        self.units.restart()
        for sender in self.senders:
            sender.restart()
        for op in range(self.ops):
            self.missing[op] = self.waiting[op]
            self.starts[op] = self.ends[op] = 0.0
        for channel in range(len(self.flying)):
            self.flying[channel] = _NONE
            self.waking[channel] = 0
        self.launches = self.events = 0
        self.unsent = self.tensors
        self.computing.count = self.carrying = 0
        self.speed = self.slowdown

    def _begin(self, durations: "array[float]") -> None:
        """Begin the ops that come after none."""
        depth = 0
        for op in range(self.ops):
            if self.missing[op] == 0:
                self.stack[depth] = op
                depth += 1
        self._pass_on(depth, durations)

    def _pass_on(self, depth: int, durations: "array[float]") -> None:
        """Begin so many ops on the stack: compute ops end, collectives are released."""
        while depth > 0:
            depth -= 1
            op = self.stack[depth]
            if self.tensor[op] != _NONE:
                self.heap.push(self.starts[op], _HAPPENS, self.tensor[op])
            elif self.slowdown > 1:
                self._compute(op, self.starts[op], durations[op])
            else:
                depth = self._end(op, self.starts[op] + durations[op], depth)

    def _end(self, op: int, now: float, depth: int) -> int:
        """End an op, and put those on the stack that came after it alone."""
        self.ends[op] = now
        for edge in range(self.succ_from[op], self.succ_from[op + 1]):
            after = self.succ[edge]
            self.starts[after] = max(self.starts[after], now)
            self.missing[after] -= 1
            if self.missing[after] == 0:
                self.stack[depth] = after
                depth += 1
        return depth

    def _compute(self, op: int, now: float, duration: float) -> None:
        """Put the end of an op on the clock, which begins anew where no op is on it."""
        if self.computing.count == 0:
            self.clock = self.since = 0.0
        at = self.clock + (now - self.since) * self.speed
        self.computing.push(at + self.slowdown * duration, 0.0, op)
        self._look(now)

    def _carry(self, more: int, now: float) -> None:
        """Have so many more channels carry, and compute at full speed while none does."""
        self.carrying += more
        speed = 1.0 if self.carrying > 0 else self.slowdown
        if speed != self.speed:
            self.clock += (now - self.since) * self.speed
            self.since, self.speed = now, speed
            self._look(now)

    def _look(self, now: float) -> None:
        """Find when the next op ends; rounding must not put it before now."""
        if self.computing.count:
            ahead = (self.computing.major[0] - self.clock) / self.speed
            self.next_end = max(now, self.since + ahead)

    def _wake(self, channel: int, now: float) -> None:
        if self.flying[channel] == _NONE and not self.waking[channel]:
            self.waking[channel] = 1
            self.heap.push(now, _WAKES, channel)

    def _ask(self, channel: int, now: float, factors: "array[float]") -> None:
        sender = self.senders[channel]
        unit = sender.take(now)
        if unit == _NONE:
            return
        units = self.units
        part = units.part[unit] - 1
        if part == units.first[unit]:
            for place in range(units.begin[unit], units.begin[unit + 1]):
                self.starts[self.position[units.members[place]]] = now
        time = self.times[part]
        if len(factors):
            time *= factors[units.members[units.begin[unit]]]
        self.sent[self.launches] = self.flying[channel] = unit
        self.begun[self.launches] = now
        self.landed[self.launches] = now + time
        self.offset[self.launches] = units.bytes[unit] - units.left[unit]
        self.size[self.launches] = units.size[part]
        units.left[unit] -= units.size[part]
        self.launches += 1
        self.heap.push(now + time, _HAPPENS, self.tensors + channel)
        self._carry(1, now)

    def _land(self, channel: int, now: float, durations: "array[float]") -> None:
        """End a launch, and with its bucket's last part the bucket's collectives."""
        units, unit = self.units, self.flying[channel]
        self.flying[channel] = _NONE
        self._carry(-1, now)
        self._wake(channel, now)
        if units.left[unit] != 0:
            return
        depth = 0
        for place in range(units.begin[unit], units.begin[unit + 1]):
            depth = self._end(self.position[units.members[place]], now, depth)
            self.unsent -= 1
        self._pass_on(depth, durations)

    def op_times(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return when each op starts, and when it ends, in the last iteration [us]."""
        return tuple(_listed(self.starts, self.ops)), tuple(_listed(self.ends, self.ops))

    def launch_columns(
        self,
    ) -> "tuple[list[tuple[int, ...]], list[float], list[float], list[int], list[int]]":
        """List the buckets, starts, ends, offsets and bytes of the last iteration's launches."""
        units = self.units.units
        return (
            [units[unit][0] for unit in _listed(self.sent, self.launches)],
            _listed(self.begun, self.launches),
            _listed(self.landed, self.launches),
            _listed(self.offset, self.launches),
            _listed(self.size, self.launches),
        )

    def unsent_tensors(self) -> list[int]:
        """List the tensors that the last iteration left unsent."""
        units = self.units.units
        left = _listed(self.units.left, len(units))
        done = {i for u, (bucket, _) in enumerate(units) if left[u] == 0 for i in bucket}
        return [tensor for tensor in range(self.tensors) if tensor not in done]


def _listed(values: "array[Any]", count: int) -> list[Any]:
    """List the first of some values."""
    return memoryview(values)[:count].tolist()
