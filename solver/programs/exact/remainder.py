"""How long the rest of a program takes at least, after a beginning.

What is not begun starts no earlier than the stream is free and what it comes after has ended; the
stream and each channel do one thing at a time, so what starts at rho or later and has a tail of Q
or more takes them from rho on and leaves Q (MODEL.md section 16.6).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solver.programs.bounds.bound import least_times
from solver.programs.bounds.ends import heads_of
from solver.programs.bounds.work import most_bytes, resources_of
from solver.programs.exact.prefix import PACKED, SENT, Prefix, Prefixes, bits
from solver.programs.problem import lane_of
from solver.units import FloatArray, IntArray

if TYPE_CHECKING:
    from solver.costs import ChannelCost


class _Job(NamedTuple):
    """What a stream or a channel has to do: its head, its time, its tail [us]."""

    head: float
    time: float
    tail: float


class _Lane(NamedTuple):
    """What may be fused: the number of its channel, its collectives as a bit mask, what they take.

    ``least`` and ``minorants`` are those of :class:`solver.programs.bounds.work.FusableOps`.
    """

    channel: int
    members: int
    least: Callable[[IntArray], FloatArray]
    minorants: Sequence[tuple[float, float]]


class Remainder:
    """Least times of what beginnings leave of a problem."""

    def __init__(self, prefixes: Prefixes) -> None:
        """Find the tail and the least time of each op."""
        self.prefixes, problem = prefixes, prefixes.problem
        graph = self.graph = problem.graph
        self.weights = least_times(problem)
        resources = resources_of(problem)
        self.tails = heads_of(graph.order[::-1], graph.succs, self.weights, resources).tolist()
        self.before = [0] * len(graph.ops)
        for i in graph.order:
            for j in graph.preds[i]:
                self.before[i] |= self.before[j] | 1 << j
        lanes: dict[ChannelCost, list[int]] = {}
        for i in graph.collectives:
            lanes.setdefault(lane_of(graph, i), []).append(i)
        self.lanes = []
        for lane, own in lanes.items():
            cost, mask = problem.network(lane), sum(1 << i for i in own)
            least = cost.least(sum(graph.ops[i].bytes or 0 for i in own))
            minorants = cost.minorants(most_bytes(problem, own))
            self.lanes.append(_Lane(prefixes.channel[own[0]], mask, least, minorants))
        self._load: dict[int, float] = {0: 0.0}
        self._work: dict[tuple[int, int], float] = {}
        self._to_end: dict[tuple[int, int], float] = {}

    def load(self, mask: int) -> float:
        """Return the time of the compute ops of a set [us]."""
        found = self._load.get(mask)
        if found is None:
            found = self._load[mask] = sum(self.graph.durations[i] for i in bits(mask))
        return found

    def work(self, channel: int, mask: int) -> float:
        """Return the least time on a channel of the collectives of a set [us]."""
        key = channel, mask
        found = self._work.get(key)
        if found is None:
            found = 0.0
            for lane in self.lanes:
                members = mask & lane.members if lane.channel == channel else 0
                if members:
                    size = sum(self.graph.ops[i].bytes or 0 for i in bits(members))
                    count = self._longest(members)
                    lines = [a * count + c * size for a, c in lane.minorants]
                    found += max([float(lane.least(np.array([size]))[0]), *lines])
            self._work[key] = found
        return found

    def _longest(self, members: int) -> int:
        """Return the most collectives of a set that are on one path: none is in one bucket."""
        ends: dict[int, int] = {}
        for i in self.graph.order:
            if members >> i & 1:
                ends[i] = 1 + max((ends[j] for j in bits(self.before[i] & members)), default=0)
        return max(ends.values())

    def quick(self, prefix: Prefix) -> float:
        """Return a bound that looks at no head [us]."""
        prefixes, tails = self.prefixes, self.tails
        left = prefixes.all & ~prefix.begun
        time = copies = prefix.time
        for members, phase, _, end in prefix.under_way:
            unpack = prefixes.bucket(members)[2].unpack_us
            copies += unpack
            tail = max(tails[i] for i in bits(members))
            time = max(time, (end if phase == SENT else prefix.time) + unpack + tail)
        time = max(time, copies + self.load(left & prefixes.compute))
        time = max(time, prefix.time + self._by_tail(-1, left & prefixes.compute))
        for channel in range(prefixes.channels):
            sends = left & ~prefixes.compute
            time = max(time, prefixes.free_at(prefix, channel) + self._by_tail(channel, sends))
        return time

    def _by_tail(self, channel: int, mask: int) -> float:
        """Return how long a resource (-1: the stream) takes with a set, and what is left then."""
        key = channel, mask
        found = self._to_end.get(key)
        if found is None:
            own = [i for i in bits(mask) if self.prefixes.channel[i] == channel]
            ordered = sorted(own, key=lambda i: -self.tails[i])
            found, some = 0.0, 0
            for i in ordered:
                some |= 1 << i
                work = self.load(some) if channel < 0 else self.work(channel, some)
                found = max(found, work + self.tails[i])
            self._to_end[key] = found
        return found

    def full(self, prefix: Prefix) -> float:
        """Return a bound with heads, after a beginning [us]."""
        prefixes, tails = self.prefixes, self.tails
        free = [prefixes.free_at(prefix, channel) for channel in range(prefixes.channels)]
        ready: dict[int, float] = {}
        stream: list[_Job] = []
        queued: list[list[_Job]] = [[] for _ in free]
        best = prefix.time
        for members, phase, _, came in prefix.under_way:
            time, _, copies = prefixes.bucket(members)
            tail = max(tails[i] for i in bits(members))
            end = came
            if phase == PACKED:
                channel = prefixes.channel[members.bit_length() - 1]
                end = free[channel] + time
                queued[channel].append(_Job(free[channel], time, copies.unpack_us + tail))
            begin = max(prefix.time, end)
            if copies.unpack_us:
                stream.append(_Job(begin, copies.unpack_us, tail))
            ready.update((i, begin + copies.unpack_us) for i in bits(members))
            best = max(best, begin + copies.unpack_us + tail)
        heads = self._heads(prefix, free, ready)
        for i, head in heads.items():
            best = max(best, head + self.weights[i] + tails[i])
            if prefixes.channel[i] < 0:
                stream.append(_Job(head, self.graph.durations[i], tails[i]))
        best = max(best, _one_at_a_time(stream))
        for channel, jobs in enumerate(queued):
            best = max(best, self._sent(channel, heads, jobs, free[channel]))
        return best

    def _heads(
        self, prefix: Prefix, free: Sequence[float], ready: Mapping[int, float]
    ) -> dict[int, float]:
        """Return when what is not begun may start at the earliest [us].

        ``free`` are the channels, ``ready`` the collectives under way.
        """
        left = self.prefixes.all & ~prefix.begun
        heads: dict[int, float] = {}
        for i in self.graph.order:
            if not left >> i & 1:
                continue
            head = prefix.time
            for j in self.graph.preds[i]:
                if left >> j & 1:
                    head = max(head, heads[j] + self.weights[j])
                elif j in ready:
                    head = max(head, ready[j])
            if before := self.before[i] & left:
                head = max(head, self._done(before, heads))
            channel = self.prefixes.channel[i]
            heads[i] = head if channel < 0 else max(head, free[channel])
        return heads

    def _done(self, before: int, heads: Mapping[int, float]) -> float:
        """Return when a set of ops that one comes after is done at the earliest [us]."""
        compute = before & self.prefixes.compute
        sends = before & ~compute
        found = 0.0
        if compute:
            found = min(heads[i] for i in bits(compute)) + self.load(compute)
        for channel in range(self.prefixes.channels) if sends else ():
            own = [heads[i] for i in bits(sends) if self.prefixes.channel[i] == channel]
            if own:
                found = max(found, min(own) + self.work(channel, sends))
        return found

    def _sent(
        self, channel: int, heads: Mapping[int, float], queued: Sequence[_Job], free: float
    ) -> float:
        """Return when all is over that a channel has left to do, at the earliest [us].

        ``queued`` are its buckets that are packed and not launched.
        """
        tails = self.tails
        own = [i for i in heads if self.prefixes.channel[i] == channel]
        own.sort(key=lambda i: (-heads[i], i))
        best = 0.0
        for least in sorted({*(tails[i] for i in own), *(job.tail for job in queued)}):
            some = 0
            for i in own:
                if tails[i] >= least:
                    some |= 1 << i
                    best = max(best, heads[i] + self.work(channel, some) + least)
            extra = sum(job.time for job in queued if job.tail >= least)
            best = max(best, free + extra + self.work(channel, some) + least)
        return best


def _one_at_a_time(jobs: Sequence[_Job]) -> float:
    """Return the largest rho + work + Q of jobs with heads of rho and tails of Q or more [us]."""
    best = 0.0
    ordered = sorted(jobs, reverse=True)
    for least in sorted({job.tail for job in jobs}):
        work = 0.0
        for head, time, tail in ordered:
            if tail >= least:
                work += time
                best = max(best, head + work + least)
    return best
