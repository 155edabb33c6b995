"""The bodies that tell of jobs. Unknown is null; so is an answer that there is none of yet."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from app.schemas.base import AnswerModel
from app.schemas.imports import ImportAnswer
from app.schemas.parameter_servers import ParameterServerAnswer
from app.schemas.plans import PlanAnswer
from app.schemas.problem_details import FaultOut
from app.schemas.simulations import SimulationAnswer
from app.schemas.sweeps import SweepAnswer


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


def _with_job(name: str, answer: type[AnswerModel], doc: str) -> type[BaseModel]:
    """Make the body of a job: the fields of its answer, each null until there is one."""
    fields: dict[str, Any] = {}
    for field, info in answer.model_fields.items():
        known: Any = info.annotation
        for extra in info.metadata:
            known = Annotated[known, extra]
        about = Field(description=info.description, exclude_if=info.exclude_if)
        fields[field] = (known | None, about)
    return create_model(name, __base__=JobOut, __doc__=doc, __module__=__name__, **fields)


PlanOut = _with_job("PlanOut", PlanAnswer, "A plan, and the job that makes it.")


SimulationOut = _with_job(
    "SimulationOut", SimulationAnswer, "A simulation, and the job that makes it."
)


SweepOut = _with_job("SweepOut", SweepAnswer, "A sweep, and the job that makes it.")


ParameterServerOut = _with_job(
    "ParameterServerOut",
    ParameterServerAnswer,
    "A prediction of training through parameter servers, and the job that makes it.",
)


ImportOut = _with_job("ImportOut", ImportAnswer, "The job that reads files as a graph.")


class JobSummary(JobOut):
    """A job in a list."""

    name: Annotated[str, Field(description="Name of the graph; empty until it was read.")]


class PlanSummary(JobSummary):
    """A plan in a list."""

    status: Literal["optimal", "feasible"] | None
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


class ImportSummary(JobSummary):
    """An import in a list."""

    graph_id: str | None


class JobEntry(PlanSummary, SimulationSummary, SweepSummary, ParameterServerSummary, ImportSummary):
    """A job of any kind in a list; what its kind does not tell is null."""

    kind: Literal["plan", "simulation", "sweep", "parameter_server", "import"]


class Page(AnswerModel):
    """Jobs, the newest first."""

    next_cursor: Annotated[
        str | None, Field(description="`cursor` of the call for the jobs before these.")
    ]


class PlanList(Page):
    """Plans, the newest first."""

    plans: list[PlanSummary]


class SimulationList(Page):
    """Simulations, the newest first."""

    simulations: list[SimulationSummary]


class SweepList(Page):
    """Sweeps, the newest first."""

    sweeps: list[SweepSummary]


class ParameterServerList(Page):
    """Predictions of training through parameter servers, the newest first."""

    predictions: list[ParameterServerSummary]


class ImportList(Page):
    """Imports, the newest first."""

    imports: list[ImportSummary]


class JobList(Page):
    """Jobs of all kinds, the newest first."""

    jobs: list[JobEntry]
