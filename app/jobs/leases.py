"""What a server may do with the jobs of its children: each step in one transaction.

Each names the lease that the job was given with: one that was cancelled, deleted or given to
another child meanwhile takes nothing from this one.
"""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, or_, select, update

from app.jobs import turns
from app.jobs.kinds import SOLVES
from app.jobs.messages import DraftAnswer
from app.jobs.rows import (
    CANCELLED,
    DRAFT,
    FAILED,
    FREE,
    KEPT,
    QUEUED,
    RESULT,
    RUNNING,
    SUCCEEDED,
    TIMED_OUT,
    change,
    close,
    end,
    has,
    lock,
    put,
    take_draft,
    weigh,
)
from app.limits import JOB_TIME_LIMIT_S
from app.operations.callers import Caller, working_for
from app.storage.clock import Moment
from app.storage.database import Store
from app.storage.tables import JobRow

#: A database that keeps a write waiting for longer is in use [s].
_PROMPT_S = 1.0


_CLAIMED = (
    JobRow.number,
    JobRow.id,
    JobRow.kind,
    JobRow.name,
    JobRow.limit_s,
    JobRow.request_id,
    JobRow.attempts,
    JobRow.owner.label("owner"),
    JobRow.team,
    JobRow.lane,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A job for one child; ``owner`` and ``team`` are whose it is, ``lane`` is where it waited."""

    number: int
    id: str
    kind: str
    name: str
    limit_s: float | None
    request_id: str
    lease: str
    attempts: int
    owner: str | None = None
    team: str | None = None
    lane: str = SOLVES

    @property
    def caller(self) -> Caller | None:
        """Who it is worked on for."""
        return working_for(self.owner, self.team)


class Lease(NamedTuple):
    """A job that is held: its number, its time limit [s], whether somebody asked for its end."""

    number: int
    limit_s: float
    is_cancelled: bool


def is_waiting(store: Store, kinds: Sequence[str]) -> bool:
    """Tell whether a job waits for a child."""
    with store.reading() as connection:
        query = select(JobRow.number).where(JobRow.state == QUEUED, JobRow.kind.in_(kinds))
        return connection.execute(query.limit(1)).first() is not None


def claim(store: Store, server: str, lanes: Sequence[str]) -> Claim | None:
    """Give the next job of some lanes to a child of a server; None when none waits.

    Whose turn it is :mod:`app.jobs.turns` says; what another server takes meanwhile is passed over.
    """
    with store.reading() as connection:
        here = select(JobRow.number).where(JobRow.state == QUEUED, JobRow.lane.in_(lanes))
        if connection.execute(here.limit(1)).first() is None:
            return None
    with store.changing() as connection:
        for head in turns.waiting(connection, lanes):
            its = (JobRow.lane == head.lane, JobRow.share == head.share)
            oldest = select(*_CLAIMED).where(JobRow.state == QUEUED, *its).order_by(JobRow.number)
            found = connection.execute(oldest.limit(1).with_for_update(skip_locked=True))
            if row := found.mappings().first():
                break
        else:
            return None
        lease = secrets.token_hex(8)
        values = {
            "state": RUNNING,
            "server": server,
            "lease": lease,
            "attempts": row["attempts"] + 1,
            "started_at": Moment(),
            "heartbeat_at": Moment(),
            "spent_s": 0.0,
        }
        change(connection, row["number"], None, values)
    return Claim(**{**row, "attempts": row["attempts"] + 1}, lease=lease)


def describe(store: Store, job: Claim, name: str, limit_s: float) -> bool:
    """Note what was found when the request was read; False when the lease is another's."""
    with store.changing() as connection:
        return change(connection, job.number, job.lease, {"name": name, "limit_s": limit_s})


def renew(
    store: Store,
    job: Claim,
    progress: Mapping[str, Any] | None,
    draft: DraftAnswer | None,
    spent_s: float | None = None,
) -> bool:
    """Show that a job is at work, how far it is, and keep a better draft with its summary.

    ``spent_s`` is the processor time that it has used [s], None when nobody knows anew; so in all
    that ends it. False when the lease is another's.
    """
    with store.changing() as connection:
        values = {"heartbeat_at": Moment(), **_news(progress, draft), **_spent(spent_s)}
        if not change(connection, job.number, job.lease, values):
            return False
        if draft is not None:
            put(connection, job.number, DRAFT, draft.text)
            if draft.kept is not None:
                put(connection, job.number, KEPT, draft.kept)
    return True


def _news(progress: Mapping[str, Any] | None, draft: DraftAnswer | None) -> dict[str, Any]:
    """Return what changes of a job that has told something."""
    values = {} if progress is None else {"progress": json.dumps(progress)}
    return values if draft is None else {**values, "summary": json.dumps(draft.summary)}


def _spent(seconds: float | None) -> dict[str, Any]:
    return {} if seconds is None else {"spent_s": seconds}


def _charge(connection: Connection, number: int) -> None:
    turns.charge(connection, [JobRow.number == number])


def drafted(store: Store, job: Claim) -> dict[str, Any]:
    """Return the summary of the draft that an attempt before left; empty without one."""
    with store.reading() as connection:
        if not has(connection, job.number, DRAFT):
            return {}
        text = connection.scalar(select(JobRow.summary).where(JobRow.number == job.number))
    found: dict[str, Any] = json.loads(text or "{}")
    return found


def succeed(
    store: Store,
    job: Claim,
    result: bytes,
    summary: Mapping[str, Any],
    spent_s: float | None = None,
    *,
    is_repeated: bool = True,
) -> bool:
    """Keep the result of a job; False when the lease is another's.

    ``is_repeated`` lets it answer the same content asked again.
    """
    values = {**end(SUCCEEDED), "summary": json.dumps(summary), **_spent(spent_s)}
    values |= {} if is_repeated else {"content": None}
    with store.changing() as connection:
        if not change(connection, job.number, job.lease, values):
            return False
        close(connection, job.number)
        put(connection, job.number, RESULT, result)
        weigh(connection, job.number)
        _charge(connection, job.number)
    return True


def fail(
    store: Store,
    job: Claim,
    error: Mapping[str, Any],
    state: str = FAILED,
    spent_s: float | None = None,
) -> bool:
    """Say why a job has no result; False when the lease is another's."""
    values = {**end(state), "error": json.dumps(error), "summary": "{}", **_spent(spent_s)}
    with store.changing() as connection:
        if not change(connection, job.number, job.lease, values):
            return False
        close(connection, job.number)
        _charge(connection, job.number)
    return True


def settle(
    store: Store,
    job: Claim,
    error: Mapping[str, Any] | None,
    progress: Mapping[str, Any] | None = None,
    draft: DraftAnswer | None = None,
    spent_s: float | None = None,
) -> bool:
    """End a job before it is done, with its draft: one that is told now, else the last.

    Its time is over, which ``error`` says where there is no draft; None when it was cancelled. A
    draft is no answer to the same content asked again. False when the lease is another's.
    """
    with store.changing() as connection:
        if not lock(connection, job.number, job.lease):
            return False
        if draft is not None:
            put(connection, job.number, DRAFT, draft.text)
        values = {"content": None, **_news(progress, draft), **_spent(spent_s)}
        if error is None:
            values |= end(CANCELLED)
        elif has(connection, job.number, DRAFT):
            values |= end(SUCCEEDED)
        else:
            values |= {**end(TIMED_OUT), "error": json.dumps(error)}
        change(connection, job.number, job.lease, values)
        take_draft(connection, job.number)
        _charge(connection, job.number)
    return True


def hand_back(
    store: Store,
    number: int,
    lease: str,
    *,
    died: bool,
    spent_s: float | None = None,
    lane: str | None = None,
) -> bool:
    """Let another child have a job; an attempt whose child did not die is none.

    It waits where it did, or in a ``lane``.
    """
    attempts = JobRow.attempts if died else JobRow.attempts - 1
    values = {**FREE, "state": QUEUED, "attempts": attempts, **_spent(spent_s)}
    with store.changing() as connection:
        if not change(connection, number, lease, values | ({"lane": lane} if lane else {})):
            return False
        _charge(connection, number)
    return True


def moment(store: Store) -> str:
    """Return the time of day by the clock of heartbeats: the database's."""
    with store.reading() as connection:
        return connection.scalars(select(Moment())).one()


def recover(store: Store, server: str, silent_s: float) -> int:
    """Hand back what other servers had at work and have been silent about for so long [s].

    Returns how many jobs that are; none when the database kept this server waiting, for then it
    kept the others from showing themselves. The clock is the database's; a heartbeat of the future
    is of one that was set back.
    """
    silent = or_(JobRow.heartbeat_at < Moment(silent_s), JobRow.heartbeat_at > Moment(-silent_s))
    lost = (JobRow.state == RUNNING, JobRow.server != server, silent)
    with store.reading() as connection:
        if connection.scalar(select(JobRow.number).where(*lost).limit(1)) is None:
            return 0
    values = {**FREE, "state": QUEUED, "attempts": JobRow.attempts - 1}
    began = time.monotonic()
    with store.writing() as connection:
        if time.monotonic() - began > _PROMPT_S:
            return 0
        turns.charge(connection, lost)
        return connection.execute(
            update(JobRow).where(*lost).values({**values, "revision": JobRow.revision + 1})
        ).rowcount


def held(store: Store, server: str) -> dict[str, Lease]:
    """Return the leases that a server's children hold, and of which jobs they are."""
    columns = (JobRow.lease, JobRow.number, JobRow.limit_s, JobRow.cancel_at)
    query = select(*columns).where(JobRow.state == RUNNING, JobRow.server == server)
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return {
        lease: Lease(number, JOB_TIME_LIMIT_S if limit_s is None else limit_s, at is not None)
        for lease, number, limit_s, at in rows
        if lease is not None
    }
