"""Runs: training jobs that execute plans, as they are reported and told. Unknown is null."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from app.limits import (
    MAX_NAME_CHARACTERS,
    MAX_REPORTED_STEPS,
    MAX_RUN_ARMS,
    MAX_RUN_PLANS,
    MAX_STEP,
)
from app.schemas.base import PLAIN, AnswerModel, Name, RequestModel, ShownAs
from app.schemas.graphs import ClusterRequest, GraphBody
from app.schemas.schedules import PlanBody
from app.schemas.simulations import SimulationRequest
from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_DURATION_US, MIN_TIME_US

#: Why the first plan of a run was taken.
START = "start"


Text = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, pattern=PLAIN)]


StepTime = Annotated[float, Field(ge=MIN_TIME_US, le=MAX_DURATION_US)]


TimesFaster = Annotated[float, Field(ge=1e-6, le=1e6)]


StepNumber = Annotated[int, Field(ge=0, le=MAX_STEP)]


def _or_known(*fields: str) -> Any:
    """Say that fields may be left out, as the service knows what stands for them."""

    def leave_out(schema: dict[str, Any]) -> None:
        schema["required"] = [name for name in schema["required"] if name not in fields]

    return leave_out


class PlannedRequest(ClusterRequest):
    """A plan, and what it was made for."""

    graph: GraphBody
    plan: Annotated[
        PlanBody,
        Field(description="The answer of `POST /v1/plans`, or its `buckets` and `schedule` alone."),
    ]
    plan_id: Annotated[
        Name | None, Field(description="Instead of a plan: the id of one that the service made.")
    ] = None
    predicted_us: Annotated[
        StepTime | None,
        Field(description="What a step should take under it [us]; null: as it is simulated."),
    ] = None

    def own_faults(self) -> list[Fault]:
        """List what is wrong besides the graph and the cluster."""
        faults = super().own_faults()
        if self.plan_id is not None:
            detail = "Give a plan or the id of one, not both."
            faults.append(Fault("/plan_id", FaultCode.EXTRA_FIELD, detail))
        return faults


class RunRequest(PlannedRequest):
    """A training job that begins to execute a plan."""

    model_config = RequestModel.model_config | {"json_schema_extra": _or_known("graph", "plan")}

    name: Text = ""
    barrier: Annotated[
        bool, Field(description="The optimizer waits for all gradients before each step.")
    ] = False
    runtime: Annotated[
        Text,
        Field(description="What executes the plan.", examples=["PlannedDDP 0.1.0, PyTorch 2.13.0"]),
    ] = ""


class RunPlanRequest(PlannedRequest):
    """Another plan that a run takes over; graph and cluster are as before where left out."""

    model_config = RequestModel.model_config | {
        "json_schema_extra": _or_known("graph", "plan", "cluster")
    }

    from_step: Annotated[StepNumber, Field(description="The first step that it is executed in.")]
    why: Annotated[
        Name, Field(description="Why it is taken over.", examples=["drift", "better_plan"])
    ]


class RunStepBody(RequestModel):
    """One step of a run."""

    step: StepNumber
    measured_us: Annotated[StepTime, Field(description="What it took [us].")]
    predicted_us: Annotated[
        StepTime | None,
        Field(description="What it should have taken [us]; null: what its plan predicts."),
    ] = None
    plan: Annotated[int, Field(ge=0, le=MAX_RUN_PLANS - 1, description="Index of the plan in use.")]
    ready_spread_us: Annotated[
        Annotated[float, Field(ge=0, le=MAX_DURATION_US)] | None,
        Field(description="Between the first and the last worker that was ready [us]."),
    ] = None
    note: Annotated[Text | None, Field(description="What is worth knowing of it.")] = None


class StepsRequest(RequestModel):
    """Steps of a run, in ascending order."""

    steps: Annotated[list[RunStepBody], Field(min_length=1, max_length=MAX_REPORTED_STEPS)]

    def faults(self) -> Iterator[Fault]:
        """List the steps that are not in order."""
        for i, (before, each) in enumerate(pairwise(self.steps)):
            if each.step <= before.step:
                detail = f"Step {each.step:,} stands after step {before.step:,}; steps ascend."
                yield Fault(f"/steps/{i + 1}/step", FaultCode.OUT_OF_RANGE, detail)


class RunArmBody(RequestModel):
    """What made steps in a trial."""

    name: Annotated[Text, Field(description="In words.", examples=["The plan"])]
    is_plan: Annotated[bool, Field(description="It was a plan, not what the job ran without one.")]
    median_us: Annotated[StepTime, Field(description="Median of its measured steps [us].")]


class RunTrialBody(RequestModel):
    """A plan tried in the run's own steps, beside what the job ran without it."""

    before_step: Annotated[StepNumber, Field(description="The first step after it.")]
    arms: Annotated[list[RunArmBody], Field(min_length=2, max_length=MAX_RUN_ARMS)]
    kept: Annotated[int, Field(ge=0, lt=MAX_RUN_ARMS, description="Index of what goes on.")]
    promised: Annotated[
        TimesFaster | None,
        Field(description="Gain that was planned: the others' time over the plan's. Null: unknown"),
    ] = None
    gain: Annotated[TimesFaster, Field(description="The same as it was measured.")]
    gain_low: Annotated[TimesFaster, Field(description="Low end of its interval.")]
    gain_high: Annotated[TimesFaster, Field(description="High end of its interval.")]
    why: Annotated[Text, Field(description="Why that is kept, in a sentence.")] = ""

    def faults(self) -> Iterator[Fault]:
        """List what does not go together."""
        if self.kept >= len(self.arms):
            detail = f"Arm {self.kept} is kept, and there are {len(self.arms)}, from 0."
            yield Fault("/kept", FaultCode.OUT_OF_RANGE, detail)
        if not self.gain_low <= self.gain <= self.gain_high:
            detail = "gain must lie between gain_low and gain_high."
            yield Fault("/gain", FaultCode.OUT_OF_RANGE, detail)


class EndRequest(RequestModel):
    """The end of a run."""

    why: Annotated[Name, Field(examples=["finished", "failed"])] = "finished"


class RunState(AnswerModel):
    """The life of a run."""

    id: Annotated[str, Field(examples=["0123456789abcdef"])]
    name: str
    state: Literal["running", "ended"]
    created_at: datetime
    reported_at: Annotated[
        datetime,
        Field(description="When something was last heard of it; a job that died says no end."),
    ]
    ended_at: datetime | None
    ended_why: str | None
    workers: int
    barrier: bool
    runtime: str
    steps: Annotated[int, Field(description="How many steps were reported.")]
    last_step: Annotated[int | None, Field(description="The latest of them.")]


class RunSummary(RunState):
    """A run in a list."""

    plans: Annotated[int, Field(description="How many plans it has executed.")]


class RunList(AnswerModel):
    """Runs, the newest first."""

    runs: list[RunSummary]
    next_cursor: Annotated[
        str | None, Field(description="`cursor` of the call for the runs before these.")
    ]


class RunPlanSummary(AnswerModel):
    """A plan of a run."""

    index: Annotated[int, Field(description="Counts from 0; what steps call `plan`.")]
    from_step: Annotated[int, Field(description="The first step that it is executed in.")]
    created_at: datetime
    why: Annotated[str, Field(description="Why it was taken over; of the first one `start`.")]
    plan_id: Annotated[
        str | None, Field(description="Its id where it was named by that; it may be gone.")
    ]
    predicted_us: Annotated[float, Field(description="What a step should take under it [us].")]
    buckets: int
    launches: int


class RunPlanOut(RunPlanSummary):
    """A plan of a run, and what to simulate it with."""

    request: Annotated[
        Annotated[dict[str, Any], ShownAs(SimulationRequest)],
        Field(description="Graph, cluster, plan and barrier: `POST /v1/simulations` takes it."),
    ]


class RunArm(AnswerModel):
    """What made steps in a trial."""

    name: str
    is_plan: Annotated[bool, Field(description="It was a plan, not what the job ran without one.")]
    median_us: Annotated[float, Field(description="Median of its measured steps [us].")]


class RunTrial(AnswerModel):
    """A plan tried in the run's own steps, beside what the job ran without it."""

    before_step: Annotated[int, Field(description="The first step after it.")]
    created_at: datetime
    arms: list[RunArm]
    kept: Annotated[int, Field(description="Index of what went on.")]
    promised: Annotated[
        float | None,
        Field(description="Gain that was planned: the others' time over the plan's. Null: unknown"),
    ]
    gain: Annotated[float, Field(description="The same as it was measured.")]
    gain_low: Annotated[float, Field(description="Low end of its interval.")]
    gain_high: Annotated[float, Field(description="High end of its interval.")]
    why: Annotated[str, Field(description="Why that was kept, in a sentence.")]


class PredictionError(AnswerModel):
    """How far predictions were from what was measured: abs(predicted / measured - 1)."""

    median: float
    p95: Annotated[float, Field(description="95 % of the steps were no further off.")]


class RunPlanHistory(RunPlanSummary):
    """A plan of a run, and how its steps went."""

    steps: Annotated[int, Field(description="How many steps were reported under it.")]
    measured_us: Annotated[
        float | None, Field(description="Median of what they took [us]; null without steps.")
    ]
    error: Annotated[PredictionError | None, Field(description="Null without steps.")]


class RunStep(AnswerModel):
    """A step as it was reported."""

    step: int
    plan: int
    measured_us: float
    predicted_us: float
    ready_spread_us: float | None
    note: str | None


class RunOut(RunState):
    """A run: its plans, and predictions beside measurements."""

    plans: list[RunPlanHistory]
    trials: Annotated[list[RunTrial], Field(description="In the order of their steps.")]
    error: Annotated[PredictionError | None, Field(description="Of all steps; null without.")]
    every: Annotated[
        int,
        Field(
            description="`history` has every step that was reported when this is 1, every second "
            "one when it is 2, and so on; `/steps` has all of them."
        ),
    ]
    history: Annotated[list[RunStep], Field(description="In ascending order.")]


class RunStepList(AnswerModel):
    """Steps of a run, in ascending order."""

    steps: list[RunStep]
    next_cursor: Annotated[
        str | None, Field(description="`cursor` of the call for the steps after these.")
    ]


class StepsReceipt(AnswerModel):
    """What became of a report."""

    stored: Annotated[int, Field(description="Steps that were new.")]
    known: Annotated[int, Field(description="Steps that were reported alike before.")]
    steps: Annotated[int, Field(description="Steps that the run has now.")]
