"""Plans: the request body of ``POST /v1/plans``, and the answer with its evidence.

Unknown is null.
"""

from typing import Annotated, Any, Self

from pydantic import Field

from app.schemas.base import AnswerModel, OneOf, ShownAs, is_unknown
from app.schemas.believed import Believed, BelievingRequest
from app.schemas.changes import ChangeBody, Changes
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning, ExplainedAnswer
from app.schemas.graphs import GraphBody
from app.schemas.lists import Status
from app.schemas.plan_options import OptionsBody
from app.schemas.policies import PAIRS
from app.schemas.programs import (
    FrontPoint,
    LaunchReasons,
    Memory,
    PeakBytes,
    ProgramPathTimes,
    Recomputed,
)
from app.schemas.schedules import BucketOut, Schedule
from solver.bounds.kinds import BOUND_KINDS, kind_sentences
from solver.evidence.brief import Brief
from solver.evidence.doubts import DoubtedGain
from solver.evidence.evidence import Evidence
from solver.evidence.headline import Headline
from solver.evidence.robustness import Robustness
from solver.planning.result import Proof
from solver.prediction.osf import Osf
from solver.programs.explicit import ProgramStep
from solver.traces import Report
from solver.watchdog import WALL

#: A robust plan takes so many times the time limit, about: of the plans that it is chosen from.
_ROBUST = 3


class PlanRequest(BelievingRequest):
    """A training iteration, the cluster it runs on, and how to plan it."""

    graph: GraphBody
    options: OptionsBody = OptionsBody()
    what_if: Changes = Field(default=[])

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return self.options.barrier

    @property
    def asked_s(self) -> float:
        """The time that its job asks for [s]: until the watchdogs of all its searches end them."""
        plans = len(self.options.memory_limits_bytes or [0]) + bool(self.what_if)
        times = 1 if self.options.robust is None else _ROBUST
        return WALL * (self.options.time_limit_s * plans * times + 2 * self.options.prove_s)

    @property
    def asks_for_program(self) -> bool:
        """Whether a program is planned, whatever the graph is."""
        return bool(self.options.of_programs())


class BoundOut(AnswerModel):
    """Why no fusion, partition or order is faster than `lower_bound_us`.

    Notes
    -----
    The solver's has its value, too.
    """

    kind: Annotated[
        str,
        OneOf(tuple(BOUND_KINDS)),
        Field(
            description="What attains it (`tensors`: of a program ops): "
            + "; ".join(f"`{kind}`: {why}" for kind, why in kind_sentences())
            + "."
        ),
    ]
    tensors: list[str]
    release_us: float | None
    tail_us: float | None


class BaselineOut(AnswerModel):
    """What a policy of today takes.

    Notes
    -----
    Parameters are pairs in the solver's, an object here.
    """

    policy: str
    barrier: Annotated[bool, Field(description="Simulated with a barrier.")] = False
    parameters: Annotated[
        dict[str, bool | int | float],
        PAIRS,
        Field(description="All parameters, as they were used."),
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
    peak_bytes: Annotated[
        int | None, Field(exclude_if=is_unknown, description="Of a program: its most memory.")
    ] = None


class PlanRequestOut(AnswerModel):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    believed: Believed = None
    options: OptionsBody
    what_if: list[ChangeBody] = Field(default=[])
    graph_sha256: str


class WhatIf(AnswerModel):
    """The changed graph, planned in the same way."""

    iteration_time_us: float
    compute_time_us: float
    lower_bound_us: float
    scaling_factor: float | None
    gain_us: Annotated[float, Field(description="How much less that is than without [us].")]
    peak_bytes: Annotated[
        int | None, Field(exclude_if=is_unknown, description="Of a program: its most memory.")
    ] = None


class PlanAnswer(ExplainedAnswer):
    """A plan with its evidence."""

    brief: Annotated[
        Brief | None,
        Field(
            description="The verdict with its figures, what limits the plan, and what to do next: "
            "what to show first. Null in drafts and beyond 200,000 ops and edges.",
        ),
    ] = None
    headline: Annotated[
        Headline | None,
        Field(
            description="What plans with PyTorch's barrier and without gain over what you run; "
            "null in drafts and beyond 200,000 ops and edges."
        ),
    ] = None
    runtime_s: Annotated[float, Field(description="Time that planning took [s].")]
    status: Annotated[
        Status,
        Field(
            description="`optimal`: the iteration time equals the lower bound; `within`: the best "
            "time found does, and the plan takes at most `launch_tolerance` longer."
        ),
    ]
    iteration_time_us: Annotated[
        float, Field(description="Simulated time of the plan, start-up paid by each part [us].")
    ]
    best_time_us: Annotated[
        float | None,
        Field(
            description="The best time found [us]; the plan takes at most `launch_tolerance` "
            "longer, for fewer launches. Null in plans of older releases."
        ),
    ] = None
    compute_time_us: Annotated[float, Field(description="The same with free communication [us].")]
    lower_bound_us: Annotated[float, Field(description="Nothing is faster, proven [us].")]
    gap: Annotated[
        float | None,
        Field(
            description="Iteration time / lower bound - 1: the most that any plan could gain. Of a "
            "`feasible` plan that may be nothing, for the bound may be too low; of one `within` "
            "it is the price of few launches."
        ),
    ]
    scaling_factor: Annotated[float | None, Field(description="Compute time / iteration time.")]
    exposed_us: Annotated[float, Field(description="Iteration time - compute time [us].")]
    overlap: Annotated[
        float | None, Field(description="1 - exposed / time of all launches, 0 to 1.")
    ]
    ideal_us: Annotated[
        float | None,
        Field(
            description="Exact optimum of these buckets, start-up once a bucket [us]; null where "
            "releases depend on the schedule, as where compute is slowed down or channels share a "
            "card."
        ),
    ]
    buckets: list[BucketOut]
    schedule: Schedule
    proof: Proof
    bound: BoundOut
    fused_graph: Annotated[
        Annotated[dict[str, Any], ShownAs(GraphBody)] | None,
        Field(description="Each bucket as one collective; null beyond 200,000 ops and edges."),
    ]
    baselines: list[BaselineOut]
    what_if: Annotated[WhatIf | None, Field(description="Null when no change was asked for.")] = (
        None
    )
    off_calibration: Annotated[
        list[DoubtedGain] | None,
        Field(
            description="What the plan as it is gains over the first of what you run, if "
            "the calibration is off: in each row another figure. Null in drafts, and beyond "
            "200,000 ops and edges."
        ),
    ] = None
    robust: Annotated[
        Robustness | None,
        Field(
            exclude_if=is_unknown,
            description="Of a plan that was chosen by draws of the costs: what it, the plan "
            "without them and each policy take under the same draws; beside a program each that "
            "keeps its limit of memory.",
        ),
    ] = None
    osf: Annotated[
        Osf | None,
        Field(description="What OSF predicts for each tensor alone; null where there is no chain."),
    ] = None
    program: Annotated[
        list[ProgramStep] | None,
        Field(
            exclude_if=is_unknown,
            description="What one rank's host asks for, in order; left out where no program is "
            "planned, as are the next three.",
        ),
    ] = None
    peak_bytes: PeakBytes = None
    memory: Memory = None
    path_times: ProgramPathTimes = None
    launch_reasons: LaunchReasons = None
    recomputed: Recomputed = None
    front: Annotated[
        list[FrontPoint] | None,
        Field(exclude_if=is_unknown, description="A plan for each of several limits of memory."),
    ] = None
    evidence: Annotated[
        Evidence, Field(description="What was measured, and below which gain nothing follows.")
    ]
    warnings: Annotated[
        list[CostWarning], Field(description="What the answer rests on that was not measured.")
    ] = Field(default=[])
    request: PlanRequestOut
    version: str


class TraceAnswer(PlanAnswer):
    """A plan of a file of another tool, with what its reader dropped and assumed."""

    report: Report

    @classmethod
    def on(cls, answer: PlanAnswer, report: Report) -> Self:
        """Add the report to the plan of its graph."""
        return cls(**dict(answer), report=report)
