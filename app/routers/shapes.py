"""Shapes of a job: ranked while the client waits, or by a job."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import PlainBodyDep
from app.http.dependencies import SubmitterDep
from app.http.openapi import accepted, answered, json_body, problems
from app.http.work import AnswersDep
from app.jobs.kinds import KINDS, RANKING
from app.routers.jobs import add_routes, submit
from app.schemas.lists import RankingList, RankingSummary

router = APIRouter(prefix="/v1/shapes", tags=["shapes"])
rankings = APIRouter(prefix=KINDS[RANKING].prefix, tags=["shapes"])
EXAMPLE: dict[str, Any] = {
    "model": "llama3-8b",
    "gpu": "h100",
    "gpus": 16,
    "levels": [
        {"name": "node", "gpus": 8, "bandwidth_gbps": 3600},
        {"name": "network", "gpus": 16, "bandwidth_gbps": 400},
    ],
    "global_batch": 64,
    "micro_batch": [1, 2],
    "price_per_gpu_hour": 2,
    "count": 3,
}


@router.post(
    "",
    summary="Rank the shapes of a job",
    response_description="The best shapes, the front of time and memory, and what is proven.",
    openapi_extra=json_body("app.schemas.shapes:ShapeRequest", EXAMPLE),
    responses={
        **answered("app.schemas.shapes:ShapeAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def rank_shapes(body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Say which parallelism is fastest for a model on a cluster, and whether none is faster.

    Every split that divides the model and fits in memory is simulated, or has a bound above the
    best. Measured steps replace what is assumed of the machine, and give intervals. Of a large
    space `POST /v1/shapes/rankings` tells meanwhile how far it is.
    """
    return await answers.answer("app.calls.shapes:ranking", body=body)


@router.post(
    "/timeline",
    summary="Draw a step of one shape",
    response_description="A Chrome trace, which Perfetto opens.",
    response_model=dict[str, Any],
    openapi_extra=json_body("app.schemas.shapes:ShapeTimelineRequest", EXAMPLE),
    responses=problems(400, 408, 413, 415, 422, 503),
)
async def draw_shape(body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Lay out the passes, messages and sums of gradients of one pipeline of a shape's ranks.

    The request is that of the ranking, and `shape` a row's; without it the best is drawn.
    """
    return await answers.answer("app.calls.shapes:timeline", body=body)


@rankings.post(
    "",
    status_code=201,
    summary="Rank the shapes of a job, as a job of its own",
    response_description="The ranking; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.shapes:ShapeRequest", EXAMPLE),
    responses={
        **answered("app.schemas.jobs:RankingOut", 201),
        **accepted("app.schemas.jobs:RankingOut"),
        **problems(400, 408, 413, 415, 422, 500, 503),
    },
)
async def create_ranking(body: PlainBodyDep, by: SubmitterDep) -> Response:
    """Rank as `POST /v1/shapes` does, by a job that tells how far it is.

    `progress` has the phase (`bounds`, `simulation`, `plans`), the best shape so far with its step,
    and from `simulation` on what no shape beats. One that is cancelled keeps what was ranked by
    then, and what is proven of it.
    """
    return await submit(RANKING, body, by)


add_routes(rankings, RANKING, "app.schemas.jobs:RankingOut", RankingSummary, RankingList)
