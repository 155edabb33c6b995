"""Predictions: how an iteration scales with the workers, and where parameter servers go."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import BodyDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep
from app.services.examples import CLUSTER

router = APIRouter(prefix="/v1/predictions", tags=["predictions"])
EXAMPLE: dict[str, Any] = {
    "layers": [
        {"bytes": 1_000_000, "forward_us": 400, "backward_us": 900},
        {"bytes": 4_000_000, "forward_us": 450, "backward_us": 800},
    ],
    "cluster": CLUSTER,
    "workers": [8, 32],
    "buffers_bytes": [0, 104_857_600],
    "timeout_us": 5_000,
}
PLACEMENTS_EXAMPLE: dict[str, Any] = {
    "model_bytes": 194_000_000,
    "batch_time_us": 16_000,
    "workers": 8,
    "bandwidth_gbps": 10,
    "simulated_transfers": 2_000,
    "racks": {
        "racks": 2,
        "workers_per_rack": 4,
        "worker_gbps": 10,
        "pbox_gbps": 40,
        "core_gbps": 10,
    },
    "prices": {"baseline_samples_per_s": 560, "hub_samples_per_s": 610},
    "jobs": [
        {"name": "alexnet", "model_bytes": 194_000_000, "batch_time_us": 16_000, "workers": 4},
        {"name": "resnet50", "model_bytes": 97_000_000, "batch_time_us": 160_000, "workers": 4},
    ],
}


@router.post(
    "/scaling",
    summary="Predict the scaling factor",
    response_description="A row for each worker count.",
    openapi_extra=json_body("app.schemas.predictions:PredictionRequest", EXAMPLE),
    responses={
        **answered("app.schemas.predictions:PredictionAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def predict_scaling(body: BodyDep, answers: AnswersDep) -> Response:
    """Say how much of each worker's time is left for compute, by count of workers.

    By OSF's recursion without and with fusion, and simulated for policies of today and
    Interlace's own plan, all under a barrier. Layer 1, the first of the forward pass, comes first.
    Of a graph that is no chain of all-reduces OSF's figures are null, and the rest is simulated.
    """
    return await answers.answer("app.calls.predictions:scaling", body=body)


@router.post(
    "/placements",
    summary="Compare placements of parameter servers",
    response_description="A row for each placement, and what was asked besides.",
    openapi_extra=json_body("app.schemas.placements:PlacementsRequest", PLACEMENTS_EXAMPLE),
    responses={
        **answered("app.schemas.placement_answer:PlacementsAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def predict_placements(body: BodyDep, answers: AnswersDep) -> Response:
    """Say which bandwidth hides the exchange with parameter servers, by where these are.

    By PHub's formulas and simulated chunk by chunk; how even chunks are spread, whether racks had
    better reduce by themselves first, what jobs on one server lose to each other, and what a rack
    trains for its money.
    """
    return await answers.answer("app.calls.predictions:placement", body=body)
