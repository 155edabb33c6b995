"""Large buckets, then launches raised and waits sunk one op at a time, within the memory."""

from collections.abc import Sequence

from solver.graph import ALL_GATHER
from solver.programs.policies.in_order import least_order
from solver.programs.policies.parameter_buckets import parameter_collectives, size_buckets
from solver.programs.policies.pulled_order import pulled_order
from solver.programs.problem import ProgramProblem, copies_of
from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program, with_waits

MIB = 1 << 20

Item = tuple[str, int]


def bucketed_overlap(problem: ProgramProblem, *, bucket_bytes: int = 500 * MIB) -> Program:
    """Return the program of buckets of 500 MB and simple overlap.

    What parameters send is fused in order, lane by lane, up to so many bytes; gathers are launched
    where the first of a bucket stands, scatters where the last does, and each is waited for at
    once. Then each launch is raised, one op of compute after the other, to the last that it needs,
    and each wait sunk to the first that needs it: a launch passes no launch, a wait no wait, and
    nothing passes where the memory would be above what it was at its most, or above the limit
    where there is a higher one.

    Notes
    -----
    Memory is counted by item: what is written is live from its writer on, what a launch reads, and
    the copies of its bucket, until its wait. Upstream the buckets are those of a graph pass and the
    overlap is one of the scheduler behind it, after fusion. O(items + edges).

    References
    ----------
    .. [1] PyTorch, pull requests 184235 and 184236 (``simple_overlap``, and "500MB bucket +
           simple_overlap" beside transformer-block bucketing).
    """
    buckets = size_buckets(problem, lambda _: bucket_bytes)
    row = _OverlapRow(problem, buckets, _placed(problem, buckets))
    for item in [each for each in row.items if each[0] == LAUNCH]:
        row.raise_launch(item)
    for item in [each for each in reversed(row.items) if each[0] == WAIT]:
        row.sink_wait(item)
    return with_waits(problem, buckets, row.items)


def _placed(problem: ProgramProblem, buckets: Sequence[tuple[int, ...]]) -> list[Item]:
    """Return the order of the graph with these buckets, each waited for at once."""
    graph = problem.graph
    order = least_order(problem)
    place = {i: at for at, i in enumerate(order)}
    early = {i for i in parameter_collectives(problem) if graph.ops[i].kind == ALL_GATHER}
    at: dict[int, int] = {}
    for b, members in enumerate(buckets):
        find = min if members[0] in early else max
        at[find(members, key=place.__getitem__)] = b
    sent = set(graph.collectives)
    wanted = [
        (LAUNCH, at[i]) if i in at else (COMPUTE, i) for i in order if i in at or i not in sent
    ]
    items: list[Item] = []
    for item in pulled_order(problem, buckets, wanted):
        items.append(item)
        if item[0] == LAUNCH:
            items.append((WAIT, item[1]))
    return items


class _OverlapRow:
    """Items in order, and the memory during each."""

    def __init__(
        self, problem: ProgramProblem, buckets: Sequence[tuple[int, ...]], items: list[Item]
    ) -> None:
        self.graph, self.buckets, self.items = problem.graph, buckets, items
        self.at = {item: k for k, item in enumerate(items)}
        self.bucket_of = {i: b for b, members in enumerate(buckets) for i in members}
        self.adds = dict.fromkeys(items, 0)
        self.frees = dict.fromkeys(items, 0)
        self.readers: dict[Item, list[int]] = {item: [] for item in items}
        self.last: list[Item | None] = []
        self.sizes = [buffer.bytes for buffer in self.graph.buffers]
        level = self._lay_buffers()
        for b, members in enumerate(buckets):
            copies = copies_of(problem, members)
            self.adds[LAUNCH, b] += copies.packed_bytes + copies.unpacked_bytes
            self.frees[WAIT, b] += copies.packed_bytes + copies.unpacked_bytes
        self.before = []
        most = level
        for item in items:
            self.before.append(level)
            level += self.adds[item]
            most = max(most, level)
            level -= self.frees[item]
        self.most = max(most, problem.limits.memory_bytes or 0)

    def _lay_buffers(self) -> int:
        """Tell each item what it adds and frees; return what is there from the start."""
        index = {op.id: i for i, op in enumerate(self.graph.ops)}
        level = 0
        for place, buffer in enumerate(self.graph.buffers):
            users = {self._ends(index[name]) for name in buffer.read_by}
            if buffer.written_by is not None:
                i = index[buffer.written_by]
                self.adds[self._begins(i)] += buffer.bytes
                users.add(self._ends(i))
            elif users or buffer.kept:
                level += buffer.bytes
            last = None
            if users and not buffer.kept:
                last = max(users, key=self.at.__getitem__)
                self.frees[last] += buffer.bytes
            self.last.append(last)
            for item in sorted(users):
                self.readers[item].append(place)
        return level

    def _begins(self, i: int) -> Item:
        return (LAUNCH, self.bucket_of[i]) if i in self.bucket_of else (COMPUTE, i)

    def _ends(self, i: int) -> Item:
        return (WAIT, self.bucket_of[i]) if i in self.bucket_of else (COMPUTE, i)

    def raise_launch(self, item: Item) -> None:
        """Swap a launch with what stands before it, as long as that may be."""
        needs = {self._ends(j) for i in self.buckets[item[1]] for j in self.graph.preds[i]}
        k = self.at[item]
        while k and self.items[k - 1][0] != LAUNCH and self.items[k - 1] not in needs:
            if not self._swap(k - 1):
                return
            k -= 1

    def sink_wait(self, item: Item) -> None:
        """Swap a wait with what stands behind it, as long as that may be."""
        needed = {self._begins(j) for i in self.buckets[item[1]] for j in self.graph.succs[i]}
        k = self.at[item]
        while k + 1 < len(self.items) and self.items[k + 1][0] != WAIT:
            if self.items[k + 1] in needed or not self._swap(k):
                return
            k += 1

    def _swap(self, k: int) -> bool:
        """Swap an item with the next one, unless that takes more memory than there was."""
        first, second = self.items[k], self.items[k + 1]
        both = set(self.readers[first]).intersection(self.readers[second])
        handed = [b for b in sorted(both) if self.last[b] == second]
        size = sum(self.sizes[b] for b in handed)
        start = self.before[k]
        between = start + self.adds[second] - (self.frees[second] - size)
        if start + self.adds[second] > self.most or between + self.adds[first] > self.most:
            return False
        self.frees[second] -= size
        self.frees[first] += size
        for b in handed:
            self.last[b] = first
        self.items[k], self.items[k + 1] = second, first
        self.at[first], self.at[second] = k + 1, k
        self.before[k + 1] = between
        return True
