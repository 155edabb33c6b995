"""A program made to keep the limit on bytes under way."""

from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, HostStep, Program


def keep_under_way(problem: ProgramProblem, program: Program) -> Program:
    """Wait for the oldest buckets earlier where a launch would exceed the limit; O(steps)."""
    most = problem.limits.under_way_bytes
    if most is None:
        return program
    ops = problem.graph.ops
    sizes = [sum(ops[i].bytes or 0 for i in members) for members in program.buckets]
    under_way: dict[int, None] = {}
    steps: list[HostStep] = []
    finished: dict[int, None] = {}

    def finish(b: int) -> None:
        del under_way[b]
        finished[b] = None
        steps.append(HostStep(WAIT, b))
        if len(program.buckets[b]) > 1:
            steps.append(HostStep(UNPACK, b))

    for step in program.steps:
        do, b = step
        if do in {PACK, LAUNCH}:
            while under_way and sum(sizes[k] for k in under_way) + sizes[b] > most:
                finish(next(iter(under_way)))
            steps.append(step)
            if do == LAUNCH:
                under_way[b] = None
        elif do == COMPUTE:
            steps.append(step)
        elif do == WAIT and b not in finished:
            finish(b)
    return Program(program.buckets, tuple(steps))
