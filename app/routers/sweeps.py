"""Sweeps: made, found, listed, tabled, drawn."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app.http.bodies import BodyDep
from app.http.dependencies import SubmitterDep
from app.http.openapi import Responses, accepted, answered, json_body, problems
from app.http.work import AnswersDep
from app.jobs.kinds import SWEEP
from app.routers.jobs import add_routes, submit
from app.schemas.lists import SweepList, SweepSummary
from app.services.examples import TWO_LAYERS

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"])
SweepId = Annotated[str, Path(description="Id of a sweep.", examples=["0123456789abcdef"])]
Workers = Annotated[int | None, Query(description="One of the sweep; left out, the middle one.")]
Bandwidth = Annotated[
    float | None, Query(description="One of the sweep [Gbit/s]; left out, the middle one.")
]
Startup = Annotated[
    float | None, Query(description="One of the sweep [us]; left out, the middle one.")
]
MemoryLimit = Annotated[
    int | None,
    Query(description="Of a sweep of limits of memory, one of it; left out, the middle one."),
]
EXAMPLE: dict[str, Any] = {
    "graph": TWO_LAYERS["graph"],
    "cluster": TWO_LAYERS["cluster"],
    "workers": [2, 4, 8, 16, 32],
    "bandwidths_gbps": [1, 10, 25, 100],
    "policies": ["wfbp", {"policy": "horovod", "cycle_time_us": 5000}, "pace", "plan"],
}
_SVG: Responses = {
    200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}, "description": "The plot."}
}


@router.post(
    "",
    status_code=201,
    summary="Sweep clusters and policies",
    response_description="The sweep; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.sweeps:SweepRequest", EXAMPLE),
    responses={
        **answered("app.schemas.jobs:SweepOut", 201),
        **accepted("app.schemas.jobs:SweepOut"),
        **problems(400, 408, 413, 415, 422, 500, 503),
    },
)
async def create_sweep(body: BodyDep, by: SubmitterDep) -> Response:
    """Say what each policy gives on each cluster of workers x bandwidth x start-up.

    Cells are computed on all cores and come in ascending order; one sweep runs at a time. Every
    policy is simulated as `POST /v1/simulations` does, and `plan` is the plan of `POST /v1/plans`;
    with one worker nothing is sent, and all take the compute time. A program is swept over limits
    of memory, too; its plan in a cell is the fastest of all limits' plans that keep the cell's own.
    """
    return await submit(SWEEP, body, by)


add_routes(router, SWEEP, "app.schemas.jobs:SweepOut", SweepSummary, SweepList)


@router.get(
    "/{sweep_id}/table.csv",
    response_class=Response,
    summary="A sweep as CSV",
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The table."},
        **problems(404, 409, 503),
    },
)
async def get_table(sweep_id: SweepId, answers: AnswersDep) -> Response:
    """Return a row for each cell and policy; what is unknown is empty."""
    return await answers.answer("app.calls.drawings:sweep_table", sweep_id)


@router.get(
    "/{sweep_id}/speed-by-workers.svg",
    response_class=Response,
    summary="Draw speed against workers",
    responses={**_SVG, **problems(404, 409, 422, 501, 503)},
)
async def get_speed_by_workers(
    sweep_id: SweepId,
    answers: AnswersDep,
    bandwidth_gbps: Bandwidth = None,
    startup_us: Startup = None,
    memory_limit_bytes: MemoryLimit = None,
) -> Response:
    """Return a line for each policy, the bound and the ideal; rings mark the knees."""
    return await answers.answer(
        "app.calls.drawings:sweep_by_workers",
        sweep_id,
        bandwidth_gbps,
        startup_us,
        memory_limit_bytes,
    )


@router.get(
    "/{sweep_id}/speed-by-bandwidth.svg",
    response_class=Response,
    summary="Draw speed against bandwidth",
    responses={**_SVG, **problems(404, 409, 422, 501, 503)},
)
async def get_speed_by_bandwidth(
    sweep_id: SweepId,
    answers: AnswersDep,
    workers: Workers = None,
    startup_us: Startup = None,
    memory_limit_bytes: MemoryLimit = None,
) -> Response:
    """Return a line for each policy, the bound and the ideal; rings mark the knees."""
    return await answers.answer(
        "app.calls.drawings:sweep_by_bandwidth", sweep_id, workers, startup_us, memory_limit_bytes
    )


@router.get(
    "/{sweep_id}/speed-by-memory.svg",
    response_class=Response,
    summary="Draw speed against the limit of memory",
    responses={**_SVG, **problems(404, 409, 422, 501, 503)},
)
async def get_speed_by_memory(
    sweep_id: SweepId,
    answers: AnswersDep,
    workers: Workers = None,
    bandwidth_gbps: Bandwidth = None,
    startup_us: Startup = None,
) -> Response:
    """Return a line for each policy that keeps the limits, of a sweep of limits of memory."""
    return await answers.answer(
        "app.calls.drawings:sweep_by_memory", sweep_id, workers, bandwidth_gbps, startup_us
    )
