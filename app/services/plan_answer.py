"""A plan as an answer."""

from app import VERSION
from app.schemas.explanations import ExplainedAnswer
from app.schemas.plans import PlanAnswer, PlanRequest, PlanRequestOut, WhatIf
from app.schemas.problem import CheckedRequest, graph_sha256, ops_json
from app.schemas.schedules import Schedule
from app.services.graphs import is_large
from app.services.warnings import (
    channels_of,
    chunks_of,
    launched,
    proof_of,
    search_of,
    slowed_of,
    units_of,
    warnings_of,
)
from solver.chain import chain_of
from solver.evidence.brief import brief_of
from solver.evidence.headline import ComparedPlan, Headline
from solver.planning.result import Plan
from solver.prediction.osf import Osf


def plan_answer(
    problem: CheckedRequest[PlanRequest],
    plan: Plan,
    why: ExplainedAnswer,
    changed: Plan | None,
    osf: Osf | None,
    runtime_s: float,
    beside: ComparedPlan | None = None,
) -> PlanAnswer:
    """Write a plan as the answer to a problem, with its explanation and its what-if.

    What the plan and the answer call alike is taken as it is.
    """
    graph, request = problem.graph, problem.request
    slotted = plan.slotted
    gains = beside and beside.headline
    return PlanAnswer.of(
        why,
        plan,
        brief=gains
        and brief_of(
            gains,
            why.limited_by,
            plan.exposed_us,
            plan.iteration_time_us,
            why.sensitivities or (),
            barrier=request.has_barrier,
        ),
        headline=gains,
        off_calibration=beside and list(beside.off_calibration),
        runtime_s=runtime_s,
        schedule=Schedule.of(
            plan,
            slot_us=slotted.slot_us if slotted else None,
            slots=slotted.runs if slotted else (),
            slots_iteration_time_us=slotted.iteration_time_us if slotted else None,
        ),
        fused_graph=None if is_large(graph) else ops_json(graph.name, plan.fused),
        what_if=changed and WhatIf.of(changed, gain_us=_gain_us(plan, changed)),
        osf=osf,
        warnings=units_of(graph)
        + search_of(_cuts(plan, changed, gains))
        + proof_of(plan, request.options.prove_s)
        + channels_of(chain_of(plan.graph))
        + slowed_of(graph, request.cluster)
        + chunks_of(request.what_if)
        + warnings_of(request.cluster, launched(plan.buckets, plan.parts)),
        request=PlanRequestOut.of(request, graph_sha256=graph_sha256(graph)),
        version=VERSION,
    )


def _cuts(plan: Plan, changed: Plan | None, gains: Headline | None) -> dict[str, str | None]:
    """Return what ended searches early, by what was searched for."""
    return {
        "this plan": plan.cut,
        "the plan for the other barrier": gains.cut if gains else None,
        "the plan of the changed graph": changed.cut if changed else None,
    }


def _gain_us(plan: Plan, changed: Plan) -> float:
    return plan.iteration_time_us - changed.iteration_time_us
