"""Runs: begun, reported, found, listed, ended, deleted."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app.errors import NotFound
from app.http.bodies import ReportBodyDep, RunBodyDep, WordBodyDep
from app.http.dependencies import CursorDep, ListedDep, RoomDep, StoreDep
from app.http.openapi import answered, json_body, problems
from app.http.preferences import KeyDep
from app.http.work import AnswersDep, ReadersDep, WritersDep
from app.limits import MAX_REPORTED_STEPS
from app.schemas.base import OneOf
from app.services.examples import TWO_LAYERS
from app.storage.runs import life
from app.storage.runs.rows import STATES

router = APIRouter(prefix="/v1/runs", tags=["runs"])
RunId = Annotated[str, Path(description="Id of a run.", examples=["0123456789abcdef"])]
Index = Annotated[str, Path(description="Index of a plan, from 0.", examples=["0"])]
PLAN: dict[str, Any] = {
    "buckets": [{"id": "b0", "tensors": ["g2"]}, {"id": "b1", "tensors": ["g1"]}],
    "schedule": {
        "parts": [{"bucket": "b0", "bytes": 4_000_000}, {"bucket": "b1", "bytes": 1_000_000}]
    },
}
EXAMPLE: dict[str, Any] = {
    "name": "two layers, first try",
    "graph": TWO_LAYERS["graph"],
    "cluster": TWO_LAYERS["cluster"],
    "plan": PLAN,
    "runtime": "PlannedDDP 0.1.0, PyTorch 2.13.0",
}
STEPS_EXAMPLE: dict[str, Any] = {
    "steps": [
        {"step": 0, "measured_us": 9_120.5, "plan": 0, "note": "first step"},
        {"step": 1, "measured_us": 8_790.1, "plan": 0, "ready_spread_us": 35.2},
    ]
}
PLAN_EXAMPLE: dict[str, Any] = {
    "from_step": 200,
    "why": "drift",
    "cluster": {"workers": 8, "bandwidth_gbps": 5, "startup_us": 50},
    "plan": PLAN,
}


TRIAL_EXAMPLE: dict[str, Any] = {
    "before_step": 44,
    "arms": [
        {"name": "DistributedDataParallel", "is_plan": False, "median_us": 9_100.0},
        {"name": "The plan", "is_plan": True, "median_us": 8_790.0},
    ],
    "kept": 1,
    "promised": 1.05,
    "gain": 1.035,
    "gain_low": 1.02,
    "gain_high": 1.04,
    "why": "The plan is kept.",
}


@router.post(
    "",
    status_code=201,
    summary="Begin a run: a training job that executes a plan",
    response_description="The run; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.runs:RunRequest", EXAMPLE),
    responses={
        **answered("app.schemas.runs:RunOut", 201),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def create_run(
    _room: RoomDep, body: RunBodyDep, answers: AnswersDep, key: KeyDep = None
) -> Response:
    """Tell of a job, its graph, cluster and plan; its steps are reported as they are done."""
    return await answers.answer("app.calls.runs:begin", router.prefix, key, body=body)


@router.get(
    "",
    summary="List runs, the newest first",
    responses={**answered("app.schemas.runs:RunList"), **problems(422, 503)},
)
async def list_runs(
    readers: ReadersDep,
    limit: ListedDep = 20,
    cursor: CursorDep = None,
    state: Annotated[
        list[Annotated[str, OneOf(STATES)]],
        Query(description="In one of these states; may be repeated."),
    ] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Return runs in brief, a page at a time."""
    return await readers.answer("app.calls.runs:listed", limit, cursor, state)


@router.get(
    "/{run_id}",
    summary="Find a run",
    responses={**answered("app.schemas.runs:RunOut"), **problems(404, 503)},
)
async def get_run(run_id: RunId, readers: ReadersDep) -> Response:
    """Return its plans, how far predictions were off, and predicted beside measured by step."""
    return await readers.answer("app.calls.runs:found", run_id)


@router.delete("/{run_id}", status_code=204, summary="Delete a run", responses=problems(404, 503))
def delete_run(run_id: RunId, store: StoreDep) -> None:
    """Forget it with its plans and steps."""
    life.remove(store, run_id)


@router.post(
    "/{run_id}/steps",
    summary="Report steps of a run",
    response_description="How many of them were new.",
    openapi_extra=json_body("app.schemas.runs:StepsRequest", STEPS_EXAMPLE),
    responses={
        **answered("app.schemas.runs:StepsReceipt"),
        **problems(400, 404, 408, 409, 413, 415, 422, 503),
    },
)
async def report_steps(
    run_id: RunId, body: ReportBodyDep, readers: ReadersDep, writers: WritersDep
) -> Response:
    """Keep what steps took, in ascending order; gaps are allowed.

    A step that was reported alike before is stored once, so that a report may be sent again; with
    other figures it is refused, and so is all of the report.
    """
    children = readers if body.is_small else writers
    return await children.answer("app.calls.runs:report", run_id, body=body)


@router.get(
    "/{run_id}/steps",
    summary="List all steps of a run",
    responses={**answered("app.schemas.runs:RunStepList"), **problems(404, 422, 503)},
)
async def list_steps(
    run_id: RunId,
    readers: ReadersDep,
    limit: Annotated[
        int, Query(ge=1, le=MAX_REPORTED_STEPS, description="How many are listed.")
    ] = 1_000,
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,18}$", description="`next_cursor` of the page before."),
    ] = None,
) -> Response:
    """Return steps as they were reported, in ascending order, a page at a time."""
    return await readers.answer("app.calls.runs:listed_steps", run_id, limit, cursor)


@router.post(
    "/{run_id}/plans",
    status_code=201,
    summary="Report that a run takes over another plan",
    response_description="The plan in brief; `Location` says where all of it stays.",
    openapi_extra=json_body("app.schemas.runs:RunPlanRequest", PLAN_EXAMPLE),
    responses={
        **answered("app.schemas.runs:RunPlanSummary", 201),
        **problems(400, 404, 408, 409, 413, 415, 422, 503),
    },
)
async def report_plan(run_id: RunId, body: RunBodyDep, answers: AnswersDep) -> Response:
    """Tell of a plan that is executed from a step on, which no step reported so far has reached.

    Graph and cluster are those of the plan before where they are left out. The same again is stored
    once.
    """
    return await answers.answer("app.calls.runs:take_over", router.prefix, run_id, body=body)


@router.get(
    "/{run_id}/plans/{index}",
    summary="Find a plan of a run",
    responses={**answered("app.schemas.runs:RunPlanOut"), **problems(404, 503)},
)
async def get_plan(run_id: RunId, index: Index, readers: ReadersDep) -> Response:
    """Return a plan with the graph and the cluster that it was taken over for."""
    if not re.fullmatch("[0-9]{1,9}", index):
        raise NotFound("A plan of a run is named by its index: 0, 1, 2.")
    return await readers.answer("app.calls.runs:plan", run_id, int(index))


@router.post(
    "/{run_id}/trials",
    status_code=201,
    summary="Report what a trial of a plan came to",
    response_description="The trial.",
    openapi_extra=json_body("app.schemas.runs:RunTrialBody", TRIAL_EXAMPLE),
    responses={
        **answered("app.schemas.runs:RunTrial", 201),
        **problems(400, 404, 408, 409, 413, 415, 422, 503),
    },
)
async def report_trial(run_id: RunId, body: WordBodyDep, readers: ReadersDep) -> Response:
    """Tell what was promised of a plan, what was measured, and what goes on.

    The same again is stored once.
    """
    return await readers.answer("app.calls.runs:tried", run_id, body=body)


@router.post(
    "/{run_id}/end",
    summary="End a run",
    response_description="The run.",
    openapi_extra=json_body("app.schemas.runs:EndRequest", {"why": "finished"}),
    responses={
        **answered("app.schemas.runs:RunOut"),
        **problems(400, 404, 408, 413, 415, 422, 503),
    },
)
async def end_run(run_id: RunId, body: WordBodyDep, readers: ReadersDep) -> Response:
    """Tell that the job is over; a run that has ended stays as it is."""
    return await readers.answer("app.calls.runs:end", run_id, body=body)
