"""A program carried over to a changed graph: what was cut in chunks is asked for chunk by chunk."""

from solver.programs.check import program_faults
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, PACK, UNPACK, HostStep, Program
from solver.simulation.chunking import chunks_in


def carried(program: Program, before: ProgramProblem, after: ProgramProblem) -> Program | None:
    """Return the program that asks for the same in the same order; None where that is none.

    Chunks of an op, and of a bucket, follow each other in its place; chunk k of a bucket is of
    chunk k of its members. O(steps + ops).
    """
    index = {op.id: i for i, op in enumerate(after.graph.ops)}
    became = [chunks_in(index, op.id) for op in before.graph.ops]
    if any(not each for each in became):
        return None
    buckets: list[tuple[int, ...]] = []
    pieces: list[range] = []
    for members in program.buckets:
        chunks = zip(*(became[i] for i in members), strict=False)
        first = len(buckets)
        buckets += [tuple(sorted(chunk)) for chunk in chunks]
        pieces.append(range(first, len(buckets)))
    steps: list[HostStep] = []
    for do, what in program.steps:
        if do == COMPUTE:
            steps += [HostStep(COMPUTE, i) for i in became[what]]
        elif do not in {PACK, UNPACK} or len(program.buckets[what]) > 1:
            steps += [HostStep(do, b) for b in pieces[what]]
    made = Program(tuple(buckets), tuple(steps))
    is_whole = sum(map(len, buckets)) == len(after.graph.collectives)
    return made if is_whole and not any(program_faults(after, made)) else None
