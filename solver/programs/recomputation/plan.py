"""Programs within a limit of memory in which some ops run twice, where that is faster."""

from collections.abc import Collection
from dataclasses import replace

from solver.bounds.status import status_of
from solver.codes import FaultCode
from solver.errors import InvalidOptions
from solver.evidence.baseline import baseline_of
from solver.evidence.bound import Bound
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, Report, plan, program_evidence
from solver.programs.policies import POLICIES, program_of
from solver.programs.policies.least_memory import least_memory
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.recomputation.fit import Fitted, fitted
from solver.programs.recomputation.graph import with_recomputed
from solver.programs.recomputation.moved import without_second_runs
from solver.programs.result import ProgramPlan, Recomputation

#: Searches for programs that are not the answer take so much of the changes.
_SHARE = 0.3

#: As often ops are dropped that need not run twice, and the rest is searched on.
_TURNS = 3


def plan_recomputed(
    problem: ProgramProblem,
    options: ProgramOptions,
    allowed: Collection[str],
    report: Report = lambda _program, _time: None,
) -> ProgramPlan:
    """Plan as :func:`solver.programs.plan.plan` does, and run ops twice where that is faster.

    Where the limit costs time, or no program keeps it, ops run twice in the programs that are
    fastest without a limit until these keep it (:func:`solver.programs.recomputation.fit.fitted`).
    The fastest of them is searched on, as a program of the graph in which these ops run twice; then
    ops run once again where that takes neither longer nor more memory than there is.

    The bound is that of all programs of the graph without a limit of memory. It holds whatever runs
    twice (model section 16.7); a bound that a limit raised would not.

    Parameters
    ----------
    problem
        With a limit of memory and one stream of free order.
    options
        How to plan; ``robust`` is None.
    allowed
        Ids of the ops that may run twice, as :func:`recomputable` tells them.
    report
        Told of the programs in which every op runs once.

    Raises
    ------
    InvalidOptions
        As of a plan; when no program keeps the limit with ops that run twice, either.
    """
    error = None
    try:
        plain = plan(problem, options, report)
    except InvalidOptions as fault:
        if any(each.code != FaultCode.INFEASIBLE for each in fault.faults):
            raise
        plain, error = None, fault
    unlimited = replace(problem, limits=replace(problem.limits, memory_bytes=None))
    part = replace(options, baselines=(), share=options.share * _SHARE)
    free = plan(unlimited, part)
    best = plain
    if plain is None or plain.iteration_time_us > free.iteration_time_us * (
        1 + options.launch_tolerance
    ):
        found = _recomputed(problem, options, allowed, free.program, plain)
        if found is not None and (plain is None or _is_better(found, plain)):
            best = found
    if best is None:
        assert error is not None, "no plan has a reason"
        raise error
    return _with_bound(best, free.bound, problem, options)


def _is_better(found: ProgramPlan, plain: ProgramPlan) -> bool:
    return found.iteration_time_us < plain.iteration_time_us


def _recomputed(
    problem: ProgramProblem,
    options: ProgramOptions,
    allowed: Collection[str],
    fastest: Program,
    plain: ProgramPlan | None,
) -> ProgramPlan | None:
    """Plan a graph in which some ops run twice; None where that helps nothing."""
    most = problem.limits.memory_bytes
    assert most is not None, "there is a limit"
    rules = [program_of(name, problem) for name in POLICIES]
    starts = [fastest, *rules, *([] if plain else [least_memory(problem)])]
    fits = [fitted(problem, each, allowed, most) for each in dict.fromkeys(starts)]
    fits = [each for each in fits if each.again]
    if not fits:
        return None
    first = min(
        fits, key=lambda each: (max(0, each.run.peak_bytes - most), each.run.iteration_time)
    )
    alone = replace(options, baselines=())
    for _ in range(_TURNS):
        try:
            found = plan(first.problem, alone, known=(first.program,))
        except InvalidOptions:
            return None
        last = Fitted(first.again, first.problem, found.program, found.run)
        first = _needed(problem, last, most)
        if not first.again:
            return None
        if len(first.again) == len(last.again):
            break
    return replace(found, recomputation=_recomputation(problem, last))


def _needed(problem: ProgramProblem, found: Fitted, most: int) -> Fitted:
    """Run ops once again, longest first, where that takes no longer and no more than the limit."""
    for each in sorted(found.again, key=lambda op: (-op.duration_us, op.op)):
        gone = {each.id}
        again = tuple(
            replace(op, read_by=tuple(name for name in op.read_by if name not in gone))
            for op in found.again
            if op.id not in gone
        )
        if not all(op.read_by for op in again):
            continue  # what this op reads was computed for it alone
        graph = with_recomputed(problem.graph, again)
        program = without_second_runs(found.program, found.problem.graph, graph, gone)
        other = replace(problem, graph=graph)
        run = execute(other, program)
        if run.peak_bytes <= most and run.iteration_time <= found.run.iteration_time:
            found = Fitted(again, other, program, run)
    return found


def _recomputation(problem: ProgramProblem, found: Fitted) -> Recomputation:
    gone = {each.id for each in found.again}
    once = without_second_runs(found.program, found.problem.graph, problem.graph, gone)
    return Recomputation(problem, found.again, execute(problem, once).peak_bytes)


def _with_bound(
    found: ProgramPlan, bound: Bound, problem: ProgramProblem, options: ProgramOptions
) -> ProgramPlan:
    """State the bound that holds whatever runs twice, and what of the graph as given is said."""
    time = found.iteration_time_us
    runs = {name: execute(problem, program_of(name, problem)) for name in options.baselines}
    baselines = tuple(
        baseline_of(name, run.iteration_time, time, bound.value_us, peak_bytes=run.peak_bytes)
        for name, run in runs.items()
    )
    return replace(
        found,
        status=status_of(time, found.best_time_us, bound.value_us),
        bound=bound,
        baselines=baselines,
        evidence=program_evidence(problem, cut=found.cut),
        recomputation=found.recomputation or Recomputation(problem, (), found.peak_bytes),
    )
