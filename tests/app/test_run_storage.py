"""Runs in the database: kept over a restart, for so long, within limits; what is too long."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select, update

from app.errors import InvalidRequest, NotFound, TooLarge
from app.jobs.expiry import Expiry
from app.limits import MAX_HISTORY_STEPS, MAX_RUN_BYTES
from app.operations.settings import Settings
from app.reading.references import NOTHING, LargeGraph
from app.reading.runs import read_planned, read_short
from app.routers.runs import EXAMPLE, PLAN_EXAMPLE, STEPS_EXAMPLE, TRIAL_EXAMPLE
from app.schemas.runs import RunRequest, RunStepBody
from app.services.runs import thinned
from app.storage.clock import ago
from app.storage.database import Store
from app.storage.runs import life, plans, steps
from app.storage.runs.plans import NewPlan
from app.storage.tables import RunPlanRow, RunRow, RunStepRow, RunTrialRow
from tests.app.here import here

PLAN = NewPlan(0, "start", None, 100.0, 2, 2, "{}")
REQUEST = RunRequest.model_validate(EXAMPLE)


def step(number: int, plan: int = 0) -> RunStepBody:
    return RunStepBody(step=number, measured_us=90, plan=plan)


def counted(store: Store) -> list[int]:
    """Return how many runs, plans, steps and trials are kept."""
    with store.reading() as connection:
        tables: Any = (RunRow, RunPlanRow, RunStepRow, RunTrialRow)
        return [connection.scalar(select(func.count()).select_from(table)) for table in tables]


def test_runs_outlive_a_restart_until_they_are_too_old(tmp_path: Path) -> None:
    with here(tmp_path) as client:
        path = client.post("/v1/runs", json=EXAMPLE).headers["location"]
        assert client.post(f"{path}/steps", json=STEPS_EXAMPLE).status_code == 200
        assert client.post(f"{path}/plans", json=PLAN_EXAMPLE).status_code == 201
        assert client.post(f"{path}/trials", json=TRIAL_EXAMPLE).status_code == 201
        told = client.get(path).json()
    with here(tmp_path) as client:
        assert client.get(path).json() == told
        assert client.post(f"{path}/steps", json=STEPS_EXAMPLE).json()["known"] == 2
        store = client.store
        assert Expiry(store, Settings(retention_days=1e-9)).sweep() == 1
        assert client.get(path).status_code == 404
        assert counted(store) == [0, 0, 0, 0]


def test_what_nothing_was_heard_of_is_deleted_with_all_of_it(store: Store) -> None:
    made = [life.begin(store, REQUEST, PLAN, None) for _ in range(5)]
    for run in made:
        steps.report(store, run, [step(1), step(2)])
    life.end(store, made[0], "finished")
    with store.writing() as connection:
        before = ago(timedelta(days=31).total_seconds())
        connection.execute(update(RunRow).where(RunRow.id.in_(made[:4])).values(created_at=before))
        old = update(RunRow).where(RunRow.id.in_([made[0], *made[2:4]]))
        connection.execute(old.values(reported_at=before))
    sweeps = Expiry(store, Settings(retention_days=30))
    assert sweeps.sweep() == 3
    assert sweeps.sweep() == 0
    assert counted(store) == [2, 2, 4, 0]
    assert life.get(store, made[1]).steps == 2  # begun long ago, and heard of since
    with pytest.raises(NotFound):
        life.get(store, made[0])


def test_a_run_has_so_many_steps_and_plans(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MAX_RUN_STEPS", 3)
    monkeypatch.setattr(plans, "MAX_RUN_PLANS", 2)
    run = life.begin(store, REQUEST, PLAN, None)
    steps.report(store, run, [step(1), step(2)])
    with pytest.raises(InvalidRequest, match="would have 4 steps; at most 3 are kept") as caught:
        steps.report(store, run, [step(2), step(3), step(4)])
    assert [fault.pointer for fault in caught.value.faults] == ["/steps"]
    assert steps.report(store, run, [step(2), step(3)]).steps == 3
    later = NewPlan(7, "drift", None, 100.0, 2, 2, "{}")
    assert plans.take_over(store, run, later) == 1
    with pytest.raises(InvalidRequest, match="has 2 plans, the most"):
        plans.take_over(store, run, NewPlan(8, "drift", None, 100.0, 2, 2, "{}"))
    assert counted(store) == [1, 2, 3, 0]


def test_what_is_too_long_is_not_parsed() -> None:
    assert read_short(b" " * (MAX_RUN_BYTES - 2) + b"{}") == {}
    with pytest.raises(TooLarge, match="16,777,216 bytes"):
        read_short(b" " * (MAX_RUN_BYTES - 1) + b"{}")


def test_a_stored_graph_that_is_too_long() -> None:
    def graph(_id: str) -> str:
        raise LargeGraph

    body = b'{"graph_id": "x", "plan": {"buckets": [], "schedule": {"parts": []}}}'
    with pytest.raises(InvalidRequest, match="longer than 16,777,216 bytes") as caught:
        read_planned(body, RunRequest, NOTHING._replace(graph=graph), lambda _: None, {})
    assert [fault.pointer for fault in caught.value.faults] == ["/graph_id"]


@pytest.mark.parametrize("count", [0, 1, 2, 999, 1_000, 1_001, 1_999, 2_000, 2_001, 123_457])
def test_a_thinned_history_is_even_and_ends_with_the_last(count: int) -> None:
    every, chosen = thinned(np.arange(count) * 3.0)
    assert every == max(1, -(-count // MAX_HISTORY_STEPS))
    assert len(chosen) <= MAX_HISTORY_STEPS
    assert len(chosen) == -(-count // every)
    assert all(b - a == 3 * every for a, b in pairwise(chosen))
    assert chosen[-1:] == [3 * (count - 1)] * bool(count)
