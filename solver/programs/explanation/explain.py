"""Why a program takes as long as it does: the table of contents of this package."""

from dataclasses import dataclass

from solver.evidence.brief import Limit
from solver.programs.execute import ProgramRun
from solver.programs.explanation.critical import (
    PathTimes,
    ProgramPathStep,
    critical_path,
    path_times,
)
from solver.programs.explanation.earlier import LaunchReason, launch_reasons
from solver.programs.explanation.holders import holds_of
from solver.programs.explanation.sensitivity import (
    BANDWIDTH_FASTER,
    COMPUTE_FASTER,
    STARTUP_LOWER,
    ProgramSensitivity,
    program_sensitivities,
)
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program


@dataclass(frozen=True, slots=True)
class ProgramExplanation:
    """What a program did, and what held it.

    Attributes
    ----------
    limited_by
        ``compute``, ``bandwidth`` or ``startup``: that of which a tenth more speed saves most, the
        first of equals; where none saves anything, what takes most of the critical path. None
        where the iteration takes no time.
    critical_path
        Steps from 0 to the iteration time.
    path_times
        The same by cause.
    launches
        Why each launch starts no earlier, in the order of the buckets.
    sensitivities
        The program executed with one thing cheaper at a time.
    """

    limited_by: Limit | None
    critical_path: tuple[ProgramPathStep, ...]
    path_times: PathTimes
    launches: tuple[LaunchReason, ...]
    sensitivities: tuple[ProgramSensitivity, ...]


def explain_program(
    problem: ProgramProblem, program: Program, run: ProgramRun
) -> ProgramExplanation:
    """Explain a run of a program by executing it again with changes.

    Parameters
    ----------
    run
        What :func:`solver.programs.execute.execute` made of the program.

    Notes
    -----
    Some executions for the sensitivities, and as many as
    :data:`solver.programs.explanation.earlier.MOST_EXECUTED` allows for the launches.
    """
    holds = holds_of(problem, program, run)
    path = critical_path(problem, program, run, holds)
    times = path_times(path)
    gains = program_sensitivities(problem, program, run)
    launches = launch_reasons(problem, program, run, holds)
    return ProgramExplanation(_limit(run, times, gains), path, times, launches, gains)


def _limit(
    run: ProgramRun, times: PathTimes, gains: tuple[ProgramSensitivity, ...]
) -> Limit | None:
    if not run.iteration_time:
        return None
    words: dict[str, Limit] = {
        COMPUTE_FASTER: "compute",
        BANDWIDTH_FASTER: "bandwidth",
        STARTUP_LOWER: "startup",
    }
    best = max((each for each in gains if each.name in words), key=lambda each: each.gain_us)
    if best.gain_us > 0:
        return words[best.name]
    on_channels = sum(times.channels_us.values())
    return "compute" if times.compute_us + times.copies_us >= on_channels else "bandwidth"
