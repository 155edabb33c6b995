"""Runs as they begin, and as they take over another plan: simulated, and kept."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from app.calls.messages import Answered
from app.errors import InvalidRequest
from app.jobs.results import plan_text
from app.limits import MAX_RUN_BYTES
from app.reading.runs import Planned, read_planned, read_report
from app.schemas.base import AnswerModel
from app.schemas.runs import (
    START,
    EndRequest,
    RunList,
    RunOut,
    RunPlanHistory,
    RunPlanRequest,
    RunPlanSummary,
    RunRequest,
    RunStepList,
    RunSummary,
    RunTrialBody,
    StepsRequest,
)
from app.services import runs
from app.storage.cursors import cursor_of
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey
from app.storage.json_text import with_fields
from app.storage.library import library_of
from app.storage.runs import life, plans, steps, trials
from app.storage.runs.plans import NewPlan


def begin(store: Store, body: bytes, place: str, key: str | None) -> Answered:
    """Begin a run; it is found below a place."""
    used = None if key is None else IdempotencyKey.of(key, store.caller, "run", body)
    run_id = life.of_key(store, used) if used else None
    if run_id is None:
        planned = _planned(store, body, RunRequest, {})
        run: RunRequest = planned.request
        run_id = life.begin(store, run, _new_plan(planned, 0, START, barrier=run.barrier), used)
    content = _told(store, run_id).model_dump_json().encode()
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


def report(store: Store, body: bytes, run_id: str) -> Answered:
    """Keep what steps of a run took.

    Raises
    ------
    InvalidRequest
        When steps do not ascend, or were reported otherwise.
    """
    request = read_report(body, StepsRequest)
    if faults := list(request.faults()):
        raise InvalidRequest(faults)
    return _json(steps.report(store, run_id, request.steps))


def tried(store: Store, body: bytes, run_id: str) -> Answered:
    """Keep what a trial in a run came to.

    Raises
    ------
    InvalidRequest
        When its figures do not go together, or another one was reported.
    """
    request = read_report(body, RunTrialBody)
    if faults := list(request.faults()):
        raise InvalidRequest(faults)
    found = trials.report(store, run_id, request)
    return Answered(found.model_dump_json().encode(), status=201)


def end(store: Store, body: bytes, run_id: str) -> Answered:
    """End a run."""
    life.end(store, run_id, read_report(body, EndRequest).why)
    return found(store, run_id)


def found(store: Store, run_id: str) -> Answered:
    """Find a run."""
    return _json(_told(store, run_id))


def listed(store: Store, limit: int, cursor: str | None, states: Sequence[str]) -> Answered:
    """List runs, a page at a time."""
    some = life.listed(store, limit=limit + 1, cursor=cursor, states=states)
    more = cursor_of(some[limit - 1]) if len(some) > limit else None
    return _json(RunList(runs=[RunSummary.of(run) for run in some[:limit]], next_cursor=more))


def listed_steps(store: Store, run_id: str, limit: int, cursor: str | None) -> Answered:
    """List the steps of a run, a page at a time."""
    after = None if cursor is None else int(cursor)
    some = steps.page(store, run_id, after=after, limit=limit + 1)
    more = str(some[limit - 1].step) if len(some) > limit else None
    return _json(RunStepList(steps=some[:limit], next_cursor=more))


def plan(store: Store, run_id: str, index: int) -> Answered:
    """Find a plan of a run."""
    row = plans.get(store, run_id, index)
    brief = RunPlanSummary.of(row).model_dump(mode="json")
    return Answered(with_fields({**brief, "request": Raw(row.request.encode())}, "{}"))


def _json(answer: AnswerModel) -> Answered:
    return Answered(answer.model_dump_json().encode())


def _told(store: Store, run_id: str) -> RunOut:
    """Return a run with what its steps say of its plans."""
    run, taken, figures = steps.reported(store, run_id)
    measured = runs.MeasuredSteps(*figures)
    every, chosen = runs.thinned(measured.steps)
    return RunOut.of(
        run,
        plans=[RunPlanHistory.of(p, runs.outcome(measured, p.index)) for p in taken],
        trials=trials.listed(store, run),
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
