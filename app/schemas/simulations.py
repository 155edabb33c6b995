"""Simulations: the request body of ``POST /v1/simulations``, and the answer. Unknown is null."""

from typing import Annotated, ClassVar

from pydantic import Field

from app.limits import MAX_BASELINES, MAX_BINS, MAX_SEED, MAX_SIMULATED_COLLECTIVES
from app.schemas.base import AnswerModel, RequestModel, is_unknown
from app.schemas.believed import Believed, BelievingRequest
from app.schemas.changes import ChangeBody, Changes
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning, ExplainedAnswer
from app.schemas.graphs import GraphBody
from app.schemas.plan_options import PlanPolicyBody
from app.schemas.policies import PAIRS, PolicyBody
from app.schemas.program_options import SimulatedOptions, is_empty
from app.schemas.programs import (
    LaunchReasons,
    Memory,
    PeakBytes,
    ProgramPathTimes,
)
from app.schemas.schedules import BucketOut, Launches, PlanBody
from solver.codes import FaultCode
from solver.errors import Fault
from solver.evidence.evidence import Evidence
from solver.explanation.usage import Usage
from solver.limits import MAX_JITTER_RUNS, MAX_JITTER_SPREAD
from solver.policies.choice import Choice
from solver.programs.explicit import ProgramStep
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.simulation.jitter import Jitter


class JitterBody(RequestModel):
    """Many iterations in which each op takes more or less than it should."""

    spread: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_JITTER_SPREAD,
            description="Standard deviation of each op's factor, log-normal with mean 1.",
        ),
    ]
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, description="Seed of the factors.")] = 0
    runs: Annotated[int, Field(ge=1, le=MAX_JITTER_RUNS, description="How many iterations.")] = 100
    rivals: Annotated[
        list[PolicyBody],
        Field(
            max_length=MAX_BASELINES,
            description="Policies that run through the same iterations: how often would they win?",
        ),
    ] = Field(default=["wfbp"], validate_default=True)


class SimulationRequest(BelievingRequest):
    """A training iteration on a cluster, under a policy or an explicit plan."""

    most_collectives: ClassVar[int] = MAX_SIMULATED_COLLECTIVES

    graph: GraphBody
    policy: Annotated[
        PlanPolicyBody | None,
        Field(
            description="The policy to simulate: its name, or an object with its parameters; one "
            "that makes programs where the graph is for a program."
        ),
    ] = None
    plan: Annotated[
        PlanBody | None, Field(description="Instead of a policy: what to launch, in order.")
    ] = None
    barrier: Annotated[
        bool,
        Field(description="The next forward pass waits for all last collectives, as in PyTorch."),
    ] = False
    bins: Annotated[
        int, Field(ge=1, le=MAX_BINS, description="Bins over the iteration for bandwidth use.")
    ] = 100
    jitter: Annotated[
        JitterBody | None, Field(description="How the time spreads when ops do not keep theirs.")
    ] = None
    what_if: Changes = Field(default=[])
    options: Annotated[SimulatedOptions, Field(description="Of a program, else left out.")] = (
        SimulatedOptions()
    )

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return self.barrier

    @property
    def asks_for_program(self) -> bool:
        """Whether a program is simulated, whatever the graph is."""
        is_rule = self.policy is not None and self.policy.policy in PROGRAM_POLICIES
        is_given = self.plan is not None and self.plan.program is not None
        return is_rule or is_given or not is_empty(self.options)

    def source_faults(self) -> list[Fault]:
        """Say that there is nothing to simulate, or two things."""
        if self.policy is None and self.plan is None:
            detail = "Give a policy or a plan to simulate."
            return [Fault("/policy", FaultCode.MISSING_FIELD, detail)]
        if self.policy is not None and self.plan is not None:
            return [Fault("/plan", FaultCode.EXTRA_FIELD, "Give a policy or a plan, not both.")]
        return []

    def to_choice(self) -> Choice | None:
        """Return the policy as the solver knows it; None for an explicit plan."""
        return self.policy.to_choice() if self.policy else None


class SimulatedPolicy(AnswerModel):
    """The policy, with each parameter as it was used.

    Notes
    -----
    The solver's choice has the barrier, too, and pairs for parameters.
    """

    policy: str
    parameters: Annotated[dict[str, bool | int | float], PAIRS]


class SimulatedWhatIf(AnswerModel):
    """The changed graph under the same policy, or the plan carried over to it."""

    iteration_time_us: float
    compute_time_us: float
    scaling_factor: float | None
    gain_us: Annotated[float, Field(description="How much less that is than without [us].")]
    peak_bytes: Annotated[
        int | None, Field(exclude_if=is_unknown, description="Of a program: its most memory.")
    ] = None


class SimulationRequestOut(AnswerModel):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    believed: Believed = None
    barrier: bool
    bins: int
    jitter: JitterBody | None
    what_if: list[ChangeBody]
    options: Annotated[SimulatedOptions, Field(exclude_if=is_empty)] = SimulatedOptions()
    graph_sha256: str


class SimulationAnswer(ExplainedAnswer):
    """One simulated iteration."""

    runtime_s: Annotated[float, Field(description="Time that simulating took [s].")]
    policy: Annotated[
        SimulatedPolicy | None, Field(description="Null when an explicit plan was simulated.")
    ]
    iteration_time_us: float
    compute_time_us: Annotated[float, Field(description="The same with free communication [us].")]
    scaling_factor: Annotated[float | None, Field(description="Compute time / iteration time.")]
    exposed_us: Annotated[float, Field(description="Iteration time - compute time [us].")]
    overlap: Annotated[
        float | None, Field(description="1 - exposed / time of all launches, 0 to 1.")
    ]
    buckets: list[BucketOut]
    schedule: Annotated[
        Launches, Field(description="The launches; with `buckets` an explicit plan again.")
    ]
    channels: Annotated[
        list[Usage], Field(description="Use of each channel: in all, and over time in equal bins.")
    ]
    jitter: Annotated[
        Jitter | None,
        Field(
            description="Times when ops do not keep theirs; a plan keeps its order. Null when none "
            "was asked for."
        ),
    ]
    what_if: Annotated[
        SimulatedWhatIf | None, Field(description="Null when no change was asked for.")
    ]
    program: Annotated[
        list[ProgramStep] | None,
        Field(
            exclude_if=is_unknown,
            description="Of a program: what one rank's host asks for, in order; left out else, as "
            "are the next four.",
        ),
    ] = None
    peak_bytes: PeakBytes = None
    memory: Memory = None
    path_times: ProgramPathTimes = None
    launch_reasons: LaunchReasons = None
    evidence: Annotated[
        Evidence | None,
        Field(
            description="What was measured, and below which gain nothing follows. Null in answers "
            "of earlier versions."
        ),
    ] = None
    warnings: Annotated[
        list[CostWarning], Field(description="What the answer rests on that was not measured.")
    ] = Field(default=[])
    request: SimulationRequestOut
    version: str
