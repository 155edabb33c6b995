"""The response bodies: a plan with its evidence. Unknown is null."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from app import VERSION
from app.body import Answered, ShownAs
from app.cluster import ClusterBody
from app.detail import is_large
from app.explained import Explained
from app.problem import Problem, graph_sha256, ops_json
from app.requests import GraphBody, OptionsBody, PlanRequest
from app.warned import Warned, launched, warnings_of
from app.what_if import ChangeBody
from solver.graph import ALL_REDUCE, NETWORK
from solver.planning import result
from solver.prediction.osf import Osf
from solver.traces import Report


class Bucket(Answered):
    """Tensors sent as one collective."""

    id: str
    tensors: list[str]
    bytes: int
    kind: Annotated[str, Field(description="Kind of collective.")] = ALL_REDUCE
    channel: Annotated[str, Field(description="What carries it.")] = NETWORK
    release_us: Annotated[float, Field(description="When its last tensor is ready [us].")]
    tail_us: Annotated[float, Field(description="Compute left after it, longest path [us].")]


class Part(Answered):
    """A piece of a bucket between two preemptions: one launch."""

    bucket: str
    start_us: float
    end_us: float
    offset_bytes: int
    bytes: int


class SlotRun(Answered):
    """Slots from `slot` on, `count` of them, that serve one bucket."""

    slot: int
    count: int
    bucket: str


class Schedule(Answered):
    """When to send what: launches in continuous time, and per slot."""

    parts: list[Part]
    slot_us: Annotated[
        float | None,
        Field(description="Length of a slot [us]; null where releases depend on the schedule."),
    ]
    slots: list[SlotRun]
    slots_iteration_time_us: Annotated[
        float | None,
        Field(description="Value of the slotted schedule, start-up once a bucket [us]."),
    ]


class Proof(Answered):
    """Why these buckets cannot be faster than `ideal_us`: release + work + tail."""

    critical_buckets: list[str]
    release_us: float | None
    work_us: float | None
    tail_us: float | None


class Bound(Answered):
    """Why no fusion, partition or order is faster than `lower_bound_us`."""

    kind: Annotated[
        Literal["compute", "path", "chain", "packing", "nested"],
        Field(
            description="`compute`: the longest path of compute alone; `path`: the longest path "
            "with these collectives at their least cost; `chain`: these tensors in "
            "release order, then the tail; `packing`: their bytes after the release, then the "
            "tail; `nested`: these tensors between their releases and their tails, from both ends."
        ),
    ]
    tensors: list[str]
    release_us: float | None
    tail_us: float | None


class Baseline(Answered):
    """What a policy of today takes."""

    policy: str
    barrier: Annotated[bool, Field(description="Simulated with a barrier.")] = False
    parameters: Annotated[
        dict[str, int | float], Field(description="All parameters, as they were used.")
    ] = Field(default={})
    iteration_time_us: Annotated[
        float | None,
        Field(description="Null where the policy is not defined: `pace` off its class."),
    ]
    speedup: Annotated[float | None, Field(description="Its time over the plan's.")]
    headroom: Annotated[
        float | None,
        Field(description="What any schedule could gain over it: time / lower bound - 1."),
    ] = None


class RequestOut(Answered):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    options: OptionsBody
    what_if: list[ChangeBody] = Field(default=[])
    graph_sha256: str


class WhatIf(Answered):
    """The changed graph, planned in the same way."""

    iteration_time_us: float
    compute_time_us: float
    lower_bound_us: float
    scaling_factor: float | None
    gain_us: Annotated[float, Field(description="How much less that is than without [us].")]


class Answer(Explained):
    """A plan with its evidence."""

    runtime_s: Annotated[float, Field(description="Time that planning took [s].")]
    status: Annotated[
        Literal["optimal", "feasible"],
        Field(description="`optimal`: the iteration time equals the lower bound."),
    ]
    iteration_time_us: Annotated[
        float, Field(description="Simulated time of the plan, start-up paid by each part [us].")
    ]
    compute_time_us: Annotated[float, Field(description="The same with free communication [us].")]
    lower_bound_us: Annotated[float, Field(description="Nothing is faster, proven [us].")]
    gap: Annotated[float | None, Field(description="Iteration time / lower bound - 1.")]
    scaling_factor: Annotated[float | None, Field(description="Compute time / iteration time.")]
    exposed_us: Annotated[float, Field(description="Iteration time - compute time [us].")]
    overlap: Annotated[
        float | None, Field(description="1 - exposed / time of all launches, 0 to 1.")
    ]
    ideal_us: Annotated[
        float | None,
        Field(
            description="Exact optimum of these buckets, start-up once a bucket [us]; null where "
            "releases depend on the schedule."
        ),
    ]
    buckets: list[Bucket]
    schedule: Schedule
    proof: Proof
    bound: Bound
    fused_graph: Annotated[
        Annotated[dict[str, Any], ShownAs(GraphBody)] | None,
        Field(description="Each bucket as one collective; null beyond 200,000 ops and edges."),
    ]
    baselines: list[Baseline]
    what_if: Annotated[WhatIf | None, Field(description="Null when no change was asked for.")] = (
        None
    )
    osf: Annotated[
        Osf | None,
        Field(description="What OSF predicts for each tensor alone; null where there is no chain."),
    ] = None
    warnings: Annotated[
        list[Warned], Field(description="What the answer rests on that was not measured.")
    ] = Field(default=[])
    request: RequestOut
    version: str


def plan_answer(
    problem: Problem[PlanRequest],
    plan: result.Plan,
    why: dict[str, Any],
    other: result.Plan | None,
    osf: Osf | None,
    runtime_s: float,
) -> Answer:
    """Write a plan as the answer to a problem, with its explanation and its what-if."""
    slotted, bound = plan.slotted, asdict(plan.bound)
    return Answer.model_validate(
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


class TraceAnswer(Answer):
    """A plan of a file of another tool, with what its reader dropped and assumed."""

    report: Report
