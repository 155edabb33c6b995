"""A stretch of an iteration as a problem of its own: what the search of long iterations looks at.

What starts within the stretch may change; what starts before it ends as it did, and what starts
later takes as long as it does, in the order that it has. Every path through the stretch is a path
of the small problem, with what leads to it and what follows. So a change there is executed in the
time of the few launches that it has, and tells how long the whole plan then takes, but for paths
that pass the stretch by.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from solver.buckets import Launch
from solver.costs import Cost
from solver.fusion.general.annealing.plan import AnnealedPlan
from solver.fusion.general.annealing.problem import AnnealingProblem, Shape
from solver.fusion.general.flat import launches_of, plan_of
from solver.fusion.general.judge import ChannelLaunches, GraphJudge

_Bucket = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a plan.

    Attributes
    ----------
    problem
        What may change, and what is around it.
    launches
        The launches of the stretch, of each channel, by the problem's tensors.
    places
        Of each channel the first place that is part of it, and the first one behind it.
    tensors
        What each tensor of the problem stands for, by chain index: itself, or a bucket of which
        other parts are not in the stretch.
    lanes
        Lane of the chain of each lane of the problem.
    """

    problem: AnnealingProblem
    launches: ChannelLaunches
    places: tuple[tuple[int, int], ...]
    tensors: tuple[_Bucket, ...]
    lanes: tuple[int, ...]

    def put_back(self, plan: AnnealedPlan, lists: ChannelLaunches) -> ChannelLaunches:
        """Return a whole plan with the launches of the stretch in the place of its own."""
        changed = []
        for launches, own, (low, high) in zip(lists, launches_of(plan), self.places, strict=True):
            there = [Launch(self._bucket(bucket), size) for bucket, size in own]
            changed.append((*launches[:low], *there, *launches[high:]))
        return tuple(changed)

    def _bucket(self, bucket: _Bucket) -> _Bucket:
        return tuple(sorted(i for tensor in bucket for i in self.tensors[tensor]))


class Whole:
    """A plan as it runs, from which stretches are cut out.

    Attributes
    ----------
    lists, plan
        The launches, and the same in flat arrays, executed.
    value
        Iteration time [us]; inf when launches wait for one another, and the rest is not known then.
    begins, ends
        Of the launches of each channel, in order [us].
    starts, finals
        When each op starts, a collective is released, and ends [us].
    path
        Longest path from the start of each op to the end of the iteration [us].
    """

    def __init__(
        self,
        lists: ChannelLaunches,
        judge: GraphJudge,
        problem: AnnealingProblem,
        least: Sequence[float],
    ) -> None:
        """Execute a plan; ``least`` is the least time from the release to the end of a tensor."""
        self.lists, self.judge, self.least = lists, judge, least
        self.plan = plan = plan_of(problem, [len(launches) for launches in lists], lists)
        self.value = plan.execute(inf)
        plan.look_back()
        rows = [
            plan.row[base : base + length]
            for base, length in zip(plan.base, plan.length, strict=True)
        ]
        self.begins = [[plan.begin[launch] for launch in row] for row in rows]
        self.ends = [[plan.finish[launch] for launch in row] for row in rows]
        self.starts, self.finals = list(plan.start), list(plan.end)
        self.path, self._lead = list(plan.path), list(plan.lead)
        self._rows = rows

    def rest(self, channel: int, place: int) -> float:
        """Longest path that begins with a launch [us]; 0 behind the last one."""
        row = self._rows[channel]
        return self._lead[row[place]] if place < len(row) else 0.0

    def last(self, tensor: int) -> int:
        """Place of the last launch of a tensor's bucket."""
        return self.plan.place[self.plan.last[self.plan.home[tensor]]]


def window(whole: Whole, stretch: tuple[float, float]) -> Window:
    """Cut the ops and launches out of a plan that start in a stretch of time.

    ``stretch`` is the first time and the last one, which is not included [us].

    Notes
    -----
    O(ops + log launches), but for the few of the stretch.
    """
    return _Cut(whole, stretch).window()


class _Cut:
    """A stretch as it is cut out."""

    def __init__(self, whole: Whole, stretch: tuple[float, float]) -> None:
        low, high = stretch
        self.whole, self.judge = whole, whole.judge
        self.places = tuple(
            (bisect_left(begins, low), bisect_left(begins, high)) for begins in whole.begins
        )
        self.sent: dict[_Bucket, int] = {}
        for launches, (first, last) in zip(whole.lists, self.places, strict=True):
            for bucket, size in launches[first:last]:
                self.sent[bucket] = self.sent.get(bucket, 0) + size
        self.tensors = tuple(sorted(self._tensors()))
        computes = [
            k
            for k, start in enumerate(whole.starts)
            if low <= start < high and self.judge.tensor[k] is None
        ]
        self.ops: list[tuple[int, ...]] = [(k,) for k in computes]
        self.ops += [tuple(self.judge.node[i] for i in some) for some in self.tensors]
        self.released = {k: at for at, ops in enumerate(self.ops) for k in ops}
        self.ended = {k: at for k, at in self.released.items() if self._ends_inside(k)}
        self.computes = len(computes)

    def _tensors(self) -> Iterator[_Bucket]:
        for bucket, size in self.sent.items():
            if size == self.judge.total(bucket):
                yield from ((i,) for i in bucket)
            else:
                yield bucket

    def _ends_inside(self, op: int) -> bool:
        tensor = self.judge.tensor[op]
        if tensor is None:
            return True
        first, behind = self.places[self.judge.channel[tensor]]
        return first <= self.whole.last(tensor) < behind

    def window(self) -> Window:
        lanes: list[int] = []
        lane = self._lanes(lanes)
        number = {i: at for at, some in enumerate(self.tensors) for i in some}
        shape = self._shape(lane, [self.judge.lane_costs[k] for k in lanes])
        launches = tuple(
            tuple(self._renamed(launch, number) for launch in launches[first:last])
            for launches, (first, last) in zip(self.whole.lists, self.places, strict=True)
        )
        return Window(AnnealingProblem(shape), launches, self.places, self.tensors, tuple(lanes))

    def _lanes(self, lanes: list[int]) -> list[int]:
        """Give each tensor a lane; one that stands for parts of a bucket has its own."""
        number: dict[int, int] = {}
        found = []
        for some in self.tensors:
            lane = self.judge.chain.lane[some[0]]
            if self._size(some) < self.judge.total(some):
                found.append(len(lanes))
            else:
                found.append(number.setdefault(lane, len(lanes)))
            if found[-1] == len(lanes):
                lanes.append(lane)
        return found

    def _renamed(self, launch: Launch, number: dict[int, int]) -> Launch:
        return Launch(tuple(sorted({number[i] for i in launch.bucket})), launch.bytes)

    def _shape(self, lane: Sequence[int], costs: Sequence[Cost]) -> Shape:
        judge, ends = self.judge, self.whole.finals
        preds: list[list[int]] = []
        head: list[float] = []
        for ops in self.ops:
            before = [j for k in ops for j in judge.preds[k]]
            preds.append([self.ended[j] for j in before if j in self.ended])
            head.append(max((ends[j] for j in before if j not in self.ended), default=0.0))
        succs: list[list[int]] = [[] for _ in preds]
        for at, found in enumerate(preds):
            for j in found:
                succs[j].append(at)
        after = [self._after(ops) for ops in self.ops]
        return Shape(
            [
                judge.durations[ops[0]] if at < self.computes else 0.0
                for at, ops in enumerate(self.ops)
            ],
            preds,
            succs,
            self._behind(succs, after),
            [self.computes + at for at in range(len(self.tensors))],
            [judge.channel[some[0]] for some in self.tensors],
            lane,
            [self._size(some) for some in self.tensors],
            [judge.chain.element_bytes(some[0]) for some in self.tensors],
            costs,
            head,
            after,
            [
                times[first - 1] if first else 0.0
                for times, (first, _) in zip(self.whole.ends, self.places, strict=True)
            ],
            [self.whole.rest(c, behind) for c, (_, behind) in enumerate(self.places)],
        )

    def _size(self, some: _Bucket) -> int:
        return self.sent.get(some, 0) or self.judge.total(some)

    def _after(self, ops: Sequence[int]) -> float:
        """Longest path behind an op that does not begin in the stretch [us]."""
        return max(
            (
                self.whole.path[j]
                for k in ops
                if k in self.ended
                for j in self.judge.succs[k]
                if j not in self.released
            ),
            default=0.0,
        )

    def _behind(self, succs: Sequence[Sequence[int]], after: Sequence[float]) -> list[float]:
        """Least time from the end of each op to that of the iteration [us]."""
        behind = list(after)
        starts = [max(self.whole.starts[k] for k in ops) for ops in self.ops]
        for at in sorted(range(len(starts)), key=starts.__getitem__, reverse=True):
            for j in succs[at]:
                time = self.judge.durations[self.ops[j][0]]
                if j >= self.computes:
                    some = self.tensors[j - self.computes]
                    time = self.whole.least[some[0]] if len(some) == 1 else 0.0
                behind[at] = max(behind[at], time + behind[j])
        return behind
