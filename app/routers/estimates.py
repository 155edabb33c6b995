"""Estimates: costs from iteration times."""

import json
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Response

from app.codes import ServiceFaultCode
from app.errors import InvalidRequest
from app.http.bodies import BodyDep
from app.http.dependencies import SolvesDep, StoreDep
from app.http.openapi import json_body, problems
from app.reading.cluster_faults import with_models
from app.reading.requests import read_plain
from app.reading.wording import shown
from app.schemas.estimates import EstimateAnswer, EstimateRequest
from app.schemas.graphs import GraphBody
from app.services import estimates
from app.storage.library import library_of
from solver.errors import Fault

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
    response_model=EstimateAnswer,
    summary="Estimate costs from iteration times",
    response_description="The figures that the rows determine, and all rows simulated.",
    openapi_extra=json_body(EstimateRequest, EXAMPLE),
    responses=problems(400, 408, 413, 415, 422, 503),
)
async def create_estimate(body: BodyDep, store: StoreDep, turns: SolvesDep) -> Response:
    """Fit start-up, hop, bandwidth and the speed of compute to measured iteration times.

    A figure that the rows do not determine is null, with the reason, and is held at its default.
    Rows without a time are predicted.
    """

    def answer() -> Response:
        request, library = read_plain(body, EstimateRequest), library_of(store)
        cluster, faults = with_models(request.cluster, library.model)
        stored = {}
        for name in estimates.graph_names(request):
            text = library.graph(name)
            if text is None:
                detail = f"No graph of the request, and none that is stored, is {shown(name)}."
                faults.append(Fault("/graphs", ServiceFaultCode.UNKNOWN_GRAPH, detail))
            else:
                stored[name] = GraphBody.model_validate(json.loads(text))
        if faults:
            raise InvalidRequest(faults)
        found = estimates.run(request.model_copy(update={"cluster": cluster}), stored)
        return Response(found.model_dump_json(), media_type="application/json")

    return await to_thread.run_sync(answer, limiter=turns)
