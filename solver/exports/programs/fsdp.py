"""PyTorch's ``fully_shard`` (FSDP2): units of a program, and what each prefetches.

FSDP2 runs compute as the model's code asks for it, gathers and reduces each unit as one, and takes
from a program which modules are one unit, which are freed after their forward pass, and which
gathers are launched before each unit's compute. Ids of the graph's collectives are ``gather:NAME``,
``regather:NAME`` and ``scatter:NAME`` with the path of a module, or paths with commas between them;
a captured graph, whose ids are names of nodes, does not tell units and is refused.
"""

from collections.abc import Iterator

from solver.exports.explicit_plan import Export
from solver.exports.frameworks.unit_files import unit_files
from solver.exports.programs.prefetches import Prefetches, as_fsdp_runs, prefetches_of
from solver.programs.execute import ProgramRun, execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program

FORMAT = "fsdp"


def export(problem: ProgramProblem, program: Program) -> Export:
    """Write ``fsdp_units.py`` and ``units.json``: units and prefetch lists of a program.

    The simulated time is that of the program that FSDP2 makes of them: compute in the order of the
    graph, each unit's gather and reduce-scatter one launch, with the copies of a bucket.

    Raises
    ------
    InvalidPlan
        When the graph's collectives do not tell units (``not_sharded``).
    """
    found = prefetches_of(problem, program)
    written = as_fsdp_runs(problem, found)
    planned, run = execute(problem, program), execute(problem, written)
    return Export(
        format=FORMAT,
        files=unit_files(
            [unit.names for unit in found.units],
            found.reshards(),
            found.forward,
            found.backward,
        ),
        media_type="text/x-python",
        notes=tuple(_notes(problem, program, found, planned, run)),
        iteration_time_us=run.iteration_time,
        plan_time_us=planned.iteration_time,
    )


def _notes(
    problem: ProgramProblem,
    program: Program,
    found: Prefetches,
    planned: ProgramRun,
    run: ProgramRun,
) -> Iterator[str]:
    most = max(map(len, (*found.forward, *found.backward)))
    yield (
        f"The plan's {len(program.buckets)} launches are {len(found.units)} units of FSDP2, one "
        f"for each bucket of first gathers; a unit prefetches {most} others at most."
    )
    extra = run.iteration_time - planned.iteration_time
    if extra > 0:
        yield (
            "Compute runs in the order of the graph, and second gathers and reduce-scatters go "
            f"unit by unit: that takes {extra:,.1f} us longer than the plan."
        )
    yield (
        f"Memory is {run.peak_bytes:,} bytes at most by the graph's buffers, the plan's "
        f"{planned.peak_bytes:,}."
    )
    yield (
        "A gather starts when the compute asked for before it has ended, as in the program; FSDP2 "
        "may start it after the copies of the unit before already."
    )
    limit = problem.limits.memory_bytes
    if limit is not None and run.peak_bytes > limit:
        yield f"That is more than the limit of {limit:,} bytes."
    if any(unit.sums for unit in found.units):
        yield "Gradients are summed between nodes too: give shard() a mesh of two dimensions."
    yield (
        "Names are those after gather: in the graph; they must be paths of the model's modules, or "
        "shard() must be told the modules."
    )
