"""The response bodies: a plan with its evidence. Unknown is null."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from app import VERSION
from app.problem import Problem, graph_json, graph_sha256
from app.requests import ClusterBody, GraphBody, OptionsBody
from solver import result
from solver.graph import build
from solver.traces import Report


class Body(BaseModel):
    """What every part of an answer has in common."""

    model_config = ConfigDict(frozen=True)


class Bucket(Body):
    """Tensors sent as one collective."""

    id: str
    tensors: list[str]
    bytes: int
    release_us: Annotated[float, Field(description="When its last tensor is ready [us].")]
    tail_us: Annotated[float, Field(description="Compute left after it, longest path [us].")]


class Part(Body):
    """A piece of a bucket between two preemptions: one launch."""

    bucket: str
    start_us: float
    end_us: float
    offset_bytes: int
    bytes: int


class SlotRun(Body):
    """Slots from `slot` on, `count` of them, that serve one bucket."""

    slot: int
    count: int
    bucket: str


class Schedule(Body):
    """When to send what: launches in continuous time, and per slot."""

    parts: list[Part]
    slot_us: float
    slots: list[SlotRun]
    slots_iteration_time_us: Annotated[
        float, Field(description="Value of the slotted schedule, start-up once a bucket [us].")
    ]


class Proof(Body):
    """Why these buckets cannot be faster than `ideal_us`: release + work + tail."""

    critical_buckets: list[str]
    release_us: float | None
    work_us: float | None
    tail_us: float | None


class Bound(Body):
    """Why no fusion, partition or order is faster than `lower_bound_us`."""

    kind: Annotated[
        Literal["compute", "chain", "packing", "nested"],
        Field(
            description="`compute`: the longest path of compute alone; `chain`: these tensors in "
            "release order, then the tail; `packing`: their bytes after the release, then the "
            "tail; `nested`: these tensors between their releases and their tails, from both ends."
        ),
    ]
    tensors: list[str]
    release_us: float | None
    tail_us: float | None


class Baseline(Body):
    """What a policy of today takes."""

    policy: str
    barrier: Annotated[bool, Field(description="Simulated with a barrier.")] = False
    parameters: Annotated[
        dict[str, int | float], Field(description="All parameters, as they were used.")
    ] = {}
    iteration_time_us: float
    speedup: Annotated[float | None, Field(description="Its time over the plan's.")]
    headroom: Annotated[
        float | None,
        Field(description="What any schedule could gain over it: time / lower bound - 1."),
    ] = None


class RequestOut(Body):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    options: OptionsBody
    graph_sha256: str


class Answer(Body):
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
        float | None, Field(description="Share of communication that compute hides, 0 to 1.")
    ]
    ideal_us: Annotated[
        float, Field(description="Exact optimum of these buckets, start-up once a bucket [us].")
    ]
    buckets: list[Bucket]
    schedule: Schedule
    proof: Proof
    bound: Bound
    fused_graph: Annotated[GraphBody, Field(description="Each bucket as one collective.")]
    baselines: list[Baseline]
    request: RequestOut
    version: str

    @classmethod
    def of(cls, problem: Problem, plan: result.Plan, runtime_s: float) -> Self:
        """Write a plan as the answer to a problem."""
        slotted, bound = plan.slotted, asdict(plan.bound)
        return cls.model_validate(
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
                    "slot_us": slotted.slot_us,
                    "slots": [asdict(run) for run in slotted.runs],
                    "slots_iteration_time_us": slotted.iteration_time_us,
                },
                "proof": asdict(plan.proof),
                "bound": bound,
                "fused_graph": graph_json(plan.fused_graph),
                "baselines": [
                    {**asdict(baseline), "parameters": dict(baseline.parameters)}
                    for baseline in plan.baselines
                ],
                "request": {
                    "cluster": problem.cluster,
                    "options": problem.options,
                    "graph_sha256": graph_sha256(problem.graph),
                },
                "version": VERSION,
            }
        )

    def to_plan(self) -> result.Plan:
        """Return the plan as the solver knows it."""
        return result.Plan(
            status=self.status,
            iteration_time_us=self.iteration_time_us,
            compute_time_us=self.compute_time_us,
            lower_bound_us=self.lower_bound_us,
            bound=result.Bound(
                kind=self.bound.kind,
                value_us=self.lower_bound_us,
                tensors=tuple(self.bound.tensors),
                release_us=self.bound.release_us,
                tail_us=self.bound.tail_us,
            ),
            gap=self.gap,
            scaling_factor=self.scaling_factor,
            exposed_us=self.exposed_us,
            overlap=self.overlap,
            ideal_us=self.ideal_us,
            proof=result.Proof(
                critical_buckets=tuple(self.proof.critical_buckets),
                release_us=self.proof.release_us,
                work_us=self.proof.work_us,
                tail_us=self.proof.tail_us,
            ),
            buckets=tuple(
                result.Bucket(b.id, tuple(b.tensors), b.bytes, b.release_us, b.tail_us)
                for b in self.buckets
            ),
            parts=tuple(
                result.Part(p.bucket, p.start_us, p.end_us, p.offset_bytes, p.bytes)
                for p in self.schedule.parts
            ),
            slotted=result.SlottedSchedule(
                slot_us=self.schedule.slot_us,
                runs=tuple(
                    result.SlotRun(run.slot, run.count, run.bucket) for run in self.schedule.slots
                ),
                iteration_time_us=self.schedule.slots_iteration_time_us,
            ),
            fused_graph=build(self.fused_graph.name, self.fused_graph.ops_of()),
            baselines=tuple(
                result.Baseline(
                    policy=b.policy,
                    barrier=b.barrier,
                    parameters=tuple(b.parameters.items()),
                    iteration_time_us=b.iteration_time_us,
                    speedup=b.speedup,
                    headroom=b.headroom,
                )
                for b in self.baselines
            ),
        )


class TraceAnswer(Answer):
    """A plan of a file of another tool, with what its reader dropped and assumed."""

    report: Report


class Job(Body):
    """The life of a plan on the server."""

    id: str
    state: Literal["succeeded"]
    created_at: datetime
    finished_at: datetime


class PlanOut(Answer, Job):
    """A stored plan."""


class PlanSummary(Job):
    """A stored plan in a list."""

    name: Annotated[str, Field(description="Name of the graph.")]
    status: Literal["optimal", "feasible"]
    iteration_time_us: float


class PlanList(Body):
    """Stored plans, the newest first."""

    plans: list[PlanSummary]
