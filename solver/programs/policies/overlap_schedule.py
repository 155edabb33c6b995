"""PyTorch inductor's overlap schedule: launches placed before compute that can hide them."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from solver.programs.policies.overlap_nodes import overlap_nodes
from solver.programs.policies.tracked_memory import TrackedMemory, budget_of
from solver.programs.problem import ProgramProblem, lane_of, launch_time
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An order of the host without copies, and what hides which bucket.

    Attributes
    ----------
    steps
        Compute, launches and waits.
    hiding
        Of each bucket the places in ``steps`` of what was meant to hide it.
    exposed
        Of each bucket the estimated time that nothing hides [us].
    """

    steps: tuple[HostStep, ...]
    hiding: tuple[tuple[int, ...], ...]
    exposed: tuple[float, ...]


class OverlapSchedule:
    """The state of the rule while it schedules the ops, launches and waits of a problem.

    Numbers below the count of ops are ops of compute, then launches by bucket, then waits.
    """

    def __init__(
        self,
        problem: ProgramProblem,
        buckets: Sequence[tuple[int, ...]],
        overlap: float,
        in_flight_bytes: float,
        budget: tuple[int, float],
        ahead: int,
    ) -> None:
        nodes = overlap_nodes(problem, buckets)
        graph = self.graph = problem.graph
        self.buckets, self.overlap, self.ahead = buckets, overlap, ahead
        self.most_in_flight = in_flight_bytes
        self.n, self.m = len(graph.ops), len(buckets)
        self.index, self.heavy, self.succs = nodes.index, nodes.heavy, nodes.succs
        self.before, self.first, self.scatters = nodes.before, nodes.first, nodes.scatters
        self.never, self.blocking = nodes.never, nodes.blocking
        self.waiting = [len(preds) for preds in nodes.preds]
        self.bytes = [sum(graph.ops[i].bytes or 0 for i in members) for members in buckets]
        self.lanes = [lane_of(graph, members[0]) for members in buckets]
        self.channels = [graph.ops[members[0]].channel for members in buckets]
        self.each_channel = tuple(dict.fromkeys(self.channels))
        self.exposed = [launch_time(problem, members) for members in buckets]
        self.startups = [problem.network(lane).time(1) for lane in self.lanes]
        self.hiding: list[list[int]] = [[] for _ in buckets]
        self.memory = TrackedMemory(graph)
        self.allowed, self.baseline = budget_of(
            problem, nodes.order, nodes.rank, self._members, budget
        )
        self.prefetched = [0] * len(nodes.rank)
        self.unlaunched = dict.fromkeys(sorted(range(self.m), key=lambda b: self.index[self.n + b]))
        self.in_flight: dict[int, None] = {}
        self.flying, self.now, self.done, self.last = 0, 0, 0, -1
        self.pending = set(nodes.order)
        self.blockers = [-1] * self.m  # of each bucket a pending node that it comes after
        self.order: list[int] = []
        self.on_path: list[tuple[int, int, int, int]] = []
        self.off_path: list[tuple[int, int, int]] = []
        for i in nodes.order:
            if not self.waiting[i]:
                self._push(i)

    def run(self) -> Scheduled:
        """Schedule everything."""
        while self.on_path or self.off_path:
            if self.in_flight and self.flying >= self.most_in_flight:
                self._wait(next(iter(self.in_flight)))
                continue
            i = self._next()
            if i not in self.pending:
                continue
            if i < self.n:
                self._compute(i)
            elif i < self.n + self.m:
                self._launch(i - self.n)
            else:
                self._wait(i - self.n - self.m)
        at = {i: place for place, i in enumerate(self.order)}
        steps = []
        for i in self.order:
            if i < self.n:
                steps.append(HostStep(COMPUTE, i))
            elif i < self.n + self.m:
                steps.append(HostStep(LAUNCH, i - self.n))
            else:
                steps.append(HostStep(WAIT, i - self.n - self.m))
        hiding = tuple(tuple(sorted(at[i] for i in nodes)) for nodes in self.hiding)
        return Scheduled(tuple(steps), hiding, tuple(self.exposed))

    def _members(self, i: int) -> tuple[int, ...]:
        """Return the positions of the ops that a node writes memory for."""
        if i < self.n:
            return (i,)
        return self.buckets[i - self.n] if i < self.n + self.m else ()

    def _push(self, i: int) -> None:
        """Make a node ready: on the path to an op of weight, or off it."""
        if self.first[i] == self.never:
            heapq.heappush(self.off_path, (not self.scatters[i], self.index[i], i))
            return
        late = 0
        if i >= self.n + self.m:
            late = int(self.exposed[i - self.n - self.m] > 0)
        elif i >= self.n:
            late = -1
        heapq.heappush(self.on_path, (self.first[i], late, self.index[i], i))

    def _next(self) -> int:
        """Take the next ready node."""
        if self.off_path:
            i = self.off_path[0][2]
            if not self.on_path or i not in self.pending:
                return heapq.heappop(self.off_path)[2]
            if i >= self.n + self.m:
                hidden = self.exposed[i - self.n - self.m] <= 0
                if hidden or self.memory.level > self.allowed:
                    return heapq.heappop(self.off_path)[2]
            elif self.scatters[i] and self.index[i] <= self.last:
                return heapq.heappop(self.off_path)[2]
        return heapq.heappop(self.on_path)[3]

    def _schedule(self, i: int) -> None:
        """Append a node to the order."""
        self.done |= 1 << i
        self.pending.discard(i)
        self.order.append(i)
        for k in self._members(i):
            self.memory.schedule(k)
        if self.first[i] != self.never:
            self.last = max(self.last, self.index[i])
        for j in self.succs[i]:
            self.waiting[j] -= 1
            if not self.waiting[j]:
                self._push(j)

    def _compute(self, i: int) -> None:
        """Schedule an op of compute, before it what it can hide."""
        if self.graph.durations[i] > 0:
            left = self._hide(i, self.graph.durations[i] * self.overlap, None)
            self._prefetch(i, left)
        self._schedule(i)
        self.now += self.heavy[i]

    def _launch(self, b: int) -> None:
        """Schedule a launch; a start-up is not counted beside another of its lane."""
        if any(self.lanes[other] == self.lanes[b] for other in self.in_flight):
            self.exposed[b] = max(0.0, self.exposed[b] - self.startups[b])
        self.in_flight[b] = None
        self.flying += self.bytes[b]
        del self.unlaunched[b]
        self._schedule(self.n + b)

    def _wait(self, b: int) -> None:
        """Schedule a wait, before it those of earlier launches of its channel."""
        for other in list(self.in_flight):
            if other == b:
                break
            if self.channels[other] == self.channels[b] and other in self.in_flight:
                self._wait(other)
        if self.n + self.m + b not in self.pending:
            return
        if self.exposed[b] > 0:
            node = self.n + self.m + b
            left = self._hide(node, self.exposed[b], self.channels[b])
            self._prefetch(node, left)
        if b in self.in_flight:
            del self.in_flight[b]
            self.flying -= self.bytes[b]
            self._schedule(self.n + self.m + b)

    def _hide(self, node: int, time: float, but: str | None) -> dict[str, float]:
        """Hide launches behind a node; return what time is left on each channel."""
        left = {channel: time for channel in self.each_channel if channel != but}
        for b in self.in_flight:
            here = left.get(self.channels[b], 0.0)
            if here > 0 and self.exposed[b] > 0:
                hidden = min(self.exposed[b], here)
                self.exposed[b] -= hidden
                left[self.channels[b]] -= hidden
                self.hiding[b].append(node)
        return left

    def _prefetch(self, node: int, left: dict[str, float]) -> None:
        """Launch before a node what it can hide."""
        if all(time <= 0 for time in left.values()):
            return
        for b in self._candidates(left):
            channel = self.channels[b]
            if left[channel] <= 0 or b not in self.unlaunched:
                continue
            if self.before[node] >> self.n + b & 1 or self._is_too_much(b):
                continue
            path = self._path(b, node)
            if path is None or not self._make_room(b, node):
                continue
            self._follow(path)
            self._launch(b)
            if self.first[self.n + b] != self.never:
                for k in range(self.now, self.first[self.n + b]):
                    self.prefetched[k] += self.bytes[b]
            hidden = min(left[channel], self.exposed[b])
            self.exposed[b] -= hidden
            left[channel] -= hidden
            self.hiding[b].append(node)

    def _candidates(self, left: dict[str, float]) -> list[int]:
        """Return what may be launched now, lanes together, the most urgent first."""
        able, near = [], 0
        for b in self.unlaunched:
            if left.get(self.channels[b], 0.0) <= 0:
                continue
            first = self.first[self.n + b]
            if first != self.never and first - self.now > self.ahead:
                continue
            if self._is_able(b):
                able.append(b)
            near += 1
            if near >= self.ahead:
                break
        rated = {b: self._urgency(b, left) for b in able}
        groups: dict[object, list[int]] = {}
        for b in sorted(able, key=rated.__getitem__):
            groups.setdefault(self.lanes[b], []).append(b)
        return [b for group in groups.values() for b in group]

    def _is_able(self, b: int) -> bool:
        """Tell whether all ops of weight and launches that a launch comes after are scheduled."""
        if self.blockers[b] in self.pending:
            return False
        left = self.before[self.n + b] & self.blocking & ~self.done
        self.blockers[b] = left.bit_length() - 1
        return not left

    def _urgency(self, b: int, left: dict[str, float]) -> tuple[int, int, float, int]:
        """Rank a launch: the least is the most urgent."""
        first = self.first[self.n + b]
        if first == self.now + 1:
            rank = 0
        elif first == self.never:
            rank = 1 if self.scatters[self.n + b] else 3
        else:
            rank = 2
        gain = min(left[self.channels[b]], self.exposed[b])
        return rank, first, -gain, self.index[self.n + b]

    def _is_too_much(self, b: int) -> bool:
        """Tell whether a launch now exceeds the memory anywhere before its use."""
        first, size = self.first[self.n + b], self.bytes[b]
        if first == self.never:
            return False
        if self.memory.level + size > self.allowed:
            return True
        return any(
            self.prefetched[k] + size > self.most_in_flight
            or self.baseline[k] + self.prefetched[k] + size > self.allowed
            for k in range(self.now, first)
        )

    def _make_room(self, b: int, node: int) -> bool:
        """Wait for hidden launches until so many bytes fit."""
        while self.in_flight and self.most_in_flight - self.flying < self.bytes[b]:
            oldest = next(iter(self.in_flight))
            if self.exposed[oldest] > 0 or node in self.hiding[oldest]:
                return False
            self._wait(oldest)
        return self.most_in_flight - self.flying >= self.bytes[b]

    def _path(self, b: int, node: int) -> list[int] | None:
        """Return the light ops and hidden waits before a launch; None where others are."""
        left = self.before[self.n + b] & ~self.done
        path = []
        while left:
            low = left & -left
            i = low.bit_length() - 1
            left ^= low
            if i == node:
                return None
            if i >= self.n + self.m:
                other = i - self.n - self.m
                if self.exposed[other] > 0 or node in self.hiding[other]:
                    return None
            path.append(i)
        return sorted(path, key=lambda i: (self.before[i].bit_count(), self.index[i]))

    def _follow(self, path: list[int]) -> None:
        """Schedule a path."""
        for i in path:
            if i in self.pending:
                if i >= self.n + self.m:
                    self._wait(i - self.n - self.m)
                else:
                    self._schedule(i)
