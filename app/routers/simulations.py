"""Simulations: made, found, listed, drawn."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Response

from app import simulations
from app.apidoc import json_body, problems
from app.door import problem_of, read_body
from app.examples import TWO_LAYERS
from app.library import library_of
from app.routers.deps import BodyDep, ListedDep, SolvesDep, StoreDep
from app.simulation_answer import SimulationList, SimulationOut
from app.simulation_request import SimulationRequest
from app.storage import SimulationRow

router = APIRouter(prefix="/v1/simulations", tags=["simulations"])
SimulationId = Annotated[
    str, Path(description="Id of a simulation.", examples=["0123456789abcdef"])
]
EXAMPLE = {"graph": TWO_LAYERS["graph"], "cluster": TWO_LAYERS["cluster"], "policy": "ddp"}


@router.post(
    "",
    status_code=201,
    response_model=SimulationOut,
    summary="Simulate one training iteration",
    response_description="The simulation; `Location` says where it stays.",
    openapi_extra=json_body(SimulationRequest, EXAMPLE),
    responses=problems(400, 413, 415, 422, 503),
)
async def create_simulation(body: BodyDep, store: StoreDep, turns: SolvesDep) -> Response:
    """Run a policy of today, or an explicit plan, and explain the time that it takes.

    `plan` takes the answer of `POST /v1/plans` as it is and gives exactly its iteration time.
    """

    def answer() -> Response:
        found = read_body(body, SimulationRequest, library_of(store))
        stored = simulations.create(store, problem_of(found))
        location = {"Location": f"{router.prefix}/{stored.job['id']}"}
        return Response(stored.to_json(), 201, location, "application/json")

    return await to_thread.run_sync(answer, limiter=turns)


@router.get("", summary="List simulations, the newest first", responses=problems(422, 503))
def list_simulations(store: StoreDep, limit: ListedDep = 20) -> SimulationList:
    """Return the newest simulations in brief."""
    return simulations.newest(store, limit)


@router.get(
    "/{simulation_id}",
    response_model=SimulationOut,
    summary="Find a simulation",
    responses=problems(404, 503),
)
def get_simulation(simulation_id: SimulationId, store: StoreDep) -> Response:
    """Return the same body that answered the POST."""
    stored = store.get(SimulationRow, simulation_id)
    return Response(stored.to_json(), media_type="application/json")


@router.get(
    "/{simulation_id}/timeline.json",
    summary="Draw a simulation as a Chrome trace",
    responses=problems(404, 503),
)
def get_timeline(simulation_id: SimulationId, store: StoreDep) -> dict[str, Any]:
    """Return channels, streams and other compute over time, for Perfetto."""
    stored = store.get(SimulationRow, simulation_id)
    found = read_body(stored.request.encode(), SimulationRequest)
    return simulations.timeline(problem_of(found))
