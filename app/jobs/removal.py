"""Graphs and cost models are deleted, unless a job that has not ended names them."""

from sqlalchemy import Connection, delete, func, select

from app.errors import InUse, NotFound
from app.jobs.rows import QUEUED, REQUEST, RUNNING
from app.storage import audit
from app.storage.database import KINDS, Store
from app.storage.owners import visible
from app.storage.tables import JobRow, OwnedRow, PayloadRow


def remove(store: Store, kind: type[OwnedRow], row_id: str) -> None:
    """Delete what has this id.

    Requests that wait or are worked on are searched for the id before the transaction that deletes,
    and there only what came meanwhile: they may be gigabytes, and others want to write.

    Raises
    ------
    NotFound
        When nothing has this id.
    InUse
        When a job needs it. One that has ended does not: it has its result.
    """
    which = (kind.id == row_id, visible(kind, store.caller))
    with store.reading() as connection:
        if connection.scalar(select(kind.number).where(*which)) is None:
            raise NotFound(f"No {KINDS[kind]} has this id.")
        newest = connection.scalar(select(func.max(JobRow.number))) or 0
        _check_unused(connection, kind, row_id, above=0)
    with store.writing() as connection:
        _check_unused(connection, kind, row_id, above=newest)
        if not connection.execute(delete(kind).where(*which)).rowcount:
            raise NotFound(f"No {KINDS[kind]} has this id.")
        audit.note(connection, store.caller, "delete", KINDS[kind], row_id)


def _check_unused(connection: Connection, kind: type[OwnedRow], row_id: str, above: int) -> None:
    """Raise InUse when a job with a number above one names an id and has not ended."""
    is_shared = connection.dialect.name == "postgresql"
    position = func.pg_catalog.position if is_shared else func.instr
    named = (
        select(JobRow.number)
        .join(PayloadRow, PayloadRow.job == JobRow.number)
        .where(
            JobRow.state.in_([QUEUED, RUNNING]),
            JobRow.number > above,
            PayloadRow.part == REQUEST,
            position(PayloadRow.content, row_id.encode()) > 0,
        )
    )
    if connection.scalar(named.limit(1)) is not None:
        raise InUse(
            f"A job that has not ended names this {KINDS[kind]}; cancel it, or wait for its end."
        )
