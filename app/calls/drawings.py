"""What is drawn, tabled or exported of a job that has ended, or of a cost model."""

import json
from typing import Any

from pydantic_core import to_json

from app.calls.messages import Answered
from app.jobs.kinds import PLAN, SIMULATION
from app.jobs.results import (
    comparable,
    parameter_server_of,
    parameter_server_request_of,
    problem_and_answer,
    sweep_of,
)
from app.services import certificates, exports, plans, simulations
from app.services.comparisons import compared
from app.services.cost_curves import answer_of as cost_curves_of
from app.services.parameter_servers import views
from app.services.sweeps import views as sweep_views
from app.services.sweeps.compared import compared_sweeps
from app.storage.cost_models import request_and_answer
from app.storage.database import Store
from app.storage.tables import CostModelRow

_CSV, _SVG = "text/csv", "image/svg+xml"


def plan_timeline(store: Store, plan_id: str, beside: str | None) -> Answered:
    """Draw a plan as a Chrome trace, beside a policy."""
    problem, answer = problem_and_answer(store, PLAN, plan_id)
    return _json(plans.timeline(problem, json.loads(answer), beside))


def comparison(store: Store, first: str, second: str) -> Answered:
    """Set two answers side by side, each named as ``plans/ID`` or ``simulations/ID``."""
    found = compared(comparable(store, first), comparable(store, second))
    return Answered(found.model_dump_json().encode())


def sweep_comparison(store: Store, first: str, second: str) -> Answered:
    """Set two sweeps side by side, by their ids."""
    found = compared_sweeps(sweep_of(store, first), sweep_of(store, second))
    return Answered(found.model_dump_json().encode())


def plan_certificate(store: Store, plan_id: str) -> Answered:
    """Write down what proves a plan's bound."""
    problem, answer = problem_and_answer(store, PLAN, plan_id)
    found = certificates.certificate(problem, json.loads(answer))
    return _text(certificates.certificate_text(found), "application/json")


def simulation_timeline(store: Store, simulation_id: str, is_changed: bool) -> Answered:  # noqa: FBT001
    """Draw a simulation as a Chrome trace, and its changed graph."""
    problem, _ = problem_and_answer(store, SIMULATION, simulation_id)
    return _json(simulations.timeline(problem, is_changed=is_changed))


def steps_timeline(store: Store, prediction_id: str, options: dict[str, Any]) -> Answered:
    """Simulate a row of a prediction of parameter servers again, and draw it as a Chrome trace."""
    graph, request = parameter_server_request_of(store, prediction_id)
    return _json(views.timeline(views.simulated_again(graph, request, **options)))


def export(store: Store, kind: str, job_id: str, form: str, file: str | None) -> Answered:
    """Write a plan or a simulated policy in a format: one file as it is, or all in an answer."""
    problem, answer = problem_and_answer(store, kind, job_id)
    found = exports.exported(problem, json.loads(answer), form)
    if file is not None:
        return Answered(exports.file_of(found, file), "application/octet-stream")
    return Answered(exports.answer_of(found).model_dump_json().encode())


def sweep_table(store: Store, sweep_id: str) -> Answered:
    """Write a sweep as CSV."""
    return _text(sweep_views.table(sweep_of(store, sweep_id)), _CSV)


def sweep_by_workers(
    store: Store,
    sweep_id: str,
    bandwidth_gbps: float | None,
    startup_us: float | None,
    memory_limit_bytes: int | None,
) -> Answered:
    """Draw speed against workers."""
    sweep = sweep_of(store, sweep_id)
    drawn = sweep_views.by_workers(sweep, bandwidth_gbps, startup_us, memory_limit_bytes)
    return _text(drawn, _SVG)


def sweep_by_bandwidth(
    store: Store,
    sweep_id: str,
    workers: int | None,
    startup_us: float | None,
    memory_limit_bytes: int | None,
) -> Answered:
    """Draw speed against bandwidth."""
    sweep = sweep_of(store, sweep_id)
    drawn = sweep_views.by_bandwidth(sweep, workers, startup_us, memory_limit_bytes)
    return _text(drawn, _SVG)


def sweep_by_memory(
    store: Store,
    sweep_id: str,
    workers: int | None,
    bandwidth_gbps: float | None,
    startup_us: float | None,
) -> Answered:
    """Draw speed against the limit of memory."""
    sweep = sweep_of(store, sweep_id)
    return _text(sweep_views.by_memory(sweep, workers, bandwidth_gbps, startup_us), _SVG)


def throughput_table(store: Store, prediction_id: str) -> Answered:
    """Write a prediction of parameter servers as CSV."""
    return _text(views.table(parameter_server_of(store, prediction_id)), _CSV)


def throughput_by_workers(
    store: Store, prediction_id: str, bandwidth_gbps: float | None
) -> Answered:
    """Draw throughput against workers."""
    return _text(views.by_workers(parameter_server_of(store, prediction_id), bandwidth_gbps), _SVG)


def cost_curves(store: Store, model_id: str) -> Answered:
    """Draw a cost model beside what it was fitted to."""
    found = cost_curves_of(*request_and_answer(store.get(CostModelRow, model_id)))
    return Answered(found.model_dump_json().encode())


def _json(value: Any) -> Answered:
    return Answered(to_json(value))


def _text(content: str | bytes, media_type: str) -> Answered:
    return Answered(content.encode() if isinstance(content, str) else content, media_type)
