"""Programs within several limits of memory, together: a front on which memory never costs time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from solver.bounds.status import status_of
from solver.codes import FaultCode
from solver.errors import InvalidOptions
from solver.evidence.baseline import baseline_of
from solver.programs.bounds.beside import beside_bound
from solver.programs.bounds.bound import lower_bound
from solver.programs.bounds.work import resources_of
from solver.programs.plan import ProgramOptions, Report, plan
from solver.programs.policies import program_of
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.result import ProgramPlan

#: The search within each limit but the largest takes so much of the changes of one alone: it goes
#: on from what the others came to.
_SHARE = 0.35


@dataclass(frozen=True, slots=True)
class LimitedPlan:
    """A limit of memory, and its plan or why there is none.

    Attributes
    ----------
    limit
        The most memory [bytes]; None for no limit.
    plan
        None where no program was found.
    why_not
        What was said then.
    """

    limit: int | None
    plan: ProgramPlan | None
    why_not: InvalidOptions | None


def plan_front(
    problem: ProgramProblem,
    limits: Iterable[int | None],
    options: ProgramOptions,
    report_of: Callable[[int, ProgramProblem], Report] = lambda _done, _within: _unreported,
) -> tuple[LimitedPlan, ...]:
    """Plan within each of several limits of memory, the largest first.

    The search within a limit begins with what was found within the larger ones, and with the
    rules' programs, all repaired to it. Of all programs found, within whatever limit, each limit
    has the fastest that keeps it: more memory never costs time.

    Parameters
    ----------
    problem
        Its own limit of memory does not count.
    options
        Of the plan within the largest limit. Within the others nothing is compared with, and the
        searches take a part of the changes.
    report_of
        Called with how many limits are done and the problem within the next; what it returns is
        told of each better program.

    Raises
    ------
    InvalidOptions
        When an option is faulty. Where a limit has no program, its plan says so instead.
    """
    ordered = sorted(set(limits), key=lambda limit: (limit is not None, -(limit or 0)))
    first = replace(problem, limits=replace(problem.limits, memory_bytes=ordered[0]))
    found = [_planned(first, options, report_of(0, first), ())]
    rules = tuple(program_of(name, first) for name in options.baselines)
    how = replace(options, baselines=(), share=options.share * _SHARE)
    for limit in ordered[1:]:
        within = _within(first, limit)
        known = [each.plan.program for each in found if each.plan is not None]
        report = report_of(len(found), within)
        found.append(_planned(within, how, report, (*known[-1:], *rules)))
    return tuple(_best_within(_within(first, each.limit), k, found) for k, each in enumerate(found))


def _planned(
    problem: ProgramProblem, options: ProgramOptions, report: Report, known: tuple[Program, ...]
) -> LimitedPlan:
    limit = problem.limits.memory_bytes
    try:
        return LimitedPlan(limit, plan(problem, options, report, known), None)
    except InvalidOptions as error:
        if any(fault.code != FaultCode.INFEASIBLE for fault in error.faults):
            raise
        return LimitedPlan(limit, None, error)


def _within(problem: ProgramProblem, limit: int | None) -> ProgramProblem:
    """Return a problem with less memory; the bound of more holds for it, and less may raise it."""
    other = replace(problem, limits=replace(problem.limits, memory_bytes=limit))
    other.memo["bound"] = beside_bound(other, resources_of(other), lower_bound(problem))
    return other


def _best_within(problem: ProgramProblem, at: int, found: Sequence[LimitedPlan]) -> LimitedPlan:
    """Return the fastest of all plans that keeps a limit, of equals its own.

    Bounds within this limit and larger ones hold for it, those within smaller ones do not.
    """
    own = found[at]
    kept = [
        each.plan
        for each in (own, *found)
        if each.plan is not None and (own.limit is None or each.plan.peak_bytes <= own.limit)
    ]
    if not kept:
        return own
    best = min(kept, key=lambda each: each.iteration_time_us)
    bounds = [each.plan.bound for each in found[at::-1] if each.plan is not None]
    bound = max([*bounds, lower_bound(problem)], key=lambda each: each.value_us)
    if best is own.plan and bound is best.bound:
        return own
    first = own.plan or replace(best, baselines=())
    time = best.iteration_time_us
    best_time = min(time, first.best_time_us) if own.plan else time
    baselines = tuple(
        baseline_of(
            each.policy, each.iteration_time_us, time, bound.value_us, peak_bytes=each.peak_bytes
        )
        for each in first.baselines
    )
    changed = replace(
        best,
        problem=problem,
        status=status_of(time, best_time, bound.value_us),
        best_time_us=best_time,
        bound=bound,
        baselines=baselines,
    )
    return LimitedPlan(own.limit, changed, None)


def _unreported(_program: object, _time: float) -> None:
    """Tell nobody."""
