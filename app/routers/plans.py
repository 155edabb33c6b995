"""Plans: made, found, listed, drawn."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app import plans
from app.answers import PlanList, PlanOut
from app.apidoc import json_body, problems
from app.examples import TWO_LAYERS
from app.requests import PlanRequest
from app.routers.deps import ProblemDep, StoreDep

router = APIRouter(prefix="/v1/plans", tags=["plans"])
PlanId = Annotated[str, Path(description="Id of a plan.", examples=["0123456789abcdef"])]
Limit = Annotated[int, Query(ge=1, le=200, description="How many plans.")]


@router.post(
    "",
    status_code=201,
    summary="Plan one training iteration",
    response_description="The plan; `Location` says where it stays.",
    openapi_extra=json_body(PlanRequest, TWO_LAYERS),
    responses=problems(400, 413, 415, 422, 503),
)
def create_plan(problem: ProblemDep, store: StoreDep, response: Response) -> PlanOut:
    """Decide in which buckets and in which order to send the gradients, and prove how good it is.

    At most 200,000 ops, 3,000 collectives, 2,000,000 edges and 2^60 bytes of gradients. More
    requests ready to send are at `/v1/examples`.
    """
    plan = plans.create(store, problem)
    response.headers["Location"] = f"{router.prefix}/{plan.id}"
    return plan


@router.get("", summary="List plans, the newest first", responses=problems(422, 503))
def list_plans(store: StoreDep, limit: Limit = 20) -> PlanList:
    """Return the newest plans in brief."""
    return plans.newest(store, limit)


@router.get("/{plan_id}", summary="Find a plan", responses=problems(404, 503))
def get_plan(plan_id: PlanId, store: StoreDep) -> PlanOut:
    """Return the same body that answered the POST."""
    return plans.find(store, plan_id)


@router.get(
    "/{plan_id}/timeline.json",
    summary="Draw a plan as a Chrome trace",
    responses=problems(404, 503),
)
def get_timeline(plan_id: PlanId, store: StoreDep) -> dict[str, Any]:
    """Return compute, the channel under the plan and the channel under FIFO, for Perfetto."""
    return plans.timeline(store, plan_id)
