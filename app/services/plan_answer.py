"""A plan as an answer."""

from dataclasses import asdict
from typing import Any

from app import VERSION
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.problem import Problem, graph_sha256, ops_json
from app.services.graphs import is_large
from app.services.warnings import launched, warnings_of
from solver.planning import result
from solver.prediction.osf import Osf


def plan_answer(
    problem: Problem[PlanRequest],
    plan: result.Plan,
    why: dict[str, Any],
    other: result.Plan | None,
    osf: Osf | None,
    runtime_s: float,
) -> PlanAnswer:
    """Write a plan as the answer to a problem, with its explanation and its what-if."""
    slotted, bound = plan.slotted, asdict(plan.bound)
    return PlanAnswer.model_validate(
        {
            "runtime_s": runtime_s,
            "status": plan.status,
            "iteration_time_us": plan.iteration_time_us,
            "compute_time_us": plan.compute_time_us,
            "lower_bound_us": plan.lower_bound_us,
            "gap": plan.gap,
            "scaling_factor": plan.scaling_factor,
            "exposed_us": plan.exposed_us,
            "overlap": plan.overlap,
            "ideal_us": plan.ideal_us,
            "buckets": [asdict(bucket) for bucket in plan.buckets],
            "schedule": {
                "parts": [asdict(part) for part in plan.parts],
                "slot_us": slotted.slot_us if slotted else None,
                "slots": [asdict(run) for run in slotted.runs] if slotted else [],
                "slots_iteration_time_us": slotted.iteration_time_us if slotted else None,
            },
            "proof": asdict(plan.proof),
            "bound": bound,
            "fused_graph": None
            if is_large(problem.graph)
            else ops_json(problem.graph.name, plan.fused),
            "baselines": [
                {**asdict(baseline), "parameters": dict(baseline.parameters)}
                for baseline in plan.baselines
            ],
            **why,
            "what_if": _what_if(plan, other) if other else None,
            "osf": osf,
            "warnings": warnings_of(problem.request.cluster, launched(plan.buckets, plan.parts)),
            "request": {
                "cluster": problem.request.cluster,
                "options": problem.request.options,
                "what_if": problem.request.what_if,
                "graph_sha256": graph_sha256(problem.graph),
            },
            "version": VERSION,
        }
    )


def _what_if(plan: result.Plan, other: result.Plan) -> dict[str, Any]:
    return {
        "iteration_time_us": other.iteration_time_us,
        "compute_time_us": other.compute_time_us,
        "lower_bound_us": other.lower_bound_us,
        "scaling_factor": other.scaling_factor,
        "gain_us": plan.iteration_time_us - other.iteration_time_us,
    }
