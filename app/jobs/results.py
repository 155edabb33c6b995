"""What jobs that have ended were asked, and what came of them."""

from typing import Any

from app.errors import NoResult, NotFound
from app.jobs import table as jobs
from app.jobs.kinds import MODELS, PARAMETER_SERVER, PLAN, SIMULATION, SWEEP
from app.reading.requests import problem_of, read_body
from app.references import resolve
from app.schemas.parameter_servers import ParameterServerAnswer, ParameterServerRequest
from app.schemas.plans import PlanAnswer
from app.schemas.problem import CheckedRequest
from app.schemas.simulations import SimulationAnswer
from app.schemas.sweeps import SweepAnswer
from app.storage.database import Store
from app.storage.library import library_of
from solver.graph import Graph


def problem_and_answer(store: Store, kind: str, job_id: str) -> tuple[CheckedRequest[Any], bytes]:
    """Return the problem of a job, and its answer as JSON text.

    Raises
    ------
    NotFound, NoResult
        When there is no such job, or no result of it.
    """
    request, result = jobs.answered(store, kind, job_id)
    return problem_of(read_body(request, resolve(MODELS[kind]), library_of(store))), result


def comparable(store: Store, place: str) -> PlanAnswer | SimulationAnswer:
    """Return the answer at ``plans/ID`` or ``simulations/ID``, as :func:`sweep_of` does."""
    collection, _, job_id = place.partition("/")
    if collection == "plans":
        return PlanAnswer.model_validate_json(jobs.answered(store, PLAN, job_id)[1])
    return SimulationAnswer.model_validate_json(jobs.answered(store, SIMULATION, job_id)[1])


def sweep_of(store: Store, sweep_id: str) -> SweepAnswer:
    """Return the answer of a sweep, as :func:`problem_and_answer` does."""
    _, result = jobs.answered(store, SWEEP, sweep_id)
    return SweepAnswer.model_validate_json(result)


def parameter_server_of(store: Store, prediction_id: str) -> ParameterServerAnswer:
    """Return the answer of a prediction, as :func:`problem_and_answer` does."""
    _, result = jobs.answered(store, PARAMETER_SERVER, prediction_id)
    return ParameterServerAnswer.model_validate_json(result)


def parameter_server_request_of(
    store: Store, prediction_id: str
) -> tuple[Graph | None, ParameterServerRequest]:
    """Return what a prediction was made of, as :func:`problem_and_answer` does.

    Raises
    ------
    InvalidRequest
        Also when the graph that it names is not stored any more.
    """
    request, _ = jobs.answered(store, PARAMETER_SERVER, prediction_id)
    return read_body(request, ParameterServerRequest, library_of(store))


def plan_text(store: Store, plan_id: str) -> bytes | None:
    """Return the answer of a plan as JSON text; None when there is none."""
    try:
        return jobs.answered(store, PLAN, plan_id)[1]
    except (NotFound, NoResult):
        return None
