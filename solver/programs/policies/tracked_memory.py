"""Memory of an order of ops, op by op, as schedulers count it while they schedule."""

import sys
from collections.abc import Callable, Mapping, Sequence

from solver.graph import Graph
from solver.programs.problem import ProgramProblem


class TrackedMemory:
    """Bytes live after each op scheduled: outputs from their writer on, to their last reader.

    A launch lets go of its inputs where it is scheduled, whatever its wait: so upstream counts.
    """

    def __init__(self, graph: Graph) -> None:
        index = {op.id: i for i, op in enumerate(graph.ops)}
        self.writes = [0] * len(graph.ops)
        self.reads: list[list[int]] = [[] for _ in graph.ops]
        self.left: list[int] = []
        self.sizes = [buffer.bytes for buffer in graph.buffers]
        self.level = 0
        for place, buffer in enumerate(graph.buffers):
            readers = sorted({index[reader] for reader in buffer.read_by})
            own = None if buffer.written_by is None else index[buffer.written_by]
            if own is None:
                if readers or buffer.kept:
                    self.level += buffer.bytes
            else:
                self.writes[own] += buffer.bytes
                readers = sorted({own, *readers})
            self.left.append(len(readers) + buffer.kept)
            for reader in readers:
                self.reads[reader].append(place)

    def schedule(self, i: int) -> None:
        """Count the op at a position."""
        self.level += self.writes[i]
        for place in self.reads[i]:
            self.left[place] -= 1
            if self.left[place] == 0:
                self.level -= self.sizes[place]


class MemoryBackwards:
    """Bytes live before each op scheduled, from the end on: buffers from their last reader back."""

    def __init__(self, graph: Graph) -> None:
        index = {op.id: i for i, op in enumerate(graph.ops)}
        self.reads: list[list[int]] = [[] for _ in graph.ops]
        self.writes: list[list[int]] = [[] for _ in graph.ops]
        self.sizes = [buffer.bytes for buffer in graph.buffers]
        self.is_live = [buffer.kept for buffer in graph.buffers]
        self.level = sum(buffer.bytes for buffer in graph.buffers if buffer.kept)
        for place, buffer in enumerate(graph.buffers):
            if buffer.written_by is not None:
                self.writes[index[buffer.written_by]].append(place)
            for reader in dict.fromkeys(buffer.read_by):
                if reader != buffer.written_by:
                    self.reads[index[reader]].append(place)

    def inputs(self, i: int) -> int:
        """Bytes that the op at a position reads and nothing scheduled does."""
        return sum(self.sizes[place] for place in self.reads[i] if not self.is_live[place])

    def hold(self, i: int) -> None:
        """Count what the op at a position reads."""
        self.level += self.inputs(i)
        for place in self.reads[i]:
            self.is_live[place] = True

    def growth(self, i: int) -> int:
        """Bytes that the op at a position adds."""
        written = sum(self.sizes[place] for place in self.writes[i] if self.is_live[place])
        return self.inputs(i) - written

    def schedule(self, i: int) -> None:
        """Count the op at a position."""
        self.level += self.growth(i)
        for place in self.reads[i]:
            self.is_live[place] = True
        for place in self.writes[i]:
            self.is_live[place] = False


def budget_of(
    problem: ProgramProblem,
    order: Sequence[int],
    rank: Mapping[int, int],
    members: Callable[[int], tuple[int, ...]],
    more: tuple[int, float],
) -> tuple[int, list[int]]:
    """Return the memory allowed and the most before each op of ``rank``, in this order [bytes].

    Allowed is the peak of the order and the larger of ``more``, bytes and a share of that peak;
    never more than the limit, where there is one. Of a graph without buffers no memory is known,
    and any is allowed.
    """
    if not problem.graph.buffers:
        return sys.maxsize, [0] * len(rank)
    memory = TrackedMemory(problem.graph)
    peak = most = memory.level
    before = [0] * len(rank)
    for i in order:
        for k in members(i):
            memory.schedule(k)
            most, peak = max(most, memory.level), max(peak, memory.level)
        if i in rank:
            before[rank[i]], most = most, memory.level
    allowed = peak + max(more[0], int(more[1] * peak))
    limit = problem.limits.memory_bytes
    return allowed if limit is None else min(allowed, limit), before
