"""The event loop of one iteration under any rule, and what it takes and gives.

Durations are known, so an op's end follows as soon as the ends of all it comes after are known;
only what a channel decides waits for its time. Events are (time, priority, event): releases of
collectives and ends of launches at priority 0, wake-ups of the channels at priority 1, so that a
rule decides after everything that happens by then.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from solver.buckets import Launch, Launches
from solver.chain import Chain, chain_of
from solver.costs import Cost, Network
from solver.graph import Graph

#: Priorities of events: ends that contention moves, what happens, wake-ups of the channels.
COMPUTES, HAPPENS, WAKES = -1, 0, 1


class Rule(Protocol):
    """A policy at work on one channel: told what is released, asked what to launch."""

    def release(self, tensor: int, now: float) -> None:
        """Take note that a tensor (chain index) may be sent from ``now`` [us] on."""

    def launch(self, now: float) -> Launch | float | None:
        """Say what to send on the free channel, or when to ask again [us], or None: not yet."""


#: A policy: from a chain and the cost of a launch in each of its lanes to a rule for each of its
#: channels, in their order.
Policy = Callable[[Chain, Sequence[Cost]], Sequence[Rule]]


class TimedLaunch(NamedTuple):
    """One launch as it ran."""

    bucket: tuple[int, ...]
    start: float
    end: float
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """One simulated iteration.

    Attributes
    ----------
    iteration_time
        End of the last op [us].
    starts, ends
        Of every op, by position [us]; a collective starts with its bucket's first part.
    launches
        By start, those of one time in the order of the chain's channels.
    events
        How many ops ended and launches were made or put off.
    """

    iteration_time: float
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    launches: tuple[TimedLaunch, ...]
    events: int

    @property
    def plan(self) -> Launches:
        """The launches without their times, which can be replayed."""
        return tuple(Launch(launch.bucket, launch.bytes) for launch in self.launches)


@dataclass(frozen=True, slots=True)
class Noise:
    """How one iteration differs from what was planned for.

    Attributes
    ----------
    durations
        Of every op, by position [us], in place of the graph's.
    factors
        Of every tensor, by chain index: a launch takes so many times its cost, by the first
        tensor of its bucket.
    """

    durations: tuple[float, ...]
    factors: tuple[float, ...]


class Deadlock(RuntimeError):
    """A rule left tensors unsent; ``unsent`` has their chain indices."""

    def __init__(self, unsent: Sequence[int]) -> None:
        self.unsent = tuple(unsent)
        super().__init__(f"{len(self.unsent)} tensors were never sent")


def costs_of(chain: Chain, network: Network) -> tuple[Cost, ...]:
    """Return the cost of a launch in each lane of a chain."""
    return tuple(map(network, chain.lanes))


class EventLoop:
    """One iteration in progress."""

    def __init__(self, graph: Graph, network: Network, policy: Policy, noise: Noise | None) -> None:
        chain = chain_of(graph)
        costs = costs_of(chain, network)
        self._rules = policy(chain, costs)
        self._factors = noise.factors if noise else None
        self._durations = noise.durations if noise else graph.durations
        self._positions = chain.positions.tolist()
        self._sizes = chain.bytes.tolist()
        self._time = [costs[lane].time for lane in chain.lane]
        self._channel = chain.channel
        self._index = {position: i for i, position in enumerate(self._positions)}
        self._succs = graph.succs
        self._waiting = [len(found) for found in graph.preds]
        self._starts = [0.0] * len(self._waiting)
        self._ends = [0.0] * len(self._waiting)
        self._begun: dict[tuple[int, ...], list[int]] = {}  # bucket: bytes in all, bytes left
        self._launches: list[TimedLaunch] = []
        self._heap: list[tuple[float, int, int]] = []
        self._flying: list[TimedLaunch | None] = [None] * len(self._rules)
        self._wakes: set[tuple[float, int]] = set()
        self._events = 0
        self._unsent = len(self._positions)

    def run(self) -> Timeline:
        """Handle events until none is left."""
        self._pass_on([op for op, missing in enumerate(self._waiting) if missing == 0])
        heap, tensors = self._heap, len(self._index)
        while heap:
            now, kind, event = heappop(heap)
            self._events += 1
            if kind == WAKES:
                self._wakes.discard((now, event))
                if self._flying[event] is None:
                    self._ask(event, now)
            elif event < tensors:
                self._rules[self._channel[event]].release(event, now)
                self._wake(self._channel[event], now)
            else:
                self._land(event - tensors, now)
        if self._unsent:
            done = {i for bucket, (_, left) in self._begun.items() if not left for i in bucket}
            raise Deadlock([i for i in range(tensors) if i not in done])
        return Timeline(
            max(self._ends, default=0.0),
            tuple(self._starts),
            tuple(self._ends),
            tuple(self._launches),
            self._events + len(self._ends) - tensors,
        )

    def _pass_on(self, ready: list[int]) -> None:
        """Begin ops whose ``starts`` are known: compute ops end, collectives are released."""
        starts, ends, waiting = self._starts, self._ends, self._waiting
        index, durations, succs = self._index, self._durations, self._succs
        while ready:
            op = ready.pop()
            if op in index:
                heappush(self._heap, (starts[op], HAPPENS, index[op]))
                continue
            end = ends[op] = starts[op] + durations[op]
            for j in succs[op]:
                starts[j] = max(starts[j], end)
                waiting[j] -= 1
                if not waiting[j]:
                    ready.append(j)

    def _wake(self, channel: int, at: float) -> None:
        if self._flying[channel] is None and (at, channel) not in self._wakes:
            self._wakes.add((at, channel))
            heappush(self._heap, (at, WAKES, channel))

    def _ask(self, channel: int, now: float) -> None:
        answer = self._rules[channel].launch(now)
        if isinstance(answer, Launch):
            bucket, size = answer
            begun = self._begun.get(bucket)
            if begun is None:
                total = sum(self._sizes[i] for i in bucket)
                begun = self._begun[bucket] = [total, total]
                for i in bucket:
                    self._starts[self._positions[i]] = now
            time = self._time[bucket[0]](size)
            if self._factors:
                time *= self._factors[bucket[0]]
            launch = TimedLaunch(bucket, now, now + time, begun[0] - begun[1], size)
            begun[1] -= size
            self._launches.append(launch)
            self._flying[channel] = launch
            self._fly(channel, launch, time)
        elif answer is not None:
            self._wake(channel, answer)

    def _fly(self, channel: int, launch: TimedLaunch, time: float) -> None:
        """Put the end of a launch that takes a time [us] among the events."""
        heappush(self._heap, (launch.end, HAPPENS, len(self._index) + channel))

    def _land(self, channel: int, now: float) -> None:
        """End a launch, and with its bucket's last part the bucket's collectives."""
        launch = self._flying[channel]
        assert launch is not None, "a launch lands once"
        self._flying[channel] = None
        self._wake(channel, now)
        if self._begun[launch.bucket][1]:
            return
        self._unsent -= len(launch.bucket)
        self._end(map(self._positions.__getitem__, launch.bucket), now)

    def _end(self, ops: Iterable[int], now: float) -> None:
        """End ops, and begin those that came after them alone."""
        ready = []
        for op in ops:
            self._ends[op] = now
            for j in self._succs[op]:
                self._starts[j] = max(self._starts[j], now)
                self._waiting[j] -= 1
                if not self._waiting[j]:
                    ready.append(j)
        self._pass_on(ready)
