"""The event loop where things under way slow one another down.

An end depends on what is decided meanwhile: it is an event too, at the first priority.
"""

from heapq import heappush
from math import inf

from solver.chain import chain_of
from solver.costs import Network
from solver.graph import Graph
from solver.simulation.contention import SentAlone, UnderWay, contention_of, startup_of
from solver.simulation.events import (
    COMPUTES,
    HAPPENS,
    EventLoop,
    Noise,
    Policy,
    TimedLaunch,
    costs_of,
)


class SlowedEventLoop(EventLoop):
    """One iteration in progress in which things under way slow one another down.

    The end of an op, or of a launch that shares a card or links, is not known when it begins: an
    event stands for the next such end as far as is known, as if it were that of a launch on one
    more channel. It comes first at its time, so the others come in the order that they have without
    contention.
    """

    def __init__(self, graph: Graph, network: Network, policy: Policy, noise: Noise | None) -> None:
        super().__init__(graph, network, policy, noise)
        chain, contention = chain_of(graph), contention_of(graph, network)
        self._shares = contention.is_shared
        self._passes = [network.passes(lane) for lane in chain.lanes]
        self._lane = chain.lane
        startups = [startup_of(cost).time for cost in costs_of(chain, network)]
        self._startup = [startups[lane] for lane in chain.lane]
        self._place = [0] * len(self._flying)  # of each channel's last launch
        self._under_way = UnderWay(contention)
        self._expected = inf  # the time of the last such event

    def _pass_on(self, ready: list[int]) -> None:
        """Begin ops whose ``starts`` are now."""
        for op in ready:
            if op in self._index:
                heappush(self._heap, (self._starts[op], HAPPENS, self._index[op]))
            else:
                self._under_way.compute(op, self._durations[op], self._starts[op])
        self._expect()

    def _fly(self, channel: int, launch: TimedLaunch, time: float) -> None:
        self._place[channel] = len(self._launches) - 1
        self._under_way.carry(channel, launch.start)
        if not self._shares[channel]:
            super()._fly(channel, launch, time)
        else:
            tensor = launch.bucket[0]
            startup = self._startup[tensor](launch.bytes)
            startup *= self._factors[tensor] if self._factors else 1.0
            startup = min(startup, time)
            rest, passing = time - startup, launch.bytes * self._passes[self._lane[tensor]]
            rate = passing / rest if rest > 0 else 0.0
            sent = SentAlone(startup, rest, launch.end, rate)
            self._under_way.send(channel, sent, launch.start)
        self._expect()

    def _land(self, channel: int, now: float) -> None:
        if channel < len(self._flying):
            if self._shares[channel]:
                place = self._place[channel]
                self._launches[place] = self._launches[place]._replace(end=now)
            self._under_way.free(channel, now)
            super()._land(channel, now)
            self._expect()
            return
        self._events -= 1  # compute ops are counted as such, launches where they land
        if now == self._expected:  # else the speed, or what ends next, is another one by now
            ended = self._under_way.pop()
            self._expected = inf
            if ended is None:
                self._expect()
            elif ended < 0:
                heappush(self._heap, (now, HAPPENS, len(self._index) - 1 - ended))
                self._expect()
            else:
                self._end([ended], now)

    def _expect(self) -> None:
        """Put the next such end among the events."""
        if self._under_way.next_end != self._expected:
            self._expected = self._under_way.next_end
            event = len(self._index) + len(self._flying)
            heappush(self._heap, (self._expected, COMPUTES, event))
