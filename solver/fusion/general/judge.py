"""The judge of any graph: plans are launches in a fixed order on each channel.

The order is fixed, so no event queue is needed: ends are passed on as soon as they are known, and a
launch is known once its bucket's members are released and the launch before it has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from solver.buckets import Launch, Launches
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.judge import PlanJudge
from solver.graph import Graph
from solver.graph.compact import compact

#: The launches of each channel, in order.
ChannelLaunches = tuple[Launches, ...]


def flat(lists: ChannelLaunches) -> tuple[Launch, ...]:
    """Put the channels' launches one channel after the other."""
    return tuple(launch for launches in lists for launch in launches)


class Position(NamedTuple):
    """A launch by its channel and its place there."""

    channel: int
    place: int


@dataclass(frozen=True, slots=True)
class Execution:
    """One plan executed.

    Attributes
    ----------
    value
        Iteration time [us]; inf when launches wait for one another.
    starts, ends
        Of every op of the skeleton [us]; a collective starts when it is released.
    times
        Start and end of every launch [us], by channel and place.
    last
        Last launch of each bucket.
    home
        Bucket of each tensor.
    """

    value: float
    starts: Sequence[float]
    ends: Sequence[float]
    times: Sequence[Sequence[tuple[float, float]]]
    last: dict[tuple[int, ...], Position]
    home: dict[int, tuple[int, ...]]


class GraphJudge(PlanJudge[ChannelLaunches]):
    """Judges plans of one graph, executed in its compact form."""

    def __init__(self, graph: Graph, chain: Chain, costs: Sequence[Cost]) -> None:
        self.chain = chain
        self.bytes = chain.bytes.tolist()
        self.channel = chain.channel
        self.lane_costs = costs
        self.cost = [costs[lane] for lane in chain.lane]
        skeleton = compact(graph)
        self.durations, self.preds, self.succs = skeleton.durations, skeleton.preds, skeleton.succs
        place = {skeleton.ops[i].id: i for i in skeleton.collectives}
        self.node = [place[graph.ops[position].id] for position in chain.positions.tolist()]
        self.tensor: list[int | None] = [None] * len(self.durations)
        for tensor, node in enumerate(self.node):
            self.tensor[node] = tensor
        self.waiting = [len(preds) for preds in self.preds]
        self.order = skeleton.order
        self._totals: dict[tuple[int, ...], int] = {}

    def total(self, bucket: tuple[int, ...]) -> int:
        """Return the bytes of a bucket."""
        total = self._totals.get(bucket)
        if total is None:
            total = self._totals[bucket] = sum(self.bytes[i] for i in bucket)
        return total

    def value(self, lists: ChannelLaunches, /) -> float:
        """Return the iteration time of a plan [us]; inf when its launches wait for one another."""
        return self.execute(lists).value

    def split(self, launches: Sequence[Launch]) -> ChannelLaunches:
        """Sort launches by channel, each in the order given."""
        lists: list[list[Launch]] = [[] for _ in range(max(self.channel) + 1)]
        for launch in launches:
            lists[self.channel[launch.bucket[0]]].append(launch)
        return tuple(map(tuple, lists))

    def execute(self, lists: ChannelLaunches) -> Execution:
        """Execute a plan. O(ops + edges + launches) of the skeleton."""
        return _Executor(self, lists).run()


class _Executor:
    """A plan as it is executed."""

    def __init__(self, judge: GraphJudge, lists: ChannelLaunches) -> None:
        self.judge = judge
        self.lists = lists
        self.waiting = judge.waiting[:]
        self.starts = [0.0] * len(self.waiting)
        self.ends = [0.0] * len(self.waiting)
        self.home: dict[int, tuple[int, ...]] = {}
        self.missing: dict[tuple[int, ...], int] = {}  # members not released
        self.left: dict[tuple[int, ...], int] = {}  # parts not launched
        for launches in lists:
            for bucket, _ in launches:
                if bucket in self.left:
                    self.left[bucket] += 1
                    continue
                self.left[bucket], self.missing[bucket] = 1, len(bucket)
                for i in bucket:
                    self.home[i] = bucket
        self.release = dict.fromkeys(self.left, 0.0)
        self.times: list[list[tuple[float, float]]] = [[] for _ in lists]
        self.last: dict[tuple[int, ...], Position] = {}
        self.ready = [k for k, count in enumerate(self.waiting) if not count]
        self.free: set[int] = set()  # channels that might launch

    def run(self) -> Execution:
        """Pass ends on and launch in turn until neither is possible."""
        self.pass_on()
        while self.free:
            self.launch(self.free.pop())
            self.pass_on()
        value = max(self.ends) if len(self.last) == len(self.left) else inf
        return Execution(value, self.starts, self.ends, self.times, self.last, self.home)

    def pass_on(self) -> None:
        """End compute ops whose start is known; count collectives as released."""
        judge, ready, starts, ends = self.judge, self.ready, self.starts, self.ends
        waiting, durations, succs, tensor = (
            self.waiting,
            judge.durations,
            judge.succs,
            judge.tensor,
        )
        while ready:
            k = ready.pop()
            i = tensor[k]
            if i is not None:
                bucket = self.home[i]
                self.release[bucket] = max(self.release[bucket], starts[k])
                self.missing[bucket] -= 1
                if not self.missing[bucket]:
                    self.free.add(judge.channel[i])
                continue
            end = ends[k] = starts[k] + durations[k]
            for j in succs[k]:
                if end > starts[j]:  # noqa: PLR1730 - max() takes twice as long
                    starts[j] = end
                waiting[j] -= 1
                if not waiting[j]:
                    ready.append(j)

    def launch(self, channel: int) -> None:
        """Launch on a channel, in its order, what is released."""
        launches, done, missing = self.lists[channel], self.times[channel], self.missing
        now = done[-1][1] if done else 0.0
        place = len(done)
        while place < len(launches) and not missing[launches[place].bucket]:
            bucket, size = launches[place]
            begin = max(now, self.release[bucket])
            now = begin + self.judge.cost[bucket[0]].time(size)
            done.append((begin, now))
            self.left[bucket] -= 1
            if not self.left[bucket]:
                self.last[bucket] = Position(channel, place)
                self.end(bucket, now)
            place += 1

    def end(self, bucket: tuple[int, ...], now: float) -> None:
        """End the collectives of a bucket."""
        starts, waiting = self.starts, self.waiting
        for i in bucket:
            k = self.judge.node[i]
            self.ends[k] = now
            for j in self.judge.succs[k]:
                starts[j] = max(starts[j], now)
                waiting[j] -= 1
                if not waiting[j]:
                    self.ready.append(j)
