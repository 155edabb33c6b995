"""Orders of little memory, step by step: what to begin with where memory is short."""

from collections.abc import Iterator

from solver.programs.bounds.surely_live import takes_time
from solver.programs.execute import execute
from solver.programs.policies.in_order import least_order
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program

#: Ops that are looked at in all when an order within a limit is sought, for each op and at least.
_LOOKS_EACH, _LOOKS = 50, 200_000

#: The least memory is looked for in so many parts of what is known.
_STEPS = 1000


def least_memory(problem: ProgramProblem) -> Program:
    """Return the program that always takes what leaves the least memory held.

    Each collective is alone, and waited for as soon as it is launched. Of the ops that may come
    next the one that adds least is taken, of equals the one that needs least while it runs, of
    these the first in the graph. It is greedy: another order may need less.

    Notes
    -----
    O(ops * (ops that may come next) + edges + uses of buffers).
    """
    walk = _OrderWalk(problem)
    while walk.ready:
        walk.take(min(walk.ready, key=walk.effect))
    return _one_after_another(problem, walk.order)


def least_memory_within(problem: ProgramProblem, most: int) -> Program | None:
    """Look for a program of collectives alone that never holds more than so many bytes.

    Depth first, and back where nothing fits. First in the order of the graph, left only where its
    next op does not fit, by the rule of :func:`least_memory`: graphs are written so that little is
    held between their layers. Then by that rule throughout. No op is tried twice after the same
    ones; one that fits and leaves no more held than before is taken for good, since any order goes
    on as well behind it. None when there is no such program, or none was found among some 200,000
    ops looked at in either way.

    Notes
    -----
    O(looks * uses of buffers).
    """
    for in_order in (True, False):
        order = _order_within(_OrderWalk(problem), most, in_order=in_order)
        if order is not None:
            return _one_after_another(problem, order)
    return None


def least_peak(problem: ProgramProblem, low: int, high: int) -> int:
    """Return the least memory that :func:`least_memory_within` finds, within a thousandth [bytes].

    Parameters
    ----------
    low
        No program takes so little.
    high
        What some program takes.
    """
    while high - low > max(1, high // _STEPS):
        middle = (low + high) // 2
        found = least_memory_within(problem, middle)
        if found is None:
            low = middle
        else:
            high = execute(problem, found).peak_bytes
    return high


def _order_within(walk: "_OrderWalk", most: int, *, in_order: bool) -> list[int] | None:
    """Return an order of all ops that fits, or None where none was found."""
    ops = len(walk.graph.ops)
    looks = max(_LOOKS, _LOOKS_EACH * ops)
    seen = {0}
    choices = [iter(walk.fitting(most, in_order=in_order))]
    while choices and walk.looks <= looks:
        if len(walk.order) == ops:
            return walk.order
        i = next(choices[-1], None)
        if i is None:
            choices.pop()
            if walk.order:
                walk.take_back()
        elif walk.taken | 1 << i not in seen:
            walk.take(i)
            seen.add(walk.taken)
            choices.append(iter(walk.fitting(most, in_order=in_order)))
    return None


def _one_after_another(problem: ProgramProblem, order: list[int]) -> Program:
    """Return the program of ops in an order, each collective waited for at once."""
    places = {i: b for b, i in enumerate(problem.graph.collectives)}
    steps: list[HostStep] = []
    for i in order:
        if i in places:
            steps += [HostStep(LAUNCH, places[i]), HostStep(WAIT, places[i])]
        else:
            steps.append(HostStep(COMPUTE, i))
    return Program(tuple((i,) for i in problem.graph.collectives), tuple(steps))


class _OrderWalk:
    """Ops taken one after another, what may come next, and the bytes held."""

    def __init__(self, problem: ProgramProblem) -> None:
        self.graph = graph = problem.graph
        index = {op.id: i for i, op in enumerate(graph.ops)}
        self.sizes = [buffer.bytes for buffer in graph.buffers]
        self.left: list[int] = []
        self.used: list[list[int]] = [[] for _ in graph.ops]
        self.written = [0] * len(graph.ops)
        self.held = 0
        for b, buffer in enumerate(graph.buffers):
            users = {index[name] for name in buffer.read_by}
            if buffer.written_by is not None:
                users.add(index[buffer.written_by])
                self.written[index[buffer.written_by]] += buffer.bytes
            elif users or buffer.kept:
                self.held += buffer.bytes
            for i in sorted(users):
                self.used[i].append(b)
            self.left.append(len(users) + buffer.kept)
        self.takes_time = takes_time(problem)
        self.place = {i: k for k, i in enumerate(least_order(problem))}
        self.looks = 0
        self.waiting = [len(preds) for preds in graph.preds]
        self.ready = {i for i, count in enumerate(self.waiting) if count == 0}
        self.order: list[int] = []
        self.taken = 0

    def effect(self, i: int) -> tuple[int, int, int]:
        """Return how much more is held behind an op, how much more while it runs, and the op."""
        freed = sum(self.sizes[b] for b in self.used[i] if self.left[b] == 1)
        return self.written[i] - freed, self.written[i], i

    def fitting(self, most: int, *, in_order: bool) -> Iterator[int]:
        """Yield what may come next within a limit, the least effect first; of gains only one.

        With ``in_order`` the first in the graph comes before these.
        """
        self.looks += 1
        first = min(self.ready, key=self.place.__getitem__) if in_order and self.ready else -1
        if first >= 0:
            more, while_running, _ = self.effect(first)
            if self._fits(first, while_running, most):
                yield first
                if more <= 0:
                    return
        self.looks += len(self.ready)
        for more, while_running, i in sorted(map(self.effect, self.ready)):
            if i != first and self._fits(i, while_running, most):
                yield i
                if more <= 0:
                    return

    def _fits(self, i: int, while_running: int, most: int) -> bool:
        """Tell whether an op fits within a limit; what takes no time does."""
        return self.held + while_running <= most or not self.takes_time[i]

    def take(self, i: int) -> None:
        """Run an op."""
        self.held += self.effect(i)[0]
        for b in self.used[i]:
            self.left[b] -= 1
        self.order.append(i)
        self.taken |= 1 << i
        self.ready.remove(i)
        for j in self.graph.succs[i]:
            self.waiting[j] -= 1
            if self.waiting[j] == 0:
                self.ready.add(j)

    def take_back(self) -> None:
        """Undo the last op."""
        i = self.order.pop()
        self.taken ^= 1 << i
        for j in self.graph.succs[i]:
            if self.waiting[j] == 0:
                self.ready.remove(j)
            self.waiting[j] += 1
        self.ready.add(i)
        for b in self.used[i]:
            self.left[b] += 1
        self.held -= self.effect(i)[0]
