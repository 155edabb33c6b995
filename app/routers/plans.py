"""Plans: made, found, listed, drawn."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app.http.bodies import BodyDep
from app.http.dependencies import SubmitterDep
from app.http.openapi import accepted, answered, json_body, problems
from app.http.work import AnswersDep
from app.jobs.kinds import PLAN
from app.names import FIFO, RIVALS
from app.routers.exports import FileName, Format
from app.routers.jobs import add_routes, submit
from app.schemas.base import OneOf
from app.schemas.lists import PlanList, PlanSummary
from app.services.examples import TWO_LAYERS

router = APIRouter(prefix="/v1/plans", tags=["plans"])
PlanId = Annotated[str, Path(description="Id of a plan.", examples=["0123456789abcdef"])]

Beside = Annotated[
    Annotated[str, OneOf(RIVALS)] | None,
    Query(
        description="What is drawn beside the plan: a policy, with the parameters of its first "
        f"baseline or else its defaults, or `{FIFO}`, the graph's own collectives in the order of "
        "their release; left out, what you run, the first of the headline. Beside a program a rule "
        "that makes one; left out, the compiler's.",
    ),
]


@router.post(
    "",
    status_code=201,
    summary="Plan one training iteration",
    response_description="The plan; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.plans:PlanRequest", TWO_LAYERS),
    responses={
        **answered("app.schemas.jobs:PlanOut", 201),
        **accepted("app.schemas.jobs:PlanOut"),
        **problems(400, 408, 413, 415, 422, 500, 503),
    },
)
async def create_plan(body: BodyDep, by: SubmitterDep) -> Response:
    """Decide in which buckets and in which order to send the gradients, and prove how good it is.

    The limits are at `/v1/limits`. JSON in UTF-8, with or without a byte order mark. As many plans
    are made at once as there are processors; others are queued. What takes longer than the wait is
    answered with 202. More requests ready to send are at `/v1/examples`.
    """
    return await submit(PLAN, body, by)


add_routes(router, PLAN, "app.schemas.jobs:PlanOut", PlanSummary, PlanList)


@router.get(
    "/{plan_id}/timeline.json",
    response_model=dict[str, Any],
    summary="Draw a plan as a Chrome trace",
    responses=problems(404, 409, 422, 503),
)
async def get_timeline(plan_id: PlanId, answers: AnswersDep, beside: Beside = None) -> Response:
    """Return compute and channels under the plan, and under another policy, for Perfetto."""
    return await answers.answer("app.calls.drawings:plan_timeline", plan_id, beside)


@router.get(
    "/{plan_id}/certificate.json",
    response_model=dict[str, Any],
    summary="The proof of a plan as a file to check",
    responses=problems(404, 409, 422, 503),
)
async def get_certificate(plan_id: PlanId, answers: AnswersDep) -> Response:
    """Return the lines from which the bound follows, or why there are no such lines.

    `python -m interlace_check request.json plan.json certificate.json` checks them, with
    `/v1/plans/{id}/request` and the plan: it shares no code with the planner.
    """
    return await answers.answer("app.calls.drawings:plan_certificate", plan_id)


@router.get(
    "/{plan_id}/page.html",
    response_class=Response,
    summary="The page of a plan as one file",
    responses={
        200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "The file."},
        **problems(404, 409, 422, 503),
    },
)
async def get_page(plan_id: PlanId, answers: AnswersDep) -> Response:
    """Return HTML that shows the plan wherever it is opened, and asks no server: for a ticket."""
    return await answers.answer("app.pages.stored:plan_page", plan_id)


@router.get(
    "/{plan_id}/export",
    summary="A plan as files of another tool",
    responses={**answered("app.schemas.exports:ExportOut"), **problems(404, 409, 422, 503)},
)
async def get_export(
    plan_id: PlanId,
    answers: AnswersDep,
    format: Format,  # noqa: A002 - the name on the wire
    file: FileName = None,
) -> Response:
    """Return the files, what of the plan that tool cannot express, and what that costs."""
    return await answers.answer("app.calls.drawings:export", PLAN, plan_id, format, file)
