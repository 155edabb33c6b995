"""A program carried between graphs in which other ops run twice."""

from collections.abc import Collection, Sequence

from solver.graph import Graph
from solver.programs.program import COMPUTE, LAUNCH, PACK, HostStep, Program
from solver.programs.recomputation.graph import RecomputedOp


def with_second_runs(
    program: Program, graph: Graph, target: Graph, again: Sequence[RecomputedOp]
) -> Program:
    """Return a program of ``graph`` as one of ``target``, in which more ops run twice.

    Each of ``again`` runs right before the first step that reads it, and those that it reads
    before it. O(steps + edges).
    """
    into = _positions(graph, target)
    number = {op.id: i for i, op in enumerate(target.ops)}
    fresh = {number[each.id] for each in again}
    done: set[int] = set()
    steps: list[HostStep] = []

    def run(i: int) -> None:
        for j in target.preds[i]:
            if j in fresh and j not in done:
                done.add(j)
                run(j)
                steps.append(HostStep(COMPUTE, j))

    buckets = tuple(tuple(into[i] for i in members) for members in program.buckets)
    for do, what in program.steps:
        if do == COMPUTE:
            run(into[what])
            steps.append(HostStep(COMPUTE, into[what]))
            continue
        if do in {PACK, LAUNCH}:
            for i in buckets[what]:
                run(i)
        steps.append(HostStep(do, what))
    return _sorted(buckets, steps)


def without_second_runs(
    program: Program, graph: Graph, target: Graph, gone: Collection[str]
) -> Program:
    """Return a program of ``graph`` as one of ``target``, in which these second runs are not."""
    into = _positions(graph, target)
    buckets = tuple(tuple(into[i] for i in members) for members in program.buckets)
    steps = [
        HostStep(do, into[what] if do == COMPUTE else what)
        for do, what in program.steps
        if do != COMPUTE or graph.ops[what].id not in gone
    ]
    return _sorted(buckets, steps)


def _sorted(buckets: Sequence[tuple[int, ...]], steps: Sequence[HostStep]) -> Program:
    return Program(tuple(tuple(sorted(members)) for members in buckets), tuple(steps))


def _positions(graph: Graph, target: Graph) -> list[int]:
    """Return where each op is in another graph; -1 for one that is not there."""
    number = {op.id: i for i, op in enumerate(target.ops)}
    return [number.get(op.id, -1) for op in graph.ops]
