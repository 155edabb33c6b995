"""Rules of today that make a program of a problem."""

from collections.abc import Callable, Mapping

from solver.programs.policies.bucketed_overlap import bucketed_overlap
from solver.programs.policies.deepcompile import deepcompile
from solver.programs.policies.in_order import in_order
from solver.programs.policies.inductor import inductor
from solver.programs.policies.simple_overlap import simple_overlap
from solver.programs.policies.topo_span import topo_span
from solver.programs.policies.transformer_blocks import transformer_blocks
from solver.programs.policies.xla_lhs import xla_lhs
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program

#: Each makes a program of a problem, by name.
POLICIES: Mapping[str, Callable[[ProgramProblem], Program]] = {
    "in_order": in_order,
    "inductor": inductor,
    "simple_overlap": simple_overlap,
    "bucketed_overlap": bucketed_overlap,
    "transformer_blocks": transformer_blocks,
    "topo_span": topo_span,
    "deepcompile": deepcompile,
    "xla_lhs": xla_lhs,
}


def program_of(name: str, problem: ProgramProblem) -> Program:
    """Return what a rule makes of a problem, made once."""
    key = f"program of {name}"
    found: Program | None = problem.memo.get(key)
    if found is None:
        found = problem.memo[key] = POLICIES[name](problem)
    return found
