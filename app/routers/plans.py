"""Plans: made, found, listed, drawn."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Response

from app import exports, plans
from app.answers import PlanList, PlanOut
from app.apidoc import json_body, problems
from app.body import OneOf
from app.door import problem_of, read_body
from app.examples import TWO_LAYERS
from app.export_answer import ExportOut
from app.faults import MAX_NAME
from app.library import library_of
from app.requests import PlanRequest
from app.routers.deps import BodyDep, ListedDep, SolvesDep, StoreDep
from app.storage import PlanRow
from solver.exports import EXPORTS

router = APIRouter(prefix="/v1/plans", tags=["plans"])
PlanId = Annotated[str, Path(description="Id of a plan.", examples=["0123456789abcdef"])]
Format = Annotated[
    Annotated[str, OneOf(tuple(EXPORTS))], Query(description="What the plan is written for.")
]


@router.post(
    "",
    status_code=201,
    response_model=PlanOut,
    summary="Plan one training iteration",
    response_description="The plan; `Location` says where it stays.",
    openapi_extra=json_body(PlanRequest, TWO_LAYERS),
    responses=problems(400, 413, 415, 422, 503),
)
async def create_plan(body: BodyDep, store: StoreDep, turns: SolvesDep) -> Response:
    """Decide in which buckets and in which order to send the gradients, and prove how good it is.

    The limits are at `/v1/limits`. JSON in UTF-8, with or without a byte order mark. As many plans
    are solved at once as there are processors; further requests wait their turn. More requests
    ready to send are at `/v1/examples`.
    """

    def answer() -> Response:
        found = read_body(body, PlanRequest, library_of(store))
        stored = plans.create(store, problem_of(found))
        location = {"Location": f"{router.prefix}/{stored.job['id']}"}
        return Response(stored.to_json(), 201, location, "application/json")

    return await to_thread.run_sync(answer, limiter=turns)


@router.get("", summary="List plans, the newest first", responses=problems(422, 503))
def list_plans(store: StoreDep, limit: ListedDep = 20) -> PlanList:
    """Return the newest plans in brief."""
    return plans.newest(store, limit)


@router.get(
    "/{plan_id}", response_model=PlanOut, summary="Find a plan", responses=problems(404, 503)
)
def get_plan(plan_id: PlanId, store: StoreDep) -> Response:
    """Return the same body that answered the POST."""
    return Response(store.get(PlanRow, plan_id).to_json(), media_type="application/json")


@router.get(
    "/{plan_id}/timeline.json",
    summary="Draw a plan as a Chrome trace",
    responses=problems(404, 503),
)
def get_timeline(plan_id: PlanId, store: StoreDep) -> dict[str, Any]:
    """Return compute, the channel under the plan and the channel under FIFO, for Perfetto."""
    return plans.timeline(store, plan_id)


@router.get(
    "/{plan_id}/export",
    response_model=ExportOut,
    summary="A plan as files of another tool",
    responses=problems(404, 422, 503),
)
def get_export(
    plan_id: PlanId,
    store: StoreDep,
    format: Format,  # noqa: A002 - the name on the wire
    file: Annotated[
        str | None, Query(max_length=MAX_NAME, description="One of the files, as it is.")
    ] = None,
) -> Response:
    """Return the files, what of the plan that tool cannot express, and what that costs."""
    found = exports.export_of(store, plan_id, format)
    if file is not None:
        return Response(exports.file_of(found, file), media_type="application/octet-stream")
    text = exports.answer_of(found).model_dump_json()
    return Response(text, media_type="application/json")
