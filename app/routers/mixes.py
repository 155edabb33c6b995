"""Jobs beside one another: planned together while the client waits."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import PlainBodyDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep

router = APIRouter(prefix="/v1/mixes", tags=["mixes"])
EXAMPLE: dict[str, Any] = {
    "links": {"uplink": {"capacity_gbps": 10}},
    "jobs": [
        {
            "name": "one",
            "phases": [{"compute_us": 250000, "bytes": 350000000, "links": ["uplink"]}],
        },
        {
            "name": "two",
            "phases": [{"compute_us": 250000, "bytes": 350000000, "links": ["uplink"]}],
        },
    ],
}


@router.post(
    "",
    summary="Plan jobs that share links together",
    response_description="Each job alone, beside the others, under known rules, and planned.",
    openapi_extra=json_body("app.schemas.mixes:MixRequest", EXAMPLE),
    responses={
        **answered("app.schemas.mixes:MixAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def plan_mix(body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Say how jobs slow one another down, and how they need not: shifts, priorities, periods.

    Jobs iterate side by side until their pattern repeats. The plan is never worse than fair
    sharing, CASSINI's shifts and Crux's priorities, and has a lower bound beside it.
    """
    return await answers.answer("app.calls.mixes:mix", body=body)
