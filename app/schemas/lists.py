"""What lists tell, a row for each thing, and the life of a job, which its own body tells too.

Unknown is null. The server writes these itself: nothing of the solver is needed here.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from app.schemas.base import AnswerModel, is_unknown
from app.schemas.problem_details import FaultOut

#: What is proven of a plan, as by :func:`solver.bounds.status.status_of`.
Status = Literal["optimal", "within", "feasible"]


class Progress(AnswerModel):
    """How far a job is."""

    phase: Annotated[
        str | None, Field(description="What it is at; null until it says so.", examples=["search"])
    ]
    completed: Annotated[int | None, Field(description="How many of the phase's `total` are done.")]
    total: Annotated[int | None, Field(description="Null where that is not known.")]
    incumbent_us: Annotated[
        float | None, Field(description="Iteration time of the best plan so far [us].")
    ]
    lower_bound_us: Annotated[float | None, Field(description="Best bound so far [us].")]
    gap: Annotated[float | None, Field(description="Incumbent / bound - 1.")]
    incumbent: Annotated[
        str | None,
        Field(
            exclude_if=is_unknown,
            description="Of a ranking, the best shape so far; other jobs leave it out.",
        ),
    ] = None
    heartbeat_at: Annotated[
        datetime | None, Field(description="When it last showed that it is at work.")
    ]


class JobError(AnswerModel):
    """Why a job has no result: the problem that its POST answers with, if that still waits."""

    status: int
    code: Annotated[str, Field(examples=["time_limit"])]
    detail: str
    errors: list[FaultOut]


class JobOut(AnswerModel):
    """The life of a job."""

    id: Annotated[str, Field(examples=["0123456789abcdef"])]
    state: Annotated[
        Literal["queued", "running", "succeeded", "failed", "cancelled", "timed_out"],
        Field(
            description="`timed_out`: its time was over and nothing was in hand; a plan in hand "
            "makes it `succeeded`."
        ),
    ]
    created_at: datetime
    started_at: Annotated[datetime | None, Field(description="The last time that it began.")]
    finished_at: datetime | None
    tags: list[str]
    attempts: Annotated[
        int, Field(description="Times that it began, without those that a server's end ended.")
    ]
    progress: Progress | None
    error: JobError | None


class JobSummary(JobOut):
    """A job in a list."""

    name: Annotated[str, Field(description="Name of the graph; empty until it was read.")]


class PlanSummary(JobSummary):
    """A plan in a list."""

    status: Status | None
    iteration_time_us: float | None
    gap: Annotated[
        float | None,
        Field(description="Iteration time / lower bound - 1; null of plans of older releases too."),
    ]


class SimulationSummary(JobSummary):
    """A simulation in a list."""

    policy: Annotated[str | None, Field(description="Policy, or `plan` for an explicit plan.")]
    iteration_time_us: float | None


class SweepSummary(JobSummary):
    """A sweep in a list."""

    cells: Annotated[int | None, Field(description="How many cells it has.")]


class ParameterServerSummary(JobSummary):
    """A prediction in a list."""

    rows: Annotated[int | None, Field(description="How many rows it has.")]


class RankingSummary(JobSummary):
    """A ranking of shapes in a list."""

    shape: Annotated[str | None, Field(description="The best shape; null where none is given.")]
    iteration_time_us: Annotated[float | None, Field(description="Of its step, simulated [us].")]
    gap: Annotated[float | None, Field(description="Its step / lower bound - 1.")]


class ImportSummary(JobSummary):
    """An import in a list."""

    graph_id: str | None


class JobEntry(
    PlanSummary,
    SimulationSummary,
    SweepSummary,
    ParameterServerSummary,
    RankingSummary,
    ImportSummary,
):
    """A job of any kind in a list; what its kind does not tell is null."""

    kind: Literal["plan", "simulation", "sweep", "parameter_server", "ranking", "import"]


class JobPage(AnswerModel):
    """Jobs, the newest first."""

    next_cursor: Annotated[
        str | None, Field(description="`cursor` of the call for the jobs before these.")
    ]


class PlanList(JobPage):
    """Plans, the newest first."""

    plans: list[PlanSummary]


class SimulationList(JobPage):
    """Simulations, the newest first."""

    simulations: list[SimulationSummary]


class SweepList(JobPage):
    """Sweeps, the newest first."""

    sweeps: list[SweepSummary]


class ParameterServerList(JobPage):
    """Predictions of training through parameter servers, the newest first."""

    predictions: list[ParameterServerSummary]


class RankingList(JobPage):
    """Rankings of shapes, the newest first."""

    rankings: list[RankingSummary]


class ImportList(JobPage):
    """Imports, the newest first."""

    imports: list[ImportSummary]


class JobList(JobPage):
    """Jobs of all kinds, the newest first."""

    jobs: list[JobEntry]


class GraphSummary(AnswerModel):
    """A stored graph in a list."""

    id: str
    created_at: datetime
    name: str
    format: str
    ops: int


class GraphList(AnswerModel):
    """Stored graphs, the newest first."""

    graphs: list[GraphSummary]


class StoredCostModel(AnswerModel):
    """What a stored cost model is found by."""

    id: str
    created_at: datetime


class CostModelSummary(StoredCostModel):
    """A stored cost model in a list."""

    name: str
    algorithm: str


class CostModelList(AnswerModel):
    """Stored cost models, the newest first."""

    cost_models: list[CostModelSummary]
