"""Programs: the order of compute, launches and memory of a graph, planned and answered."""

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from app.errors import InvalidRequest, within
from app.schemas.plans import (
    PlanAnswer,
    PlanRequest,
)
from app.schemas.problem import CheckedRequest
from app.schemas.programs import FrontPoint
from app.services.drafts import EXPLANATION, WHAT_IF, Follower
from app.services.graphs import what_if
from app.services.program_answers import program_answer
from app.services.program_explanations import (
    explanation_of,
)
from app.services.program_problems import (
    program_options,
    program_problem,
)
from solver.bounds.status import status_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidOptions
from solver.evidence.evidence import evidence_of
from solver.programs.bounds.bound import lower_bound
from solver.programs.execute import execute
from solver.programs.front import LimitedPlan, plan_front
from solver.programs.headline import program_comparison
from solver.programs.plan import Report
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.recomputation.graph import matched, recomputable
from solver.programs.recomputation.plan import plan_recomputed
from solver.programs.replanned import with_changes, with_more_memory
from solver.programs.result import ProgramPlan, RoomierPlan
from solver.programs.search.flat import is_one_stream

SEARCH = "search"

#: What ended the search for a program that is shown before it was done.
_EARLY = "an interruption, or a look at it while it runs"


def solve_program(
    problem: CheckedRequest[PlanRequest], watch: Follower | None = None
) -> PlanAnswer:
    """Plan a program for each limit of memory; the answer is that of the largest that has one.

    Raises
    ------
    InvalidRequest
        When no program keeps a limit, or a policy makes none.
    """
    began, options = time.perf_counter(), problem.request.options
    what_if(problem.graph, problem.request.what_if)  # refuses changes that cannot be made
    several = options.memory_limits_bytes
    limits: list[int | None] = [options.memory_limit_bytes] if several is None else [*several]
    make = _front if options.recompute is None else _recomputed
    tried = make(problem, limits, watch)
    planned = next((each.plan for each in tried if each.plan is not None), None)
    if planned is None:
        raise _none_of(tried[0], several)
    if watch:
        watch.progress(SEARCH, len(limits), len(limits), _best(tried), planned.bound.value_us)
    front = None if several is None else [_point(each) for each in tried]
    more, changed = _more(problem, planned), _changed(problem, planned, watch)
    if watch:
        watch.progress(EXPLANATION, 0, 1, _best(tried), planned.bound.value_us)
    beside = program_comparison(planned)
    why = explanation_of(planned)
    runtime = round(time.perf_counter() - began, 6)
    cuts = _cuts(tried, planned, more, changed)
    return program_answer(problem, planned, why, front, more, changed, runtime, cuts, beside)


def _none_of(tried: LimitedPlan, several: Sequence[int] | None) -> InvalidRequest:
    """Say of the largest limit, in its place among several, that it has no program."""
    error, limit = tried.why_not, tried.limit
    assert error is not None, "no plan has a reason"
    if several is None or limit is None:
        return InvalidRequest(within("options", error.faults))
    place = f"/options/memory_limits_bytes/{several.index(limit)}"
    return InvalidRequest([Fault(place, each.code, each.detail) for each in error.faults])


def _cuts(
    tried: Sequence[LimitedPlan],
    planned: ProgramPlan,
    more: tuple[RoomierPlan, ...],
    changed: ProgramPlan | None,
) -> dict[str, str | None]:
    """Return what ended searches early but for the program of the answer, by what they were for."""
    cuts = {
        f"the program within {each.limit:,} bytes": each.plan.cut
        for each in tried
        if each.plan and each.plan is not planned and each.limit is not None
    }
    cuts |= {f"the program with {each.extra_bytes:,} bytes more": each.cut for each in more}
    return cuts | {"the program of the changed graph": changed.cut if changed else None}


def _more(problem: CheckedRequest[PlanRequest], planned: ProgramPlan) -> tuple[RoomierPlan, ...]:
    extras = problem.request.options.more_memory_bytes or ()
    return with_more_memory(planned, extras, program_options(problem.request)) if extras else ()


def _changed(
    problem: CheckedRequest[PlanRequest], planned: ProgramPlan, watch: Follower | None
) -> ProgramPlan | None:
    """Plan the graph with the changes that are asked for; None when none are."""
    changes = [change.to_change() for change in problem.request.what_if]
    if not changes:
        return None
    if watch:
        watch.progress(WHAT_IF, 0, 1, planned.run.iteration_time, planned.bound.value_us)
    try:
        return with_changes(planned, changes, program_options(problem.request))
    except InvalidOptions as error:
        raise InvalidRequest(within("what_if", error.faults)) from error


def _best(tried: Sequence[LimitedPlan]) -> float | None:
    return min((each.plan.run.iteration_time for each in tried if each.plan), default=None)


class _Following(NamedTuple):
    """Tells a follower of the programs found for one of several limits."""

    watch: Follower
    done: int
    limits: int

    def of(self, problem: CheckedRequest[PlanRequest], planned: ProgramProblem) -> Report:
        """Return what is told of each better program."""
        began = time.perf_counter()
        self.watch.progress(SEARCH, self.done, self.limits, None, None)

        def draft_of(program: Program) -> str:
            run, bound = execute(planned, program), lower_bound(planned)
            time_us = run.iteration_time
            status = status_of(time_us, time_us, bound.value_us)
            on = evidence_of(planned.graph, planned.network, cut=_EARLY)
            found = ProgramPlan(planned, program, run, status, time_us, bound, (), on)
            took = round(time.perf_counter() - began, 6)
            return program_answer(problem, found, None, None, (), None, took).model_dump_json()

        def report(program: Program, value: float) -> None:
            self.watch.progress(SEARCH, self.done, self.limits, value, None)
            self.watch.draft(partial(draft_of, program))

        return report


def _front(
    problem: CheckedRequest[PlanRequest], limits: Sequence[int | None], watch: Follower | None
) -> tuple[LimitedPlan, ...]:
    """Plan within each limit."""

    def report_of(done: int, planned: ProgramProblem) -> Report:
        follow = _Following(watch, done, len(limits)) if watch else None
        return follow.of(problem, planned) if follow else _unreported

    asked, options = program_problem(problem, limits[0]), program_options(problem.request)
    try:
        return plan_front(asked, limits, options, report_of)
    except InvalidOptions as error:
        raise InvalidRequest(within("options", error.faults)) from error
    except InvalidGraph as error:
        raise InvalidRequest(within("graph", error.faults)) from error


def _recomputed(
    problem: CheckedRequest[PlanRequest], limits: Sequence[int | None], watch: Follower | None
) -> tuple[LimitedPlan, ...]:
    """Plan within the one limit, with ops that run twice where that is faster."""
    (limit,) = limits
    asked = program_problem(problem, limit)
    if not is_one_stream(asked):
        detail = "Options: recompute needs all compute on one stream."
        raise InvalidRequest([Fault("/options/recompute", FaultCode.NOT_SUPPORTED, detail)])
    patterns = problem.request.options.recompute or ()
    for k, pattern in enumerate(patterns):
        if not matched(asked.graph, pattern):
            detail = f"No op of compute matches {pattern!r}."
            raise InvalidRequest([Fault(f"/options/recompute/{k}", FaultCode.UNKNOWN_OP, detail)])
    follow = _Following(watch, 0, 1).of(problem, asked) if watch else _unreported
    allowed = recomputable(asked.graph, patterns)
    try:
        found = plan_recomputed(asked, program_options(problem.request), allowed, follow)
    except InvalidOptions as error:
        raise InvalidRequest(within("options", error.faults)) from error
    return (LimitedPlan(limit, found, None),)


def _unreported(_program: Program, _time: float) -> None:
    """Tell nobody."""


def _point(tried: LimitedPlan) -> FrontPoint:
    assert tried.limit is not None, "a front has limits"
    found, why = tried.plan, tried.why_not
    if found is None:
        assert why is not None, "no plan has a reason"
        said = " ".join(fault.detail for fault in why.faults)
        return FrontPoint(memory_limit_bytes=tried.limit, why_not=said)
    return FrontPoint(
        memory_limit_bytes=tried.limit,
        iteration_time_us=found.run.iteration_time,
        peak_bytes=found.run.peak_bytes,
        lower_bound_us=found.bound.value_us,
        status=found.status,  # type: ignore[arg-type]
    )
