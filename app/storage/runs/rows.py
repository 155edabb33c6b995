"""The row of a run, and steps on it within a transaction."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select, update

from app.errors import NotFound, RunEnded
from app.operations.callers import Caller
from app.storage.clock import now
from app.storage.owners import visible
from app.storage.tables import RunRow

#: The states of a run.
RUNNING, ENDED = STATES = "running", "ended"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run without its plans and steps, of which it has so many."""

    number: int
    id: str
    state: str
    name: str
    created_at: str
    reported_at: str
    ended_at: str | None
    ended_why: str | None
    workers: int
    barrier: bool
    runtime: str
    plans: int
    steps: int
    last_step: int | None


def light() -> Select[Any]:
    """Select what a :class:`Run` tells."""
    return select(*(RunRow.__table__.columns[field] for field in RunRecord.__dataclass_fields__))


def of_id(connection: Connection, run_id: str, caller: Caller | None) -> RunRecord:
    """Return a run that a caller sees, or raise NotFound."""
    which = (RunRow.id == run_id, visible(RunRow, caller))
    row = connection.execute(light().where(*which)).mappings().first()
    if row is None:
        raise NotFound("No run has this id.")
    return RunRecord(**row)


def change(connection: Connection, run: RunRecord, **values: Any) -> None:
    """Change a run that has not ended, of which something was just heard.

    Raises
    ------
    RunEnded
        When it has.
    """
    if run.state != RUNNING:
        raise RunEnded(f"The run ended at {run.ended_at}; nothing is added to it.")
    heard = {**values, "reported_at": now()}
    connection.execute(update(RunRow).where(RunRow.number == run.number).values(heard))
