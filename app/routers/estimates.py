"""Estimates: costs from iteration times."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import PlainBodyDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep

router = APIRouter(prefix="/v1/estimates", tags=["estimates"])
EXAMPLE: dict[str, Any] = {
    "rows": [
        {"model": "vgg16", "workers": 1, "policy": "wfbp", "time_us": 1_018_384},
        {"model": "vgg16", "workers": 8, "policy": "wfbp", "time_us": 1_340_000},
        {"model": "vgg16", "workers": 32, "policy": "ddp", "time_us": 1_420_000},
        {"model": "vgg16", "workers": 64, "policy": "ddp"},
    ],
    "cluster": {"workers": 8, "bandwidth_gbps": 10},
}


@router.post(
    "",
    summary="Estimate costs from iteration times",
    response_description="The figures that the rows determine, and all rows simulated.",
    openapi_extra=json_body("app.schemas.estimates:EstimateRequest", EXAMPLE),
    responses={
        **answered("app.schemas.estimates:EstimateAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def create_estimate(body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Fit start-up, hop, bandwidth and the speed of compute to measured iteration times.

    A figure that the rows do not determine is null, with the reason, and is held at its default.
    Rows without a time are predicted.
    """
    return await answers.answer("app.calls.predictions:estimate", body=body)
