"""Plans of any graph, executed: launches in a given order on each channel.

The order is fixed, so no event queue is needed: ends are passed on as soon as they are known, and a
launch is known once its bucket's members are released and the launch before it has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from solver.chain import Chain
from solver.costs import Cost
from solver.graph import Graph
from solver.graph.compact import compact
from solver.simulation.engine import Send

#: The launches of each channel, in order.
Lists = tuple[tuple[Send, ...], ...]


def flat(lists: Lists) -> tuple[Send, ...]:
    """Put the channels' launches one channel after the other."""
    return tuple(send for sends in lists for send in sends)


class Part(NamedTuple):
    """A launch by its channel and its place there."""

    channel: int
    place: int


@dataclass(frozen=True, slots=True)
class Run:
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
    last: dict[tuple[int, ...], Part]
    home: dict[int, tuple[int, ...]]


class Judge:
    """Executes plans of one graph; in its compact form."""

    def __init__(self, graph: Graph, chain: Chain, costs: Sequence[Cost]) -> None:
        self.chain = chain
        self.bytes = chain.bytes.tolist()
        self.channel = chain.channel
        self.cost = [costs[lane] for lane in chain.lane]
        skeleton = compact(graph)
        self.durations, self.preds, self.succs = skeleton.durations, skeleton.preds, skeleton.succs
        place = {skeleton.ops[i].id: i for i in skeleton.collectives}
        self.node = [place[graph.ops[position].id] for position in chain.positions.tolist()]
        self.tensor: list[int | None] = [None] * len(self.durations)
        for tensor, node in enumerate(self.node):
            self.tensor[node] = tensor
        self.waiting = [len(found) for found in self.preds]
        self._totals: dict[tuple[int, ...], int] = {}

    def total(self, bucket: tuple[int, ...]) -> int:
        """Bytes of a bucket."""
        found = self._totals.get(bucket)
        if found is None:
            found = self._totals[bucket] = sum(self.bytes[i] for i in bucket)
        return found

    def whole(self, bucket: tuple[int, ...]) -> Send:
        """Send a bucket in one part."""
        return Send(bucket, self.total(bucket))

    def is_whole(self, send: Send) -> bool:
        """Tell whether a launch carries all of its bucket."""
        return self.total(send.bucket) == send.bytes

    def split(self, sends: Sequence[Send]) -> Lists:
        """Sort launches by channel, each in the order given."""
        lists: list[list[Send]] = [[] for _ in range(max(self.channel) + 1)]
        for send in sends:
            lists[self.channel[send.bucket[0]]].append(send)
        return tuple(map(tuple, lists))

    def run(self, lists: Lists) -> Run:
        """Execute a plan. O(ops + edges + launches) of the skeleton."""
        return _Execution(self, lists).run()

    def critical(self, lists: Lists, run: Run) -> list[tuple[Part, bool]]:
        """List the launches on the longest path, the last one first.

        With each whether it waited for the launch before it on its channel, which then is next.
        """
        node: int | None = max(range(len(run.ends)), key=lambda k: (run.ends[k], -k))
        path: list[tuple[Part, bool]] = []
        while node is not None:
            i = self.tensor[node]
            if i is None:
                node = self._before(node, run)
                continue
            part = run.last[run.home[i]]
            while True:
                channel, place = part
                begin = run.times[channel][place][0]
                waited = place > 0 and run.times[channel][place - 1][1] == begin
                path.append((part, waited))
                if not waited:
                    break
                part = Part(channel, place - 1)
            bucket = lists[channel][place].bucket
            member = max(bucket, key=lambda i: (run.starts[self.node[i]], -i))
            node = self._before(self.node[member], run)
        return path

    def _before(self, node: int, run: Run) -> int | None:
        """Return the predecessor that decides when a node starts."""
        return max(self.preds[node], key=lambda k: (run.ends[k], -k), default=None)


class _Execution:
    """One plan in execution."""

    def __init__(self, judge: Judge, lists: Lists) -> None:
        self.judge = judge
        self.lists = lists
        self.waiting = judge.waiting[:]
        self.starts = [0.0] * len(self.waiting)
        self.ends = [0.0] * len(self.waiting)
        self.home: dict[int, tuple[int, ...]] = {}
        self.missing: dict[tuple[int, ...], int] = {}  # members not released
        self.left: dict[tuple[int, ...], int] = {}  # parts not launched
        for sends in lists:
            for bucket, _ in sends:
                if bucket in self.left:
                    self.left[bucket] += 1
                    continue
                self.left[bucket], self.missing[bucket] = 1, len(bucket)
                for i in bucket:
                    self.home[i] = bucket
        self.release = dict.fromkeys(self.left, 0.0)
        self.times: list[list[tuple[float, float]]] = [[] for _ in lists]
        self.last: dict[tuple[int, ...], Part] = {}
        self.ready = [k for k, count in enumerate(self.waiting) if not count]
        self.asked: set[int] = set()  # channels that might launch

    def run(self) -> Run:
        """Pass ends on and launch in turn until neither is possible."""
        self.pass_on()
        while self.asked:
            self.launch(self.asked.pop())
            self.pass_on()
        value = max(self.ends) if len(self.last) == len(self.left) else inf
        return Run(value, self.starts, self.ends, self.times, self.last, self.home)

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
                    self.asked.add(judge.channel[i])
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
        sends, done, missing = self.lists[channel], self.times[channel], self.missing
        now = done[-1][1] if done else 0.0
        place = len(done)
        while place < len(sends) and not missing[sends[place].bucket]:
            bucket, size = sends[place]
            begin = max(now, self.release[bucket])
            now = begin + self.judge.cost[bucket[0]].time(size)
            done.append((begin, now))
            self.left[bucket] -= 1
            if not self.left[bucket]:
                self.last[bucket] = Part(channel, place)
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
