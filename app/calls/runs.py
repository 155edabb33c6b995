"""Runs as they begin, and as they take over another plan: simulated, and kept."""

import json
from typing import Any

from app.calls.process import Answered
from app.errors import InvalidRequest
from app.jobs.results import plan_text
from app.limits import MAX_RUN_BYTES
from app.reading.runs import Planned, read_planned, read_report
from app.schemas.runs import (
    START,
    RunOut,
    RunPlanHistory,
    RunPlanRequest,
    RunPlanSummary,
    RunRequest,
    StepsReceipt,
    StepsRequest,
)
from app.services import runs
from app.storage.database import Store
from app.storage.idempotency import Key
from app.storage.library import library_of
from app.storage.runs import life, plans, steps
from app.storage.runs.plans import NewPlan


def begin(store: Store, body: bytes, place: str, key: str | None) -> Answered:
    """Begin a run; it is found below a place."""
    used = None if key is None else Key.of(key, store.caller, "run", body)
    run_id = life.of_key(store, used) if used else None
    if run_id is None:
        planned = _planned(store, body, RunRequest, {})
        run: RunRequest = planned.request
        run_id = life.begin(store, run, _new_plan(planned, 0, START, barrier=run.barrier), used)
    content = told(store, run_id).model_dump_json().encode()
    return Answered(content, status=201, headers=(("Location", f"{place}/{run_id}"),))


def take_over(store: Store, body: bytes, place: str, run_id: str) -> Answered:
    """Note that a run takes over another plan."""
    run, text = plans.last_request(store, run_id)
    before = json.loads(text)
    known = {field: before[field] for field in ("graph", "cluster")}
    planned = _planned(store, body, RunPlanRequest, known)
    request: RunPlanRequest = planned.request
    new = _new_plan(planned, request.from_step, request.why, barrier=run.barrier)
    index = plans.take_over(store, run_id, new)
    found = RunPlanSummary.of(plans.get(store, run_id, index))
    location = ("Location", f"{place}/{run_id}/plans/{index}")
    return Answered(found.model_dump_json().encode(), status=201, headers=(location,))


def report(store: Store, body: bytes | bytearray, run_id: str) -> StepsReceipt:
    """Keep what steps of a run took.

    Raises
    ------
    InvalidRequest
        When steps do not ascend, or were reported otherwise.
    """
    request = read_report(body, StepsRequest)
    if faults := list(request.faults()):
        raise InvalidRequest(faults)
    return steps.report(store, run_id, request.steps)


def told(store: Store, run_id: str) -> RunOut:
    """Return a run with what its steps say of its plans."""
    run, taken, figures = steps.reported(store, run_id)
    measured = runs.Measured(*figures)
    every, chosen = runs.thinned(measured.steps)
    return RunOut.of(
        run,
        plans=[RunPlanHistory.of(p, runs.outcome(measured, p.index)) for p in taken],
        error=runs.outcome(measured).error,
        every=every,
        history=steps.some(store, run, chosen),
    )


def _planned(store: Store, body: bytes, model: Any, before: dict[str, Any]) -> Planned:
    """Read a plan with what is stored in the place of its id."""
    library = library_of(store, MAX_RUN_BYTES)
    return read_planned(body, model, library, lambda plan_id: plan_text(store, plan_id), before)


def _new_plan(planned: Planned, from_step: int, why: str, *, barrier: bool) -> NewPlan:
    """Simulate a plan, and write it as it is kept."""
    plan = planned.request.plan
    return NewPlan(
        from_step=from_step,
        why=why,
        plan_id=planned.plan_id,
        predicted_us=runs.predicted_us(planned, barrier=barrier),
        buckets=len(plan.buckets),
        launches=len(plan.schedule.parts),
        request=runs.request_text(planned, barrier=barrier),
    )
