"""Programs within several limits of memory, together: a front on which memory never costs time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
#: on from what the others came to. All but the largest and the smallest take so much together.
_SHARE, _TOGETHER = 0.3, 1.5

#: What is known of a problem within all its limits: runs of programs, and the least memory.
_SHARED = "runs", "least memory"

#: Between two limits of which the smaller costs at most this share of the time there is no search.
_FLAT = 0.001


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
    """Plan within each of several limits of memory.

    First within the largest and the smallest, then within the middle of two, unless the smaller of
    these costs no more than a thousandth of the time. A search begins with what was found within
    these two, and with the rules' programs, all repaired to its limit. Of all programs found,
    within whatever limit, each limit has the fastest that keeps it: more memory never costs time.

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
    first.memo.update({key: {} for key in _SHARED})
    found = [LimitedPlan(limit, None, None) for limit in ordered]
    found[0] = _planned(first, options, report_of(0, first), ())
    served = {0: found[0].plan}
    rules = tuple(program_of(name, first) for name in options.baselines)
    last = len(ordered) - 1
    for k, near in _halving(len(ordered)):
        around = [served[i] for i in near]
        if _is_flat(*around):
            served[k] = around[-1]
            continue
        within = _within(first, ordered[k])
        known = [each.program for each in around if each is not None]
        share = _SHARE if k == last else min(_SHARE, _TOGETHER / (last - 1))
        how = replace(options, baselines=(), share=options.share * share)
        found[k] = _planned(within, how, report_of(len(served), within), (*known, *rules))
        served[k] = found[k].plan
    first.memo["runs"].clear()
    return tuple(_best_within(_within(first, each.limit), k, found) for k, each in enumerate(found))


def _halving(count: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the last place, then the middle of two that were yielded, with these; not place 0."""
    if count > 1:
        yield count - 1, (0,)
    spans = [(0, count - 1)]
    for low, high in spans:
        if high - low > 1:
            middle = (low + high) // 2
            yield middle, (low, high)
            spans += [(low, middle), (middle, high)]


def _is_flat(larger: ProgramPlan | None, smaller: ProgramPlan | None = None) -> bool:
    """Tell whether the plan within a smaller limit is about as fast as that within a larger one."""
    if larger is None or smaller is None:
        return False
    return smaller.iteration_time_us <= larger.iteration_time_us * (1 + _FLAT)


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
    other.memo.update({key: problem.memo[key] for key in _SHARED})
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
