"""Buckets that keep what an overlap schedule hides, after PyTorch inductor's bucketer."""

from collections.abc import Sequence

from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, Graph
from solver.programs.policies.overlap_nodes import mean_time
from solver.programs.policies.overlap_schedule import Scheduled
from solver.programs.problem import ProgramProblem, is_fusable, lane_of
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, HostStep, Program

#: Kinds that the bucketer fuses.
FUSED = (ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE)

_FAILURES = 20  # candidates in a row that do not fit, after which a bucket is closed

Key = tuple[int, int, int]


class PreservingBuckets:
    """The state of the rule: where each op stands, and which units are one bucket.

    A unit is a bucket of the schedule. A key orders the steps: place, before (-1) or after (1) what
    stands there, place in the schedule.
    """

    def __init__(
        self, problem: ProgramProblem, units: Sequence[tuple[int, ...]], scheduled: Scheduled
    ) -> None:
        self.problem, self.units, self.steps = problem, units, scheduled.steps
        self.graph: Graph = problem.graph
        self.at: dict[int, Key] = {}
        self.starts: list[Key] = [(0, 0, 0)] * len(units)
        self.waits: list[Key] = list(self.starts)
        for place, (do, what) in enumerate(scheduled.steps):
            key = (place, 0, place)
            if do == COMPUTE:
                self.at[what] = key
            elif do == LAUNCH:
                self.starts[what] = key
            else:
                self.waits[what] = key
        self.unit_of = {i: u for u, members in enumerate(units) for i in members}
        self.is_hidden = [left <= 0 for left in scheduled.exposed]
        self.hiding = [scheduled.hiding[u] if self.is_hidden[u] else () for u in range(len(units))]
        self.hides: dict[int, list[int]] = {}
        for u, places in enumerate(self.hiding):
            for place in places:
                self.hides.setdefault(place, []).append(u)
        self.last_hiding = [self._last_hiding(u) for u in range(len(units))]
        self.channels = [self.graph.ops[members[0]].channel for members in units]
        self.same: dict[str, list[int]] = {}
        for u, channel in enumerate(self.channels):
            self.same.setdefault(channel, []).append(u)
        self.mean = mean_time(problem)

    def fuse(self, most_bytes: int, distance: int) -> list[list[int]]:
        """Fuse greedily, within lanes, in the order of the schedule; return the units by bucket."""
        groups: dict[object, list[int]] = {}
        for u in sorted(range(len(self.units)), key=self.starts.__getitem__):
            first = self.units[u][0]
            kind = self.graph.ops[first].kind
            key = lane_of(self.graph, first) if kind in FUSED else ("alone", u)
            groups.setdefault(key, []).append(u)
        taken: set[int] = set()
        buckets = []
        for group in groups.values():
            for place, u in enumerate(group):
                if u in taken:
                    continue
                taken.add(u)
                bucket, failures = [u], 0
                for other in group[place + 1 : place + 1 + distance]:
                    if other in taken:
                        continue
                    if self._bytes([*bucket, other]) > most_bytes or failures >= _FAILURES:
                        break
                    failures += 1
                    if self._add(bucket, other):
                        taken.add(other)
                        bucket.append(other)
                        failures = 0
                buckets.append(bucket)
        return buckets

    def program(self, buckets: Sequence[Sequence[int]]) -> Program:
        """Return the program of these buckets, in the order of the keys."""
        keyed: list[tuple[Key, HostStep]] = [
            (key, HostStep(COMPUTE, i)) for i, key in self.at.items()
        ]
        members = []
        for b, bucket in enumerate(buckets):
            members.append(tuple(sorted(i for u in bucket for i in self.units[u])))
            keyed.append((self.starts[bucket[0]], HostStep(LAUNCH, b)))
            keyed.append((self.waits[bucket[0]], HostStep(WAIT, b)))
        steps = []
        for _, step in sorted(keyed):
            is_fused = step.do != COMPUTE and len(members[step.id]) > 1
            if is_fused and step.do == LAUNCH:
                steps.append(HostStep(PACK, step.id))
            steps.append(step)
            if is_fused and step.do == WAIT:
                steps.append(HostStep(UNPACK, step.id))
        return Program(tuple(members), tuple(steps))

    def _bytes(self, bucket: Sequence[int]) -> int:
        return sum(self.graph.ops[i].bytes or 0 for u in bucket for i in self.units[u])

    def _add(self, bucket: list[int], other: int) -> bool:
        every = [*bucket, other]
        if not is_fusable(self.problem, (i for u in every for i in self.units[u])):
            return False
        if self.hides.keys() & {key[2] for u in every for key in (self.starts[u], self.waits[u])}:
            return False
        starts = sorted({self.starts[u] for u in (bucket[0], other)})
        waits = sorted({self.waits[u] for u in (bucket[0], other)}, reverse=True)
        return any(
            self._place(every, start, wait) for start in starts for wait in waits if start < wait
        )

    def _place(self, every: list[int], start: Key, wait: Key) -> bool:
        """Launch and wait for these units there, with what has to move, if that is possible."""
        if not self._keeps(every, start, wait):
            return False
        raised = self._moved(every, start, self.graph.preds, -1)
        sunk = self._moved(every, wait, self.graph.succs, 1)
        if raised is None or sunk is None or raised & sunk:
            return False
        for i in raised:
            self.at[i] = (start[0], -1, self.at[i][2])
        for i in sunk:
            self.at[i] = (wait[0], 1, self.at[i][2])
        for u in every:
            self.starts[u], self.waits[u] = start, wait
        for i in raised | sunk:
            for u in self.hides.get(self.at[i][2], ()):
                self.last_hiding[u] = self._last_hiding(u)
        return True

    def _key(self, place: int) -> Key:
        do, what = self.steps[place]
        return self.at[what] if do == COMPUTE else self.waits[what]

    def _keeps(self, every: list[int], start: Key, wait: Key) -> bool:
        """Tell whether what was hidden still is, and no launch of the channel ends it earlier."""
        mine = [self._key(place) for u in every for place in self.hiding[u]]
        if mine and not (start < min(mine) and max(mine) < wait):
            return False
        end = max(mine) if mine else start
        starts, waits, last_hiding = self.starts, self.waits, self.last_hiding
        for u in self.same[self.channels[every[0]]]:
            begin = starts[u]
            if start < begin:
                if waits[u] < end and u not in every:
                    return False
            elif begin < start and wait < last_hiding[u] and u not in every:
                return False
        return True

    def _last_hiding(self, u: int) -> Key:
        return max((self._key(place) for place in self.hiding[u]), default=(-1, 0, 0))

    def _moved(
        self, every: list[int], to: Key, links: Sequence[Sequence[int]], way: int
    ) -> set[int] | None:
        """Return the light ops that must stand before (-1) or after (1) a key; None: it cannot."""
        moved: set[int] = set()
        stack = [j for u in every for i in self.units[u] for j in links[i]]
        while stack:
            i = stack.pop()
            if i in moved:
                continue
            if i in self.unit_of:
                u = self.unit_of[i]
                key = self.waits[u] if way < 0 else self.starts[u]
                if u in every or (key > to) == (way < 0):
                    return None
                continue
            if (self.at[i] > to) != (way < 0):
                continue
            if self.graph.durations[i] >= self.mean > 0:
                return None
            for u in self.hides.get(self.at[i][2], ()):
                if (to < self.starts[u]) if way < 0 else (self.waits[u] < to):
                    return None
            moved.add(i)
            stack.extend(links[i])
        return moved
