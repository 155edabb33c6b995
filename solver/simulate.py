"""The one simulator: every policy, every plan and every reported time comes from here.

An engine of events (time, priority, sequence, event): ends of ops at priority 0, then the wake-up
of the channel at priority 1, so that a rule decides after everything that ends by then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, Protocol

from solver.chain import Chain, chain_of
from solver.costs import Cost
from solver.graph import Graph

_END, _WAKE = 0, 1
_CHANNEL = -1


class Send(NamedTuple):
    """What a rule launches: ``bytes`` of the bucket made of these tensors (chain indices)."""

    bucket: tuple[int, ...]
    bytes: int


class Rule(Protocol):
    """A policy at work on one iteration: told what is released, asked what to launch."""

    def release(self, tensor: int, now: float) -> None:
        """Take note that a tensor (chain index) may be sent from ``now`` [us] on."""

    def launch(self, now: float) -> Send | float | None:
        """Say what to send on the free channel, or when to ask again [us], or None: not yet."""


#: A policy: from a chain and the cost of a launch to a rule.
Policy = Callable[[Chain, Cost], Rule]


class Sent(NamedTuple):
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
    sent
        The launches in time order.
    events
        How many events the engine handled.
    """

    iteration_time: float
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    sent: tuple[Sent, ...]
    events: int


def simulate(graph: Graph, cost: Cost, policy: Policy) -> Timeline:
    """Run one iteration of a graph under a policy.

    An op starts when all it comes after have ended. The channel carries one launch at a time,
    for cost.time(bytes); a collective ends when all bytes of its bucket have been sent.

    Raises
    ------
    RuntimeError
        When the rule leaves tensors unsent.

    Notes
    -----
    O((ops + edges + launches) log(ops)).
    """
    return _Engine(graph, cost, policy).run()


class _Engine:
    """One iteration in progress."""

    def __init__(self, graph: Graph, cost: Cost, policy: Policy) -> None:
        chain = chain_of(graph)
        self._time = cost.time
        self._rule = policy(chain, cost)
        self._positions = chain.positions.tolist()
        self._sizes = chain.bytes.tolist()
        self._index = {position: i for i, position in enumerate(self._positions)}
        self._durations, self._succs = graph.durations, graph.succs
        self._waiting = [len(found) for found in graph.preds]
        self._starts = [0.0] * len(self._waiting)
        self._ends: list[float | None] = [None] * len(self._waiting)
        self._total: dict[tuple[int, ...], int] = {}
        self._left: dict[tuple[int, ...], int] = {}
        self._sent: list[Sent] = []
        self._heap: list[tuple[float, int, int, int]] = []
        self._sequence = count()
        self._wakes: set[float] = set()
        self._busy = False

    def run(self) -> Timeline:
        """Handle events until none is left."""
        for op, missing in enumerate(self._waiting):
            if missing == 0:
                self._begin(op, 0.0)
        heap = self._heap
        handled = 0
        while heap:
            now, kind, _, op = heappop(heap)
            handled += 1
            if kind == _WAKE:
                self._wakes.discard(now)
                if not self._busy:
                    self._ask(now)
            elif op == _CHANNEL:
                self._free(now)
            else:
                self._finish(op, now)
        ends = [end for end in self._ends if end is not None]
        if len(ends) < len(self._ends):
            missing = len(self._ends) - len(ends)
            raise RuntimeError(f"{missing} ops never ran: the rule left tensors unsent")
        return Timeline(max(ends), tuple(self._starts), tuple(ends), tuple(self._sent), handled)

    def _push(self, at: float, kind: int, op: int) -> None:
        heappush(self._heap, (at, kind, next(self._sequence), op))

    def _wake(self, at: float) -> None:
        if at not in self._wakes:
            self._wakes.add(at)
            self._push(at, _WAKE, _CHANNEL)

    def _begin(self, op: int, now: float) -> None:
        self._starts[op] = now
        if op in self._index:
            self._rule.release(self._index[op], now)
            self._wake(now)
        else:
            self._push(now + self._durations[op], _END, op)

    def _finish(self, op: int, now: float) -> None:
        self._ends[op] = now
        waiting = self._waiting
        for j in self._succs[op]:
            waiting[j] -= 1
            if waiting[j] == 0:
                self._begin(j, now)

    def _ask(self, now: float) -> None:
        answer = self._rule.launch(now)
        if isinstance(answer, Send):
            bucket, size = answer
            if bucket not in self._total:
                self._total[bucket] = self._left[bucket] = sum(self._sizes[i] for i in bucket)
                for i in bucket:
                    self._starts[self._positions[i]] = now
            offset = self._total[bucket] - self._left[bucket]
            self._left[bucket] -= size
            end = now + self._time(size)
            self._sent.append(Sent(bucket, now, end, offset, size))
            self._busy = True
            self._push(end, _END, _CHANNEL)
        elif answer is not None:
            self._wake(answer)

    def _free(self, now: float) -> None:
        self._busy = False
        self._wake(now)
        bucket = self._sent[-1].bucket
        if not self._left[bucket]:
            for i in bucket:
                self._finish(self._positions[i], now)
