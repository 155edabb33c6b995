"""The Chrome trace of a program beside the compiler's own, which Perfetto opens."""

import json
from typing import Any

from solver.evidence.what_you_run import compiler_of
from solver.exports.explicit_plan import Export
from solver.programs.execute import ProgramRun, execute
from solver.programs.policies import program_of
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.result import Executed
from solver.programs.timeline import program_trace

FORMAT = "chrome"


def export(problem: ProgramProblem, program: Program) -> Export:
    """Write ``trace.json``: channels, streams, copies, waits and memory; nothing is lost."""
    trace, run = trace_of(problem, program)
    return Export(
        format=FORMAT,
        files={"trace.json": json.dumps(trace, separators=(",", ":")) + "\n"},
        media_type="application/json",
        notes=(),
        iteration_time_us=run.iteration_time,
        plan_time_us=run.iteration_time,
    )


def trace_of(
    problem: ProgramProblem,
    program: Program,
    name: str = "plan",
    *,
    beside: str | None = None,
    as_given: ProgramProblem | None = None,
) -> tuple[dict[str, Any], ProgramRun]:
    """Draw a program by a name beside that of a rule; return how it ran, too.

    Parameters
    ----------
    beside
        A key of :data:`solver.programs.policies.POLICIES`, None for the compiler's.
    as_given
        Where ops run twice in the program, the problem in which they do not: the rule's.
    """
    theirs = problem if as_given is None else as_given
    beside = compiler_of(theirs.graph) if beside is None else beside
    run, other = execute(problem, program), program_of(beside, theirs)
    before = execute(theirs, other)
    times = {
        "iteration_time_us": run.iteration_time,
        f"{beside}_iteration_time_us": before.iteration_time,
        "peak_bytes": run.peak_bytes,
    }
    runs = {name: Executed(problem, program, run), beside: Executed(theirs, other, before)}
    return program_trace(problem, runs, times), run
