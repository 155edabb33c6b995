"""What is surely held while an op runs, and the least memory that any program takes."""

import numpy as np
import numpy.typing as npt

from solver.graph import COMPUTE, Graph
from solver.programs.problem import ProgramProblem, launch_time

BoolArray = npt.NDArray[np.bool_]


def followers(graph: Graph) -> BoolArray:
    """Return of each op a row: itself and which ops come after it; O(ops * edges) in numpy."""
    reach = np.eye(len(graph.ops), dtype=bool)
    for i in reversed(graph.order):
        for j in graph.succs[i]:
            reach[i] |= reach[j]
    return reach


def surely_live(problem: ProgramProblem, after: BoolArray) -> BoolArray:
    """Return of each op a row: which buffers are held all the time that it runs.

    A buffer is, if the op writes or reads it, or comes after its writer and before a reader, and
    where it is kept also if it comes after its writer.

    Parameters
    ----------
    after
        Of :func:`followers`.
    """
    graph = problem.graph
    at = {op.id: i for i, op in enumerate(graph.ops)}
    live = np.zeros((len(graph.ops), len(graph.buffers)), dtype=bool)
    for b, buffer in enumerate(graph.buffers):
        writer = None if buffer.written_by is None else at[buffer.written_by]
        begun = np.ones(len(graph.ops), dtype=bool) if writer is None else after[writer]
        needed = np.full(len(graph.ops), buffer.kept)
        for name in buffer.read_by:
            needed |= after[:, at[name]]
        if writer is not None:
            needed[writer] = True
        live[:, b] = begun & needed
    return live


def takes_time(problem: ProgramProblem) -> list[bool]:
    """Tell of each op whether it takes time alone: what takes none holds nothing while it runs."""
    graph = problem.graph
    return [
        graph.durations[i] > 0 if op.kind == COMPUTE else launch_time(problem, (i,)) > 0
        for i, op in enumerate(graph.ops)
    ]


def memory_bound(problem: ProgramProblem) -> int:
    """Return what every program takes at least [bytes].

    That is the most that is surely held while one op runs, or at the beginning: the inputs that are
    kept, or that something reads which takes time. Buckets and launches under way only add to it.

    Notes
    -----
    O(ops * (edges + buffers)) in numpy.
    """
    graph = problem.graph
    timed = np.array(takes_time(problem), dtype=bool)
    if not timed.any():
        return 0
    sizes = np.array([buffer.bytes for buffer in graph.buffers], dtype=np.int64)
    held = surely_live(problem, followers(graph))[timed] @ sizes
    readers = {op.id for op, is_timed in zip(graph.ops, timed, strict=True) if is_timed}
    first = sum(
        buffer.bytes
        for buffer in graph.buffers
        if buffer.written_by is None and (buffer.kept or not readers.isdisjoint(buffer.read_by))
    )
    return max(first, int(held.max()))
