"""A program made to keep a limit of memory: what idles at its peak is computed again later."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from solver.graph import Buffer, Graph
from solver.programs.execute import Holding, ProgramRun, execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, PACK, WAIT, Program
from solver.programs.recomputation.graph import AGAIN, RecomputedOp, with_recomputed
from solver.programs.recomputation.moved import with_second_runs

#: So many peaks are looked at, one after another.
_PEAKS = 200

#: At most so many ops run again for one value.
_CHAIN = 16


@dataclass(frozen=True, slots=True)
class Fitted:
    """A program in which some ops run twice.

    Attributes
    ----------
    again
        These ops.
    problem
        That of the graph with their second runs.
    program, run
        Of that problem.
    """

    again: tuple[RecomputedOp, ...]
    problem: ProgramProblem
    program: Program
    run: ProgramRun


def fitted(
    problem: ProgramProblem, program: Program, allowed: Collection[str], most: int
) -> Fitted:
    """Run ops twice until the program takes so much memory at most, or nothing more helps.

    At the peak values idle whose readers so far have ended, and whose next reader comes later. The
    op that wrote one may run again right before that reader. So may, before it, those that wrote
    what it reads, where that is no longer held then; what else it reads is held until then. Of the
    values of the peak those go first that take the least compute for a byte.

    Parameters
    ----------
    problem, program
        Whose order and launches stay as they are.
    allowed
        Ids of the ops that may run twice.
    most
        The limit [bytes].

    Notes
    -----
    Looks at 200 peaks at most, each in O(ops + edges) beside building the graph anew.
    """
    last = least = Fitted((), problem, program, execute(problem, program))
    for _ in range(_PEAKS):
        excess = last.run.peak_bytes - most
        if excess <= 0:
            break
        chosen = _Peak(problem.graph, last, frozenset(allowed)).chosen(excess)
        if not chosen:
            break
        last = _with(problem, last, chosen)
        least = min(least, last, key=lambda each: each.run.peak_bytes)
    return least


class _Value(NamedTuple):
    """What may be computed again.

    Attributes
    ----------
    ops
        Names of the ops to run again and of what then reads each.
    reads
        Of ops that run twice already, and what is to read their second run too.
    bytes
        How much less is held at the peak [bytes].
    time_us
        Of the second runs [us].
    touched
        Ops whose values this rests on.
    """

    ops: dict[str, tuple[str, ...]]
    reads: dict[str, tuple[str, ...]]
    bytes: int
    time_us: float
    touched: frozenset[str]


def _with(problem: ProgramProblem, before: Fitted, chosen: list[_Value]) -> Fitted:
    """Run chosen ops again."""
    again = {each.op: each for each in before.again}
    durations = {op.id: op.duration_us or 0.0 for op in problem.graph.ops}
    fresh = []
    for value in chosen:
        for name, readers in value.ops.items():
            again[name] = RecomputedOp(name, f"{name}{AGAIN}", readers, durations[name])
            fresh.append(again[name])
        for name, readers in value.reads.items():
            first = again[name]
            again[name] = replace(first, read_by=(*first.read_by, *readers))
    whole = tuple(again.values())
    graph = with_recomputed(problem.graph, whole)
    program = with_second_runs(before.program, before.problem.graph, graph, fresh)
    other = replace(problem, graph=graph)
    return Fitted(whole, other, program, execute(other, program))


class _Peak:
    """What is held when a program takes the most memory, and when all of it is read."""

    def __init__(self, plain: Graph, found: Fitted, allowed: frozenset[str]) -> None:
        self.copied = {each.op for each in found.again}
        self.allowed, self.at = allowed - self.copied, found.run.peak_us
        graph = found.problem.graph
        self.ops = {op.id: op for op in graph.ops}
        self.begins: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        for (do, what), span in zip(found.program.steps, found.run.spans, strict=True):
            members = (what,) if do == COMPUTE else found.program.buckets[what]
            for i in members:
                name = graph.ops[i].id
                if do in {COMPUTE, PACK, LAUNCH}:
                    self.begins.setdefault(name, span.start)
                if do in {COMPUTE, WAIT}:
                    self.ends[name] = span.end
        holdings = found.run.holdings[: len(graph.buffers)]
        self.held: dict[str, Holding] = {each.name: each for each in holdings}
        # of each op what it writes, and what it reads in the graph as it was given
        self.written: dict[str, list[Buffer]] = {}
        self.read: dict[str, list[Buffer]] = {}
        for buffer in graph.buffers:
            if buffer.written_by is not None:
                self.written.setdefault(buffer.written_by, []).append(buffer)
        for buffer in plain.buffers:
            for reader in buffer.read_by:
                self.read.setdefault(reader, []).append(buffer)

    def chosen(self, excess: int) -> list[_Value]:
        """Choose values that hold so much at the peak, those of least compute for a byte first."""
        values = [value for name in sorted(self.allowed) for value in self._values(name)]
        values.sort(key=lambda each: (each.time_us / each.bytes, -each.bytes))
        found: list[_Value] = []
        touched: set[str] = set()
        for value in values:
            if excess <= 0:
                break
            if touched.isdisjoint(value.touched):
                touched |= value.touched
                found.append(value)
                excess -= value.bytes
        return found

    def _values(self, name: str) -> Iterator[_Value]:
        """Yield what comes of running an op again, if it frees memory at the peak."""
        if self.ends[name] > self.at:
            return
        late: dict[str, None] = {}
        freed = 0
        for buffer in self.written.get(name, ()):
            readers = [reader for reader in buffer.read_by if reader != name]
            later = [reader for reader in readers if self.begins[reader] > self.at]
            late.update(dict.fromkeys(later))
            is_idle = all(self.ends[reader] <= self.at for reader in readers if reader not in later)
            if later and is_idle and self._is_held(buffer.id, self.at):
                freed += buffer.bytes
        if not freed:
            return
        value = self._chain(name, tuple(late))
        if value is not None and value.bytes + freed > 0:
            yield value._replace(bytes=value.bytes + freed)

    def _chain(self, name: str, readers: tuple[str, ...]) -> _Value | None:
        """Run an op again, and what it needs; less what that holds beside, in bytes below 0."""
        when = min(self.begins[reader] for reader in readers)
        ops: dict[str, tuple[str, ...]] = {}
        reads: dict[str, tuple[str, ...]] = {}
        cost, touched = 0, {name, *readers}
        waiting = [(name, readers)]
        while waiting:
            own, late = waiting.pop()
            if own in ops:
                ops[own] = tuple(dict.fromkeys((*ops[own], *late)))
                continue
            if len(ops) == _CHAIN:
                return None
            ops[own] = late
            for buffer in self.read.get(own, ()):
                writer, again = buffer.written_by, f"{own}{AGAIN}"
                if writer is not None:
                    touched.add(writer)
                if self._is_there(buffer, own, when):
                    continue
                if writer in self.copied:
                    if not self._is_held(f"{buffer.id}{AGAIN}", when):
                        return None
                    reads[writer] = tuple(dict.fromkeys((*reads.get(writer, ()), again)))
                elif writer in self.allowed:
                    waiting.append((writer, (again,)))
                else:
                    cost += buffer.bytes
        time = sum(self.ops[own].duration_us or 0.0 for own in ops)
        return _Value(ops, reads, -cost, time, frozenset(touched | ops.keys()))

    def _is_there(self, buffer: Buffer, own: str, when: float) -> bool:
        """Tell whether an op may read a buffer again by then for nothing more held at the peak."""
        if buffer.written_by == own or self._is_held(buffer.id, when):
            return True
        if buffer.written_by in self.copied:
            return False
        return self._is_held(buffer.id, self.at) or self.held[buffer.id].start_us > self.at

    def _is_held(self, buffer: str, when: float) -> bool:
        held = self.held[buffer]
        return held.start_us <= when < held.end_us
