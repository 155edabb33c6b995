"""The rows of a job, and steps on them within a transaction."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from app.storage.clock import Moment
from app.storage.tables import JobRow, PayloadRow, TagRow

QUEUED, RUNNING, SUCCEEDED = "queued", "running", "succeeded"


FAILED, CANCELLED, TIMED_OUT = "failed", "cancelled", "timed_out"


STATES = (QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED, TIMED_OUT)


ENDED = frozenset({SUCCEEDED, FAILED, CANCELLED, TIMED_OUT})


#: Parts of a job that are large; kept is what another attempt need not do again.
REQUEST, RESULT, DRAFT, FILE, KEPT = "request", "result", "draft", "file", "kept"


#: What nobody holds.
FREE: dict[str, Any] = {"server": None, "lease": None, "heartbeat_at": None}


def end(state: str) -> dict[str, Any]:
    """Return what changes when a job ends in a state."""
    return {**FREE, "state": state, "finished_at": Moment()}


def change(
    connection: Connection, number: int, lease: str | None, values: Mapping[str, Any]
) -> bool:
    """Change a job, of which a lease is held or not; tell whether it still was."""
    which = [JobRow.number == number, *([JobRow.lease == lease] if lease else [])]
    changed = {**values, "revision": JobRow.revision + 1}
    return connection.execute(update(JobRow).where(*which).values(changed)).rowcount > 0


def lock(connection: Connection, number: int, lease: str | None = None) -> bool:
    """Let nobody else change a job until the end; tell whether it is there, and has the lease."""
    which = [JobRow.number == number, *([JobRow.lease == lease] if lease else [])]
    query = select(JobRow.number).where(*which).with_for_update()
    return connection.execute(query).first() is not None


def tag(connection: Connection, number: int, tags: Iterable[str]) -> None:
    """Put words on a job, none of which it has."""
    for tag in dict.fromkeys(tags):
        connection.execute(insert(TagRow).values(job=number, tag=tag))


def has(connection: Connection, number: int, part: str) -> bool:
    """Tell whether a job has a part."""
    which = (PayloadRow.job == number, PayloadRow.part == part)
    return connection.scalar(select(func.count()).where(*which)) != 0


def put(connection: Connection, number: int, part: str, content: bytes) -> None:
    """Keep a part of a job in the place of an earlier one."""
    which = (PayloadRow.job == number, PayloadRow.part == part)
    connection.execute(delete(PayloadRow).where(*which))
    connection.execute(insert(PayloadRow).values(job=number, part=part, content=content))


def close(connection: Connection, number: int) -> None:
    """Drop what only a job at work needs: its draft, what is kept for an attempt, and uploads."""
    over = or_(PayloadRow.part.in_([DRAFT, KEPT]), PayloadRow.part.startswith(FILE))
    connection.execute(delete(PayloadRow).where(PayloadRow.job == number, over))


def weigh(connection: Connection, number: int) -> None:
    """Note how much is kept of a job."""
    sizes = select(func.coalesce(func.sum(func.length(PayloadRow.content)), 0))
    size = sizes.where(PayloadRow.job == number).scalar_subquery()
    connection.execute(update(JobRow).where(JobRow.number == number).values(bytes=size))


def take_draft(connection: Connection, number: int) -> None:
    """Let the draft be the result."""
    which = (PayloadRow.job == number, PayloadRow.part == DRAFT)
    connection.execute(update(PayloadRow).where(*which).values(part=RESULT))
    close(connection, number)
    weigh(connection, number)
