"""What would make a program shorter, found by executing it again as it is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from solver.costs import scale
from solver.programs.execute import ProgramRun, execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.simulation.what_if import Change, apply_changes
from solver.units import same

COMPUTE_FASTER = "compute_faster"
BANDWIDTH_FASTER = "bandwidth_faster"
CHANNEL_FASTER = "channel_faster"
STARTUP_LOWER = "startup_lower"
STARTUP_FREE = "startup_free"
COPIES_FREE = "copies_free"

#: So many times the speed.
FASTER = 1.1


@dataclass(frozen=True, slots=True)
class ProgramSensitivity:
    """One thing made cheaper, and what the same program takes then.

    Attributes
    ----------
    name
        ``compute_faster``, ``bandwidth_faster``, ``channel_faster`` (one of several),
        ``startup_lower``: 1.1 times as fast; ``startup_free``, ``copies_free``.
    channel
        The one channel, None otherwise.
    iteration_time_us
        As executed.
    gain_us
        How much less that is; 0 within the tolerance. Never negative: no step starts later when
        others are shorter.
    """

    name: str
    channel: str | None
    iteration_time_us: float
    gain_us: float


def program_sensitivities(
    problem: ProgramProblem, program: Program, run: ProgramRun
) -> tuple[ProgramSensitivity, ...]:
    """Execute a program with one thing cheaper at a time; the start-up is a launch's least time.

    Notes
    -----
    Five executions, and one for each of several channels.
    """
    graph, network = problem.graph, problem.network

    def after(name: str, other: ProgramProblem, channel: str | None = None) -> ProgramSensitivity:
        time = execute(other, program).iteration_time
        gain = 0.0 if same(time, run.iteration_time) else run.iteration_time - time
        return ProgramSensitivity(name, channel, time, gain)

    def cost(bandwidth: float, startup: float, channel: str | None = None) -> ProgramProblem:
        other = replace(
            network,
            cost=lambda lane: (
                scale(network(lane), bandwidth, startup)
                if channel in {None, lane.channel}
                else network(lane)
            ),
        )
        return replace(problem, network=other)

    def every() -> Iterator[ProgramSensitivity]:
        quicker = apply_changes(graph, [Change("*", duration_factor=1 / FASTER)])
        yield after(COMPUTE_FASTER, replace(problem, graph=quicker))
        yield after(BANDWIDTH_FASTER, cost(FASTER, 1.0))
        channels = sorted({graph.ops[i].channel for i in graph.collectives})
        for channel in channels if len(channels) > 1 else ():
            yield after(CHANNEL_FASTER, cost(FASTER, 1.0, channel), channel)
        yield after(STARTUP_LOWER, cost(1.0, 1 / FASTER))
        yield after(STARTUP_FREE, cost(1.0, 0.0))
        yield after(COPIES_FREE, replace(problem, copy_gbps=None))

    return tuple(every())
