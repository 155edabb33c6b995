"""A planned program as an answer."""

from collections.abc import Mapping
from types import MappingProxyType

from app import VERSION
from app.reading.program_faults import has_order
from app.schemas.explanations import CostWarning
from app.schemas.plan_options import OptionsBody
from app.schemas.plans import (
    PlanAnswer,
    PlanRequest,
    PlanRequestOut,
    WhatIf,
)
from app.schemas.problem import CheckedRequest, graph_sha256
from app.schemas.programs import FrontPoint
from app.schemas.schedules import Schedule
from app.services.executed_programs import (
    assumed_of,
    buckets_of,
    memory_of,
    parts_of,
    steps_of,
)
from app.services.program_explanations import (
    explained_program,
    launch_reasons_of,
)
from app.services.program_problems import (
    policies_of,
)
from app.services.warnings import chunks_of, launched, search_of, units_of, warnings_of
from solver.bounds.status import FEASIBLE
from solver.evidence.brief import brief_of
from solver.evidence.headline import ComparedPlan
from solver.planning.result import Proof
from solver.programs.explanation.explain import ProgramExplanation
from solver.programs.policies import POLICIES, program_of
from solver.programs.result import ProgramPlan, RoomierPlan
from solver.programs.robust import faster_rule
from solver.programs.search.flat import is_one_stream
from solver.wording import ms


def program_answer(
    problem: CheckedRequest[PlanRequest],
    planned: ProgramPlan,
    why: ProgramExplanation | None,
    front: list[FrontPoint] | None,
    more: tuple[RoomierPlan, ...],
    changed: ProgramPlan | None,
    runtime_s: float,
    cuts: Mapping[str, str | None] = MappingProxyType({}),
    beside: ComparedPlan | None = None,
) -> PlanAnswer:
    """Write a program as the answer to a request.

    ``cuts`` is what ended searches for other programs early, by what was searched for.
    """
    request, graph = problem.request, problem.graph
    buckets, parts = buckets_of(planned), parts_of(planned)
    named = {"baselines": list(policies_of(request))}
    explained = explained_program(planned, why, more, front or ())
    return PlanAnswer.of(
        explained,
        planned,
        brief=beside
        and brief_of(
            beside.headline,
            explained.limited_by,
            planned.exposed_us,
            planned.iteration_time_us,
            explained.sensitivities or (),
        ),
        headline=beside and beside.headline,
        off_calibration=beside and list(beside.off_calibration),
        runtime_s=runtime_s,
        ideal_us=None,
        buckets=buckets,
        schedule=Schedule(parts=parts, slot_us=None, slots=[], slots_iteration_time_us=None),
        proof=Proof((), None, None, None),
        fused_graph=None,
        program=steps_of(planned),
        memory=memory_of(planned, more),
        recomputed=planned.recomputation,
        path_times=None if why is None else why.path_times,
        launch_reasons=None if why is None else launch_reasons_of(planned, why),
        front=front,
        what_if=None if changed is None else _what_if(planned, changed),
        warnings=([] if graph.buffers else units_of(graph))
        + assumed_of(request.options.copy_gbps)
        + _by_option(problem)
        + _unsearched(planned)
        + _behind(planned)
        + chunks_of(request.what_if)
        + search_of({"this program": planned.cut, **cuts})
        + warnings_of(request.cluster, launched(buckets, parts)),
        request=PlanRequestOut.of(
            request,
            options=request.options.model_copy(
                update={"baselines": OptionsBody.model_validate(named).baselines}
            ),
            graph_sha256=graph_sha256(graph),
        ),
        version=VERSION,
    )


def _what_if(planned: ProgramPlan, changed: ProgramPlan) -> WhatIf:
    return WhatIf.of(changed, gain_us=planned.iteration_time_us - changed.iteration_time_us)


def _by_option(problem: CheckedRequest[PlanRequest]) -> list[CostWarning]:
    """Say that an option made a program of a graph that is none; for one release it does."""
    graph, options = problem.graph, problem.request.options
    if options.host_order or has_order(graph.ops, graph.free, graph.buffers):
        return []
    name = options.of_programs()[0]
    detail = (
        f"{name} is an option of programs, and the order of this graph is given: a program was "
        "planned. The next release refuses that; say host_order (--host-order)."
    )
    return [CostWarning(pointer=f"/options/{name}", code="program_by_option", detail=detail)]


def _unsearched(planned: ProgramPlan) -> list[CostWarning]:
    """Say that a program is only the best of some rules."""
    if planned.status != FEASIBLE or is_one_stream(planned.problem):
        return []
    detail = (
        "Programs are searched where all compute is on one stream; here it is on several, or on "
        "none, and the program is the best of the rules " + ", ".join(POLICIES) + "."
    )
    return [CostWarning(pointer="/graph/ops", code="not_searched", detail=detail)]


def _behind(planned: ProgramPlan) -> list[CostWarning]:
    """Say which rule would be ahead where launches are slow, if one would."""
    problem, most = planned.as_given, planned.problem.limits.memory_bytes
    kept = [
        each.policy for each in planned.baselines if most is None or (each.peak_bytes or 0) <= most
    ]
    rules = {name: program_of(name, problem) for name in kept}
    ahead = faster_rule(problem, planned.program, rules, planned.problem)
    if ahead is None:
        return []
    why = (
        "robust chooses by such times, too"
        if planned.robust is None
        else f"the {planned.robust.measure} over the draws of robust came first"
    )
    detail = (
        f"Where all launches take 1.3 times as long, {ahead.policy} takes "
        f"{ms(ahead.time_us)} and this program {ms(ahead.program_us)}; {why}."
    )
    return [CostWarning(pointer="/options/robust", code="rule_ahead", detail=detail)]
