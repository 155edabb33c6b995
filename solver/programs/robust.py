"""Robust programs: chosen by their mean or p95 over costs, compute and launches that are off.

The best program for stated times may be a poor one for the true ones. Here programs for the stated
costs, for costs that are off, and those of all rules run under the same seeded draws.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from solver.costs import ChannelCost, Cost
from solver.evidence.doubts import DOUBTS, Doubt, doubted_network
from solver.evidence.draws import draws_of
from solver.evidence.robustness import Robustness, RobustOptions, RobustRival, measured
from solver.programs.drawn_times import drawn_times
from solver.programs.execute import execute
from solver.programs.problem import ProgramProblem, lane_of
from solver.programs.program import Program
from solver.simulation.factors import lognormal
from solver.units import FloatArray, slack

#: Standard deviations of each op's and each launch's own factor, whose mean is 1: about those of
#: times that vary evenly by a tenth and by a fifth.
COMPUTE_JITTER: Final = 0.06
LAUNCH_JITTER: Final = 0.12

#: All launches slow, and nothing else.
SLOW: Final = next(doubt for doubt in DOUBTS if doubt.launches > 1)

#: For each of these a program is planned, too: what waits for long launches seldom waits at all,
#: and fewer launches, as of dear start-ups, vary less.
_PLANNED = (
    SLOW,
    next(doubt for doubt in DOUBTS if doubt.startup > 1),
    Doubt("start-up and launches x 1.5", startup=1.5, launches=1.5),
)

_STATED = Doubt("as stated")


def most_robust_program(
    problem: ProgramProblem,
    nominal: Program,
    rules: Mapping[str, Program],
    planned: Callable[[Doubt], Iterator[Program]],
    options: RobustOptions,
) -> tuple[Program, Robustness]:
    """Choose a program by a measure of its times over draws.

    A draw has factors on all costs (:func:`solver.evidence.draws.draws_of`), and one of each op and
    each launch beside (:data:`COMPUTE_JITTER`, :data:`LAUNCH_JITTER`; a bucket has that of its
    first member). Programs keep the limits as stated; under a draw the memory may be another.

    Parameters
    ----------
    nominal
        The program for the stated costs.
    rules
        Programs of rules that keep the limits: rivals, and programs to choose from.
    planned
        Programs for costs that are off, those that keep the limits at the stated ones.
    options
        How to choose.

    Returns
    -------
    Program, Robustness
        Of the programs whose measure is at most that of ``nominal`` and of every rule those that,
        where all launches take 1.3 times as long and nothing else is off, are no slower than any of
        these, or by the least; of them the least sum of both shares: the measure over that of
        ``nominal``, and the time at the stated costs over its own.

    Notes
    -----
    O((steps + edges) x draws) for each program.
    """
    truths = _ProgramTruths(problem, options)
    plain = truths.tried(nominal)
    tried = {nominal: plain}
    for program in rules.values():
        tried.setdefault(program, truths.tried(program))
    limit = min(each.value for each in tried.values())
    slow = min(each.slow for each in tried.values())
    for doubt in _PLANNED:
        for program in planned(doubt):
            tried.setdefault(program, truths.tried(program))

    def rank(each: _TriedProgram) -> tuple[float, float, float, int]:
        shares = each.value / (plain.value or 1) + each.stated / (plain.stated or 1)
        return (
            max(0.0, each.value - limit - slack(limit)),
            max(0.0, each.slow - slow - slack(slow)),
            shares,
            len(each.program.buckets),
        )

    best = min(tried.values(), key=rank)
    rivals = tuple(RobustRival(name, tried[program].value) for name, program in rules.items())
    cost = best.stated / plain.stated - 1 if plain.stated > 0 else None
    kept = options.measure, options.draws, options.seed
    return best.program, Robustness(*kept, best.value, plain.value, rivals, cost)


class FasterRule(NamedTuple):
    """A rule that is faster than a program where launches are slow.

    Attributes
    ----------
    policy
        Its name.
    time_us, program_us
        What it takes there, and what the program does [us].
    """

    policy: str
    time_us: float
    program_us: float


def faster_rule(
    problem: ProgramProblem,
    program: Program,
    rules: Mapping[str, Program],
    planned: ProgramProblem | None = None,
) -> FasterRule | None:
    """Return the fastest of some rules where launches take 1.3 times as long, if it is ahead.

    ``planned`` is the program's problem, where that is another than the rules'.
    """
    slow = replace(problem, network=doubted_network(problem.network, SLOW))
    ours = slow if planned is None else replace(planned, network=slow.network)
    own = execute(ours, program).iteration_time
    times = {name: execute(slow, each).iteration_time for name, each in rules.items()}
    best = min(times, key=times.__getitem__, default=None)
    if best is None or times[best] >= own - slack(own):
        return None
    return FasterRule(best, times[best], own)


class _TriedProgram(NamedTuple):
    """A program, the measure of its times, and its time where launches are slow, and as stated."""

    program: Program
    value: float
    slow: float
    stated: float


class _ProgramTruths:
    """What ops and launches may truly take: the draws, then slow launches, then as stated."""

    def __init__(self, problem: ProgramProblem, options: RobustOptions) -> None:
        graph = problem.graph
        self._problem, self._options = problem, options
        doubts = (*draws_of(options.draws, options.seed), SLOW, _STATED)
        own = np.ones((2, len(graph.ops), len(doubts)))
        for k in range(options.draws):
            random = np.random.Generator(np.random.PCG64([options.seed, k]))
            own[0, :, k] = lognormal(random, COMPUTE_JITTER, len(graph.ops))
            own[1, :, k] = lognormal(random, LAUNCH_JITTER, len(graph.ops))
        factors = np.array([doubt.compute for doubt in doubts])
        self._durations = np.array(graph.durations)[:, None] * own[0] * factors
        self._jitter = own[1]
        networks = [doubted_network(problem.network, doubt) for doubt in doubts]

        @cache
        def costs(lane: ChannelCost) -> list[Cost]:
            return [network(lane) for network in networks]

        @cache
        def times(lane: ChannelCost, size: int) -> FloatArray:
            return np.array([cost.time(size) for cost in costs(lane)])

        self._times = times

    def tried(self, program: Program) -> _TriedProgram:
        """Run a program under all of them."""
        times = drawn_times(self._problem, program, self._durations, self._launched)
        value = measured(times[:-2], self._options.measure)
        return _TriedProgram(program, value, float(times[-2]), float(times[-1]))

    def _launched(self, members: Sequence[int]) -> FloatArray:
        ops = self._problem.graph.ops
        lane = lane_of(self._problem.graph, members[0])
        times: FloatArray = self._times(lane, sum(ops[i].bytes or 0 for i in members))
        found: FloatArray = times * self._jitter[members[0]]
        return found
