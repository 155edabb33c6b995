"""Predictions of training through parameter servers: made, found, listed, tabled, drawn."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app.http.bodies import BodyDep
from app.http.dependencies import SubmitterDep
from app.http.openapi import Responses, accepted, answered, json_body, problems
from app.http.work import AnswersDep
from app.jobs.kinds import KINDS, PARAMETER_SERVER
from app.limits import MAX_TIMELINE_STEPS
from app.routers.jobs import add_routes, submit
from app.schemas.lists import ParameterServerList, ParameterServerSummary
from solver.limits import MAX_PREDICTED_STEPS

router = APIRouter(prefix=KINDS[PARAMETER_SERVER].prefix, tags=["predictions"])
PredictionId = Annotated[
    str, Path(description="Id of a prediction.", examples=["0123456789abcdef"])
]
WorkerCount = Annotated[
    int | None, Query(description="One of the prediction; left out, the middle one.")
]
Bandwidth = Annotated[
    float | None, Query(description="One of the prediction [Gbit/s]; left out, the middle one.")
]
FromStep = Annotated[
    int, Query(ge=0, lt=MAX_PREDICTED_STEPS, description="The first step of each worker, from 0.")
]
Steps = Annotated[
    int, Query(ge=1, le=MAX_TIMELINE_STEPS, description="How many steps of each worker.")
]
EXAMPLE: dict[str, Any] = {
    "name": "two layers",
    "steps": [
        {
            "ops": [
                {"id": "pull1", "resource": "downlink", "bytes": 4_000_000},
                {"id": "pull2", "resource": "downlink", "bytes": 16_000_000},
                {"id": "f1", "resource": "worker", "duration_us": 6_000, "after": ["pull1"]},
                {
                    "id": "f2",
                    "resource": "worker",
                    "duration_us": 8_000,
                    "after": ["f1", "pull2"],
                },
                {"id": "b2", "resource": "worker", "duration_us": 16_000, "after": ["f2"]},
                {"id": "push2", "resource": "uplink", "bytes": 16_000_000, "after": ["b2"]},
                {"id": "update2", "resource": "server", "duration_us": 1_600, "after": ["push2"]},
                {"id": "b1", "resource": "worker", "duration_us": 12_000, "after": ["b2"]},
                {"id": "push1", "resource": "uplink", "bytes": 4_000_000, "after": ["b1"]},
                {"id": "update1", "resource": "server", "duration_us": 400, "after": ["push1"]},
            ]
        }
    ],
    "batch_size": 32,
    "workers": [1, 2, 4, 8],
    "bandwidths_gbps": [10],
    "simulated_steps": 400,
}
_CSV: Responses = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The table."}
}
_SVG: Responses = {
    200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}, "description": "The plot."}
}


@router.post(
    "",
    status_code=201,
    summary="Predict training through parameter servers",
    response_description="The prediction; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.parameter_servers:ParameterServerRequest", EXAMPLE),
    responses={
        **answered("app.schemas.jobs:ParameterServerOut", 201),
        **accepted("app.schemas.jobs:ParameterServerOut"),
        **problems(400, 408, 413, 415, 422, 500, 503),
    },
)
async def predict_parameter_server(body: BodyDep, by: SubmitterDep) -> Response:
    """Say how many examples a second so many workers train through one or two parameter servers.

    From profiled steps of one worker, or from a training graph, each row is simulated, and run
    again with each resource faster to say what limits it; formulas of the literature and a simple
    bound stand beside it. One prediction is made at a time, beside plans and sweeps.
    """
    return await submit(PARAMETER_SERVER, body, by)


add_routes(
    router,
    PARAMETER_SERVER,
    "app.schemas.jobs:ParameterServerOut",
    ParameterServerSummary,
    ParameterServerList,
)


@router.get(
    "/{prediction_id}/table.csv",
    response_class=Response,
    summary="A prediction as CSV",
    responses={**_CSV, **problems(404, 409, 503)},
)
async def get_table(prediction_id: PredictionId, answers: AnswersDep) -> Response:
    """Return its rows, what is unknown empty; the last columns are the use of each resource."""
    return await answers.answer("app.calls.drawings:throughput_table", prediction_id)


@router.get(
    "/{prediction_id}/throughput-by-workers.svg",
    response_class=Response,
    summary="Draw throughput against workers",
    responses={**_SVG, **problems(404, 409, 422, 501, 503)},
)
async def get_throughput_by_workers(
    prediction_id: PredictionId, answers: AnswersDep, bandwidth_gbps: Bandwidth = None
) -> Response:
    """Return what was simulated with its interval, the formulas and the bound; a ring: the knee."""
    return await answers.answer(
        "app.calls.drawings:throughput_by_workers", prediction_id, bandwidth_gbps
    )


@router.get(
    "/{prediction_id}/timeline.json",
    response_model=dict[str, Any],
    summary="Draw steps of a prediction as a Chrome trace",
    responses=problems(404, 409, 422, 503),
)
async def get_timeline(
    prediction_id: PredictionId,
    answers: AnswersDep,
    workers: WorkerCount = None,
    bandwidth_gbps: Bandwidth = None,
    from_step: FromStep = 0,
    steps: Steps = 3,
) -> Response:
    """Return a process for each worker and a thread for each resource, for Perfetto.

    The row is simulated again, with the same draws.
    """
    options = {
        "workers": workers,
        "bandwidth_gbps": bandwidth_gbps,
        "from_step": from_step,
        "steps": steps,
    }
    return await answers.answer("app.calls.drawings:steps_timeline", prediction_id, options)
