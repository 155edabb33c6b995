"""Shapes of a job: ranked while the client waits."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import PlainBodyDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep

router = APIRouter(prefix="/v1/shapes", tags=["shapes"])
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
    best. Measured steps replace what is assumed of the machine, and give intervals.
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
