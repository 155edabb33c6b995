"""Programs as files of other tools, called alike: ``export(problem, program) -> Export``."""

from collections.abc import Callable

from solver.exports.explicit_plan import Export
from solver.exports.programs import chrome, fsdp, xla
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program

#: A writer: what was planned, and the program.
ProgramExporter = Callable[[ProgramProblem, Program], Export]

#: The writers by format name; add one here.
PROGRAM_EXPORTS: dict[str, ProgramExporter] = {
    chrome.FORMAT: chrome.export,
    xla.FORMAT: xla.export,
    fsdp.FORMAT: fsdp.export,
}
