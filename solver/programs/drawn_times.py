"""What a program takes where ops and launches take other times, for many such times at once."""

from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np

from solver.programs.machine import Machine
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.units import FloatArray


def drawn_times(
    problem: ProgramProblem,
    program: Program,
    durations: FloatArray,
    launched: Callable[[Sequence[int]], FloatArray],
) -> FloatArray:
    """Simulate a program under each of k draws, as :func:`solver.programs.execute.execute` does.

    Parameters
    ----------
    durations
        Of each op, under each draw [us], of shape (ops, k); what is sent has none.
    launched
        Of the collectives of a bucket, by their positions, the time of its launch under each draw
        [us], of shape (k,).

    Returns
    -------
    array of shape (k,)
        The iteration times [us]. Copies take what they take as stated.

    Notes
    -----
    O((steps + edges) k).
    """
    latest: Callable[[list[FloatArray]], FloatArray] = partial(reduce, np.maximum)
    start = np.zeros(durations.shape[1])
    machine = Machine(problem, program, start, list(durations), launched, latest)
    last = start
    for do, what in program.steps:
        last = np.maximum(last, machine.take(do, what)[1])
    return last
