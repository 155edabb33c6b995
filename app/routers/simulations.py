"""Simulations: made, found, listed, drawn."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app.http.bodies import BodyDep
from app.http.dependencies import SubmitterDep
from app.http.openapi import accepted, answered, json_body, problems
from app.http.work import AnswersDep
from app.jobs.kinds import SIMULATION
from app.routers.exports import FileName, Format
from app.routers.jobs import add_routes, submit
from app.schemas.lists import SimulationList, SimulationSummary
from app.services.examples import TWO_LAYERS

router = APIRouter(prefix="/v1/simulations", tags=["simulations"])
SimulationId = Annotated[
    str, Path(description="Id of a simulation.", examples=["0123456789abcdef"])
]
WhatIf = Annotated[
    bool, Query(description="Draw the graph as `what_if` changes it as well, below.")
]
EXAMPLE = {"graph": TWO_LAYERS["graph"], "cluster": TWO_LAYERS["cluster"], "policy": "ddp"}


@router.post(
    "",
    status_code=201,
    summary="Simulate one training iteration",
    response_description="The simulation; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.simulations:SimulationRequest", EXAMPLE),
    responses={
        **answered("app.schemas.jobs:SimulationOut", 201),
        **accepted("app.schemas.jobs:SimulationOut"),
        **problems(400, 408, 413, 415, 422, 500, 503),
    },
)
async def create_simulation(body: BodyDep, by: SubmitterDep) -> Response:
    """Run a policy of today, or an explicit plan, and explain the time that it takes.

    `plan` takes the answer of `POST /v1/plans` as it is and gives exactly its iteration time; of a
    program with the same `options`.
    """
    return await submit(SIMULATION, body, by)


add_routes(router, SIMULATION, "app.schemas.jobs:SimulationOut", SimulationSummary, SimulationList)


@router.get(
    "/{simulation_id}/timeline.json",
    response_model=dict[str, Any],
    summary="Draw a simulation as a Chrome trace",
    responses=problems(404, 409, 422, 503),
)
async def get_timeline(
    simulation_id: SimulationId, answers: AnswersDep, *, what_if: WhatIf = False
) -> Response:
    """Return channels, streams and other compute over time, for Perfetto."""
    return await answers.answer("app.calls.drawings:simulation_timeline", simulation_id, what_if)


@router.get(
    "/{simulation_id}/export",
    summary="What was launched as files of another tool",
    responses={**answered("app.schemas.exports:ExportOut"), **problems(404, 409, 422, 503)},
)
async def get_export(
    simulation_id: SimulationId,
    answers: AnswersDep,
    format: Format,  # noqa: A002 - the name on the wire
    file: FileName = None,
) -> Response:
    """Return the files, what of the policy that tool cannot express, and what that costs."""
    return await answers.answer(
        "app.calls.drawings:export", SIMULATION, simulation_id, format, file
    )
