"""Plans of a graph in lists, changed and executed whole, for the plain search."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from solver.costs import ChannelCost, Cost, Network
from solver.graph import COMPUTE, Graph
from tests.dag_oracles import after_of


class Sent(NamedTuple):
    """A launch: a bucket by its first member, bytes, and time [us]."""

    bucket: int
    bytes: int
    time: float


class Run(NamedTuple):
    """A plan executed, times in us: the whole, inf if it deadlocks, and when what may start.

    ``start`` is of ops, ``release`` of buckets, ``begins`` of launches by channel.
    """

    time: float
    start: list[float]
    release: list[float]
    begins: list[list[float]]


@dataclass(frozen=True)
class Problem:
    """A graph in lists: an entry for each op, and for each collective its channel, lane and cost.

    ``rank`` is an order in which no op stands before one that it comes after.
    """

    durations: list[float]
    succs: list[list[int]]
    waiting: list[int]
    roots: list[int]
    rank: list[int]
    bytes: list[int]
    element: list[int]
    channel: list[int]
    lane: list[ChannelCost | None]
    cost: list[Cost | None]
    channels: int


@dataclass
class Draft:
    """A plan that is being changed: launches by channel, and the bucket of each collective."""

    lists: list[list[Sent]]
    home: list[int]  # -1 for compute
    members: list[tuple[int, ...]]  # by a bucket's first member
    parts: list[int]

    def copy(self) -> "Draft":
        lists = [launches[:] for launches in self.lists]
        return Draft(lists, self.home[:], self.members[:], self.parts[:])


def problem_of(graph: Graph, network: Network) -> Problem:
    """Write a graph as lists."""
    after = after_of(graph)
    succs: list[list[int]] = [[] for _ in graph.ops]
    for i, found in enumerate(after):
        for j in set(found):
            succs[j].append(i)
    waiting = [len(set(found)) for found in after]
    lane = [
        None
        if op.kind == COMPUTE
        else ChannelCost(op.channel, op.kind, op.fuse_key, op.element_bytes)
        for op in graph.ops
    ]
    names = list(dict.fromkeys(found.channel for found in lane if found))
    return Problem(
        [op.duration_us or 0.0 for op in graph.ops],
        succs,
        waiting,
        [i for i, count in enumerate(waiting) if not count],
        _ranks(succs, waiting),
        [op.bytes or 0 for op in graph.ops],
        [op.element_bytes for op in graph.ops],
        [names.index(found.channel) if found else -1 for found in lane],
        lane,
        [network(found) if found else None for found in lane],
        len(names),
    )


def _ranks(succs: list[list[int]], waiting: list[int]) -> list[int]:
    """Number the ops so that each comes behind what it comes after."""
    left, order = waiting[:], [i for i, count in enumerate(waiting) if not count]
    for i in order:
        for j in succs[i]:
            left[j] -= 1
            if not left[j]:
                order.append(j)
    rank = [0] * len(order)
    for place, i in enumerate(order):
        rank[i] = place
    return rank


def first(problem: Problem) -> Draft:
    """Send every collective alone and whole, by the longest path that leads to it."""
    head = [0.0] * len(problem.rank)
    lists: list[list[Sent]] = [[] for _ in range(problem.channels)]
    for i in sorted(range(len(head)), key=problem.rank.__getitem__):
        time = problem.durations[i]
        if (cost := problem.cost[i]) is not None:
            time = cost.time(problem.bytes[i])
            lists[problem.channel[i]].append(Sent(i, problem.bytes[i], time))
        for j in problem.succs[i]:
            head[j] = max(head[j], head[i] + time)
    for launches in lists:
        launches.sort(key=lambda sent: (head[sent.bucket], problem.rank[sent.bucket]))
    sends = [cost is not None for cost in problem.cost]
    home = [i if sent else -1 for i, sent in enumerate(sends)]
    return Draft(lists, home, [(i,) for i in range(len(head))], [int(sent) for sent in sends])


def execute(problem: Problem, draft: Draft) -> Run:
    """Execute a plan: pass on ends, and launch in each channel's order what is released."""
    return _Execution(problem, draft).run()


class _Execution:
    """A plan as it is executed; comparisons stand in the place of max() for speed."""

    def __init__(self, problem: Problem, draft: Draft) -> None:
        self.problem = problem
        self.draft = draft
        self.start = [0.0] * len(draft.home)
        self.end = self.start[:]
        self.release = self.start[:]
        self.missing = list(map(len, draft.members))  # members of a bucket not released
        self.left = draft.parts[:]  # of a bucket, not launched
        self.begins: list[list[float]] = [[] for _ in draft.lists]
        self.free = [0.0] * problem.channels
        self.ended: list[int] = []

    def run(self) -> Run:
        """Pass ends on until none is left."""
        start, end, ended, home = self.start, self.end, self.ended, self.draft.home
        waiting, succs = self.problem.waiting[:], self.problem.succs
        durations = self.problem.durations
        for k in self.problem.roots:
            if home[k] < 0:
                end[k] = durations[k]
                ended.append(k)
            else:
                self.released(k)
        while ended:
            k = ended.pop()
            now = end[k]
            for j in succs[k]:
                start[j] = max(start[j], now)
                waiting[j] -= 1
                if waiting[j]:
                    continue
                if home[j] < 0:
                    end[j] = start[j] + durations[j]
                    ended.append(j)
                else:
                    self.released(j)
        complete = list(map(len, self.begins)) == list(map(len, self.draft.lists))
        return Run(max(end) if complete else math.inf, start, self.release, self.begins)

    def released(self, k: int) -> None:
        """Count a collective as released, and launch what that allows on its channel."""
        bucket = self.draft.home[k]
        release, missing, left = self.release, self.missing, self.left
        release[bucket] = max(release[bucket], self.start[k])
        missing[bucket] -= 1
        if missing[bucket]:
            return
        c = self.problem.channel[k]
        launches, done, now = self.draft.lists[c], self.begins[c], self.free[c]
        for place in range(len(done), len(launches)):
            bucket, _, time = launches[place]
            if missing[bucket]:
                break
            now = max(now, release[bucket])
            done.append(now)
            now += time
            left[bucket] -= 1
            if not left[bucket]:
                self.end_all(bucket, now)
        self.free[c] = now

    def end_all(self, bucket: int, now: float) -> None:
        """End the collectives of a bucket."""
        for i in self.draft.members[bucket]:
            self.end[i] = now
            self.ended.append(i)
