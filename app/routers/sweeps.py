"""Sweeps: made, found, listed, tabled, drawn."""

from asyncio import create_task
from collections.abc import AsyncIterator
from threading import Event
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Path, Query, Request, Response

from app import sweep_views, sweeps
from app.apidoc import Responses, json_body, problems
from app.door import problem_of, read_body
from app.examples import TWO_LAYERS
from app.library import library_of
from app.pool import Progress
from app.routers.deps import BodyDep, ListedDep, StoreDep
from app.storage import SweepRow
from app.sweep_answer import SweepList, SweepOut
from app.sweep_request import SweepRequest


async def turns_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who sweep; who waits for the cores keeps no plan waiting."""
    turns: CapacityLimiter = request.app.state.sweeps
    return turns


async def progress_of(request: Request, _read: BodyDep) -> AsyncIterator[Progress]:
    """Yield what stops a sweep when its client is gone, or when the server is to leave."""
    gone = Event()
    leaving: Event = request.app.state.leaving

    async def listen() -> None:
        await request.receive()  # the body was read: nothing comes but the client's end
        gone.set()

    def progress(_done: int, _all: int) -> None:
        if gone.is_set() or leaving.is_set():
            raise sweeps.Stopped("The sweep was stopped: the server is leaving.")

    listening = create_task(listen())
    try:
        yield progress
    finally:
        listening.cancel()


router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"])
TurnsDep = Annotated[CapacityLimiter, Depends(turns_of)]
ProgressDep = Annotated[Progress, Depends(progress_of)]
SweepId = Annotated[str, Path(description="Id of a sweep.", examples=["0123456789abcdef"])]
Workers = Annotated[int | None, Query(description="One of the sweep; left out, the middle one.")]
Bandwidth = Annotated[
    float | None, Query(description="One of the sweep [Gbit/s]; left out, the middle one.")
]
Startup = Annotated[
    float | None, Query(description="One of the sweep [us]; left out, the middle one.")
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
    response_model=SweepOut,
    summary="Sweep clusters and policies",
    response_description="The sweep; `Location` says where it stays.",
    openapi_extra=json_body(SweepRequest, EXAMPLE),
    responses=problems(400, 413, 415, 422, 503),
)
async def create_sweep(
    body: BodyDep, store: StoreDep, turns: TurnsDep, progress: ProgressDep
) -> Response:
    """Say what each policy gives on each cluster of workers x bandwidth x start-up.

    Cells are computed on all cores and come in ascending order. Every policy is simulated as
    `POST /v1/simulations` does, and `plan` is the plan of `POST /v1/plans`; with one worker nothing
    is sent, and all take the compute time.
    """

    def answer() -> Response:
        found = read_body(body, SweepRequest, library_of(store))
        stored = sweeps.create(store, problem_of(found), progress)
        location = {"Location": f"{router.prefix}/{stored.job['id']}"}
        return Response(stored.to_json(), 201, location, "application/json")

    return await to_thread.run_sync(answer, limiter=turns)


@router.get("", summary="List sweeps, the newest first", responses=problems(422, 503))
def list_sweeps(store: StoreDep, limit: ListedDep = 20) -> SweepList:
    """Return the newest sweeps in brief."""
    return sweeps.newest(store, limit)


@router.get(
    "/{sweep_id}", response_model=SweepOut, summary="Find a sweep", responses=problems(404, 503)
)
def get_sweep(sweep_id: SweepId, store: StoreDep) -> Response:
    """Return the same body that answered the POST."""
    return Response(store.get(SweepRow, sweep_id).to_json(), media_type="application/json")


@router.get(
    "/{sweep_id}/table.csv",
    response_class=Response,
    summary="A sweep as CSV",
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The table."},
        **problems(404, 503),
    },
)
def get_table(sweep_id: SweepId, store: StoreDep) -> Response:
    """Return a row for each cell and policy; what is unknown is empty."""
    return Response(sweep_views.table(sweeps.find(store, sweep_id)), media_type="text/csv")


@router.get(
    "/{sweep_id}/speed-by-workers.svg",
    response_class=Response,
    summary="Draw speed against workers",
    responses={**_SVG, **problems(404, 422, 503)},
)
def get_speed_by_workers(
    sweep_id: SweepId, store: StoreDep, bandwidth_gbps: Bandwidth = None, startup_us: Startup = None
) -> Response:
    """Return a line for each policy, the bound and the ideal; rings mark the knees."""
    sweep = sweeps.find(store, sweep_id)
    drawn = sweep_views.by_workers(sweep, bandwidth_gbps, startup_us)
    return Response(drawn, media_type="image/svg+xml")


@router.get(
    "/{sweep_id}/speed-by-bandwidth.svg",
    response_class=Response,
    summary="Draw speed against bandwidth",
    responses={**_SVG, **problems(404, 422, 503)},
)
def get_speed_by_bandwidth(
    sweep_id: SweepId, store: StoreDep, workers: Workers = None, startup_us: Startup = None
) -> Response:
    """Return a line for each policy, the bound and the ideal; rings mark the knees."""
    sweep = sweeps.find(store, sweep_id)
    drawn = sweep_views.by_bandwidth(sweep, workers, startup_us)
    return Response(drawn, media_type="image/svg+xml")
