"""Runs as they begin, are found and listed, end and are deleted."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select

from app.storage import audit
from app.storage.clock import now, shifted
from app.storage.cursors import older
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey, counts_since
from app.storage.owners import values_of, visible
from app.storage.runs.plans import NewPlan, put
from app.storage.runs.rows import ENDED, RUNNING, RunRecord, change, light, of_id
from app.storage.tables import RunPlanRow, RunRow, RunStepRow, RunTrialRow

if TYPE_CHECKING:
    from app.schemas.runs import RunRequest

#: So many runs that are too old are deleted in one transaction, each with up to a million steps.
_AT_ONCE = 3


def begin(store: Store, request: "RunRequest", plan: NewPlan, key: IdempotencyKey | None) -> str:
    """Keep a run and its first plan; return its id, or that of the run that has the key.

    Raises
    ------
    InvalidRequest
        When the key was used for something else.
    """
    with store.writing() as connection:
        if key is not None and (found := _of_key(connection, key)):
            return found
        run_id, moment = secrets.token_hex(8), now()
        values = {
            "id": run_id,
            "state": RUNNING,
            "name": request.name,
            "created_at": moment,
            "reported_at": moment,
            "workers": request.cluster.workers,
            "barrier": request.barrier,
            "runtime": request.runtime,
            "plans": 1,
            "steps": 0,
            "key": key.key if key else None,
            "fingerprint": key.fingerprint if key else None,
            **values_of(store.caller),
        }
        number = connection.execute(insert(RunRow).values(values)).inserted_primary_key
        assert number is not None, "a row has a number"
        put(connection, number[0], 0, plan)
        audit.note(connection, store.caller, "begin", "run", run_id)
    return run_id


def of_key(store: Store, key: IdempotencyKey) -> str | None:
    """Return the id of the run that was begun with a key, None when there is none.

    Raises
    ------
    InvalidRequest
        When it was used for something else.
    """
    with store.reading() as connection:
        return _of_key(connection, key)


def get(store: Store, run_id: str) -> RunRecord:
    """Return a run, or raise NotFound."""
    with store.reading() as connection:
        return of_id(connection, run_id, store.caller)


def listed(
    store: Store, *, limit: int, cursor: str | None, states: Sequence[str]
) -> list[RunRecord]:
    """Return runs, the newest first: older than that of a cursor, in these states.

    Raises
    ------
    InvalidRequest
        When that is no cursor (:mod:`app.storage.cursors`).
    """
    query = light().where(visible(RunRow, store.caller)).order_by(RunRow.number.desc()).limit(limit)
    if cursor is not None:
        query = query.where(older(RunRow, cursor, store.caller))
    if states:
        query = query.where(RunRow.state.in_(states))
    with store.reading() as connection:
        return [RunRecord(**row) for row in connection.execute(query).mappings()]


def end(store: Store, run_id: str, why: str) -> None:
    """End a run; one that has ended stays as it is."""
    with store.writing() as connection:
        run = of_id(connection, run_id, store.caller)
        if run.state == RUNNING:
            change(connection, run, state=ENDED, ended_at=now(), ended_why=why)
            audit.note(connection, store.caller, "end", "run", run_id)


def remove(store: Store, run_id: str) -> None:
    """Delete a run with its plans, trials and steps, or raise NotFound."""
    with store.writing() as connection:
        _remove(connection, [of_id(connection, run_id, store.caller).number])
        audit.note(connection, store.caller, "delete", "run", run_id)


def expire(store: Store, days: float, at: str) -> int:
    """Delete some of the runs not heard of for so many days before a time; count them."""
    heard = shifted(at, -days * 86_400)
    old = select(RunRow.number).where(RunRow.reported_at < heard).limit(_AT_ONCE)
    with store.reading() as connection:
        if connection.scalar(old) is None:
            return 0
    with store.writing() as connection:
        numbers = list(connection.scalars(old))  # anew: one may have been heard of meanwhile
        _remove(connection, numbers)
    return len(numbers)


def _of_key(connection: Connection, key: IdempotencyKey) -> str | None:
    """Find the run of a key that still counts."""
    query = select(RunRow.fingerprint, RunRow.id).where(
        RunRow.key == key.key, RunRow.created_at > counts_since()
    )
    row = connection.execute(query).first()
    if row is None:
        return None
    key.check(row.fingerprint)
    return str(row.id)


def _remove(connection: Connection, numbers: Sequence[int]) -> None:
    for table, column in (
        (RunStepRow, RunStepRow.run),
        (RunTrialRow, RunTrialRow.run),
        (RunPlanRow, RunPlanRow.run),
        (RunRow, RunRow.number),
    ):
        connection.execute(delete(table).where(column.in_(numbers)))
