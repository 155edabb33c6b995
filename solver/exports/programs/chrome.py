"""The Chrome trace of a program beside the order of its graph, which Perfetto opens."""

import json
from typing import Any

from solver.exports.explicit_plan import Export
from solver.programs.execute import ProgramRun, execute
from solver.programs.policies import POLICIES
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
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
    problem: ProgramProblem, program: Program, name: str = "plan", *, beside: str = "in_order"
) -> tuple[dict[str, Any], ProgramRun]:
    """Draw a program by a name beside one of :data:`POLICIES`; return how it ran, too."""
    run, other = execute(problem, program), POLICIES[beside](problem)
    before = execute(problem, other)
    times = {
        "iteration_time_us": run.iteration_time,
        f"{beside}_iteration_time_us": before.iteration_time,
        "peak_bytes": run.peak_bytes,
    }
    runs = {name: (program, run), beside: (other, before)}
    return program_trace(problem, runs, times), run
