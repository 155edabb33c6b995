"""The order of least memory, step by step: what to begin with where memory is short."""

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.problem import Problem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program, Step


def frugal(problem: Problem) -> Program:
    """Return the program that always takes what leaves the least memory held.

    Each collective is alone, and waited for as soon as it is launched. Of the ops that may come
    next the one that adds least is taken, of equals the one that needs least while it runs, of
    these the first in the graph. It is greedy: another order may need less.

    Notes
    -----
    O(ops * (ops that may come next) + edges + uses of buffers).
    """
    graph = problem.graph
    memory = _Memory(problem)
    places = {i: b for b, i in enumerate(graph.collectives)}
    waiting = [len(preds) for preds in graph.preds]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    steps = []
    while ready:
        i = min(ready, key=memory.effect)
        ready.remove(i)
        memory.take(i)
        if graph.ops[i].kind == COMPUTE_KIND:
            steps.append(Step(COMPUTE, i))
        else:
            steps += [Step(LAUNCH, places[i]), Step(WAIT, places[i])]
        for j in graph.succs[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
    return Program(tuple((i,) for i in graph.collectives), tuple(steps))


class _Memory:
    """What is held, while ops are taken one after another."""

    def __init__(self, problem: Problem) -> None:
        graph = problem.graph
        index = {op.id: i for i, op in enumerate(graph.ops)}
        self.sizes = [buffer.bytes for buffer in graph.buffers]
        self.left: list[int] = []
        self.used: list[list[int]] = [[] for _ in graph.ops]
        self.written = [0] * len(graph.ops)
        for b, buffer in enumerate(graph.buffers):
            users = {index[name] for name in buffer.read_by}
            if buffer.written_by is not None:
                users.add(index[buffer.written_by])
                self.written[index[buffer.written_by]] += buffer.bytes
            for i in sorted(users):
                self.used[i].append(b)
            self.left.append(len(users) + buffer.kept)

    def effect(self, i: int) -> tuple[int, int, int]:
        """Return how much more is held behind an op, how much more while it runs, and the op."""
        freed = sum(self.sizes[b] for b in self.used[i] if self.left[b] == 1)
        return self.written[i] - freed, self.written[i], i

    def take(self, i: int) -> None:
        """Run an op."""
        for b in self.used[i]:
            self.left[b] -= 1
