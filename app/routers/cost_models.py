"""Cost models: made, found, listed."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from app.http.bodies import PlainBodyDep
from app.http.dependencies import ListedDep, RoomDep, StoreDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep
from app.jobs.removal import remove
from app.schemas.lists import CostModelList
from app.storage.cost_models import json_of, newest
from app.storage.tables import CostModelRow

router = APIRouter(prefix="/v1/cost-models", tags=["cost models"])
ModelId = Annotated[str, Path(description="Id of a cost model.", examples=["0123456789abcdef"])]
EXAMPLE: dict[str, Any] = {
    "name": "8 GPUs of a node",
    "samples": [
        [1_024, 36.1],
        [65_536, 37.8],
        [1_048_576, 74.8],
        [8_388_608, 162.0],
        [67_108_864, 584.5],
        [268_435_456, 2_112.2],
    ],
    "workers": 8,
}


@router.post(
    "",
    status_code=201,
    summary="Fit a cost model to measurements, or store one",
    response_description="The cost model; `Location` says where it stays.",
    openapi_extra=json_body("app.schemas.cost_models:CostModelRequest", EXAMPLE),
    responses={
        **answered("app.schemas.cost_models:CostModelOut", 201),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def create_cost_model(_room: RoomDep, body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Take what a benchmark printed, samples, or known figures; `cluster.cost_model` names the id.

    `linear`, `piecewise` and `table` are fitted to the relative error, each with its error by size
    and on sizes that it was not fitted to; `best` takes the one with the least of the latter.
    """
    return await answers.answer("app.calls.predictions:cost_model", router.prefix, body=body)


@router.get("", summary="List cost models, the newest first", responses=problems(422, 503))
def list_cost_models(store: StoreDep, limit: ListedDep = 20) -> CostModelList:
    """Return the newest cost models in brief."""
    return newest(store, limit)


@router.get(
    "/{model_id}",
    summary="Find a cost model",
    responses={**answered("app.schemas.cost_models:CostModelOut"), **problems(404, 503)},
)
def get_cost_model(model_id: ModelId, store: StoreDep) -> Response:
    """Return the same body that answered the POST."""
    return Response(json_of(store.get(CostModelRow, model_id)), media_type="application/json")


@router.get(
    "/{model_id}/curves",
    summary="Draw a cost model",
    responses={**answered("app.schemas.cost_curves:CostCurvesAnswer"), **problems(404, 422, 503)},
)
async def get_cost_curves(model_id: ModelId, answers: AnswersDep) -> Response:
    """Return what was measured, and each fit over the sizes, beyond the measured ones too.

    The model first, then the fits that were not taken; each with what it is off at each size.
    """
    return await answers.answer("app.calls.drawings:cost_curves", model_id)


@router.delete(
    "/{model_id}", status_code=204, summary="Delete a cost model", responses=problems(404, 409, 503)
)
def delete_cost_model(model_id: ModelId, store: StoreDep) -> None:
    """Forget it, unless a job that has not ended names it. What was made with it stays."""
    remove(store, CostModelRow, model_id)
