"""Predictions, estimates and fits: a body in, the answer out; nothing of them is a job."""

import json

from app.calls.messages import Answered
from app.codes import ServiceFaultCode
from app.errors import InvalidRequest
from app.reading.cluster_faults import with_models
from app.reading.requests import read_body, read_placements, read_plain
from app.schemas.cost_models import CostModelRequest
from app.schemas.estimates import EstimateRequest
from app.schemas.graphs import GraphBody
from app.schemas.predictions import PredictionRequest
from app.schemas.tuners import TunerRequest
from app.services import cost_models, estimates, placements, predictions, tuners
from app.storage.cost_models import json_of, keep
from app.storage.database import Store
from app.storage.library import library_of
from solver.errors import Fault
from solver.wording import shown


def scaling(store: Store, body: bytes) -> Answered:
    """Predict the scaling factor."""
    found = predictions.answer_of(*read_body(body, PredictionRequest, library_of(store)))
    return Answered(found.model_dump_json().encode())


def placement(store: Store, body: bytes) -> Answered:
    """Compare placements of parameter servers."""
    found = placements.answer_of(*read_placements(body, library_of(store)))
    return Answered(found.model_dump_json().encode())


def estimate(store: Store, body: bytes) -> Answered:
    """Fit costs to iteration times.

    Raises
    ------
    InvalidRequest
        Also when a row names a graph that is nowhere.
    """
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
    return Answered(found.model_dump_json().encode())


def nccl_tuner(_store: Store, body: bytes) -> Answered:
    """Compare measured algorithms of NCCL."""
    return Answered(tuners.run(read_plain(body, TunerRequest)).model_dump_json().encode())


def cost_model(store: Store, body: bytes, place: str) -> Answered:
    """Fit a cost model and keep it at a place."""
    request = read_plain(body, CostModelRequest)
    row = keep(store, request, cost_models.run(request))
    return Answered(json_of(row), status=201, headers=(("Location", f"{place}/{row.id}"),))
