"""Jobs as they are: found, listed, cancelled, deleted. The row is the truth."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, delete, func, select

from app.errors import NoResult, NotFound
from app.jobs import turns
from app.jobs.kinds import KINDS
from app.jobs.rows import (
    CANCELLED,
    ENDED,
    FILE,
    QUEUED,
    REQUEST,
    RESULT,
    RUNNING,
    change,
    end,
    take_draft,
)
from app.limits import KEY_LIFETIME_H
from app.operations.callers import Caller
from app.storage import audit
from app.storage.clock import Moment, shifted
from app.storage.cursors import older
from app.storage.database import Store
from app.storage.owners import visible
from app.storage.tables import JobRow, KeyRow, PayloadRow, TagRow

#: So many jobs are deleted, or looked at, in one transaction.
_AT_ONCE = 100


_PROGRESS = ("phase", "completed", "total", "incumbent_us", "lower_bound_us", "gap")


#: What is told of a job.
_LIGHT: tuple[Any, ...] = (
    JobRow.number,
    JobRow.id,
    JobRow.kind,
    JobRow.state,
    JobRow.name,
    JobRow.created_at,
    JobRow.started_at,
    JobRow.finished_at,
    JobRow.attempts,
    JobRow.revision,
    JobRow.heartbeat_at,
    JobRow.progress,
    JobRow.error,
    JobRow.summary,
    JobRow.owner.label("owner"),
    JobRow.team,
    JobRow.traceparent,
)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job without what is large; ``owner`` and ``team`` are whose it is, and are not told."""

    number: int
    id: str
    kind: str
    state: str
    name: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    attempts: int
    revision: int
    progress: dict[str, Any] | None
    error: dict[str, Any] | None
    summary: dict[str, Any]
    owner: str | None = None
    team: str | None = None
    traceparent: str | None = None
    tags: list[str] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ENDED

    def light(self) -> dict[str, Any]:
        """Return what every answer tells of a job."""
        return {
            "id": self.id,
            "state": self.state,
            "created_at": self.created_at,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "tags": self.tags,
            "attempts": self.attempts,
            "progress": self.progress,
            "error": self.error,
        }


def get(store: Store, kind: str, job_id: str) -> JobRecord:
    """Return a job, or raise NotFound."""
    with store.reading() as connection:
        return _get(connection, kind, job_id, store.caller)


def get_all(store: Store, wanted: Sequence[tuple[str, str]]) -> list[JobRecord | Exception]:
    """Return the job of each kind and id, or its NotFound: two looks at the database for all."""
    with store.reading() as connection:
        ids = {job_id for _, job_id in wanted}
        rows = connection.execute(_light().where(JobRow.id.in_(ids))).mappings().all()
        tags = _tags(connection, [row["number"] for row in rows])
    records = {(row["kind"], row["id"]): _job(row, tags.get(row["number"], [])) for row in rows}
    return [records.get(each) or not_found(each[0]) for each in wanted]


def revisions(store: Store, ids: Sequence[str]) -> dict[str, tuple[int, bool]]:
    """Return the revision of each job that there is, and whether it has ended."""
    states = {}
    with store.reading() as connection:
        for i in range(0, len(ids), _AT_ONCE):
            some = JobRow.id.in_(ids[i : i + _AT_ONCE])
            query = select(JobRow.id, JobRow.revision, JobRow.state).where(some)
            for job_id, revision, state in connection.execute(query):
                states[job_id] = (revision, state in ENDED)
    return states


def payload(store: Store, number: int, part: str) -> bytes | None:
    """Return something large of a job, None when there is none."""
    query = select(PayloadRow.content).where(PayloadRow.job == number, PayloadRow.part == part)
    with store.reading() as connection:
        return connection.scalar(query)


def payload_bytes(store: Store, number: int, part: str) -> int:
    """Return how long something large of a job is [bytes], 0 when there is none."""
    which = (PayloadRow.job == number, PayloadRow.part == part)
    with store.reading() as connection:
        return connection.scalar(select(func.length(PayloadRow.content)).where(*which)) or 0


def requested(store: Store, kind: str, job_id: str) -> bytes:
    """Return the request of a job as it was posted, JSON text; NotFound when there is none."""
    with store.reading() as connection:
        job = _get(connection, kind, job_id, store.caller)
        which = (PayloadRow.job == job.number, PayloadRow.part == REQUEST)
        content: bytes = connection.execute(select(PayloadRow.content).where(*which)).scalar_one()
    return content


def answered(store: Store, kind: str, job_id: str) -> tuple[bytes, bytes]:
    """Return the request of a job and its result, both JSON text.

    Raises
    ------
    NotFound, NoResult
        When there is no such job, or no result of it.
    """
    with store.reading() as connection:
        job = _get(connection, kind, job_id, store.caller)
        parts = select(PayloadRow.part, PayloadRow.content).where(PayloadRow.job == job.number)
        both = parts.where(PayloadRow.part.in_([REQUEST, RESULT]))
        payloads = {row.part: row.content for row in connection.execute(both)}
    if not job.has_ended or RESULT not in payloads:
        raise NoResult(f"This {KINDS[kind].word} has no result: it is {job.state}.")
    return payloads[REQUEST], payloads[RESULT]


def files(store: Store, number: int) -> list[bytes]:
    """Return the uploads of a job, in their order."""
    query = select(PayloadRow.content).where(
        PayloadRow.job == number, PayloadRow.part.startswith(FILE)
    )
    with store.reading() as connection:
        return list(connection.scalars(query.order_by(PayloadRow.part)))


def listed(
    store: Store,
    kinds: Sequence[str],
    *,
    limit: int,
    cursor: str | None,
    states: Sequence[str],
    tags: Sequence[str],
    text: str = "",
) -> list[JobRecord]:
    """Return jobs, the newest first: of these kinds and in these states, of any where none is said.

    ``cursor`` is of a row that they are older than (:mod:`app.storage.cursors`); they have all the
    tags, and the text in their name.

    Raises
    ------
    InvalidRequest
        When that is no cursor.
    """
    query = _light().where(visible(JobRow, store.caller)).order_by(JobRow.number.desc())
    query = query.limit(limit)
    if kinds:
        query = query.where(JobRow.kind.in_(kinds))
    if text:
        query = query.where(JobRow.name.icontains(text, autoescape=True))
    if cursor is not None:
        query = query.where(older(JobRow, cursor, store.caller))
    if states:
        query = query.where(JobRow.state.in_(states))
    for tag in tags:
        query = query.where(JobRow.number.in_(select(TagRow.job).where(TagRow.tag == tag)))
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
        words = _tags(connection, [row["number"] for row in rows])
    return [_job(row, words.get(row["number"], [])) for row in rows]


def ask_to_end(store: Store, kind: str, job_id: str) -> JobRecord:
    """End a job that waits; ask the server of one at work to end it with the best in hand.

    That is the change that is kept of a cancel, whatever then ends the job; asking again is none.
    """
    with store.changing() as connection:
        job = _get(connection, kind, job_id, store.caller, locked=True)
        asked_at = select(JobRow.cancel_at).where(JobRow.number == job.number)
        was_asked = connection.scalar(asked_at) is not None
        if job.has_ended or (was_asked and job.state == RUNNING):
            return job
        if job.state == RUNNING:
            change(connection, job.number, None, {"cancel_at": Moment()})
        else:
            _cancel(connection, job)
        if not was_asked:
            audit.note(connection, store.caller, "cancel", KINDS[kind].word, job_id)
        return _get(connection, kind, job_id, store.caller)


def cancel(store: Store, kind: str, job_id: str) -> JobRecord:
    """End a job that has not ended, and keep its last draft; its server finds its lease gone."""
    with store.changing() as connection:
        job = _get(connection, kind, job_id, store.caller, locked=True)
        if not job.has_ended:
            _cancel(connection, job)
        return _get(connection, kind, job_id, store.caller)


def _cancel(connection: Connection, job: JobRecord) -> None:
    change(connection, job.number, None, {**end(CANCELLED), "content": None})
    take_draft(connection, job.number)
    turns.charge(connection, [JobRow.number == job.number])


def remove(store: Store, kind: str, job_id: str) -> None:
    """Delete a job and all that belongs to it, or raise NotFound."""
    with store.changing() as connection:
        job = _get(connection, kind, job_id, store.caller, locked=True)
        turns.charge(connection, [JobRow.number == job.number])
        _remove(connection, [job.number])
        audit.note(connection, store.caller, "delete", KINDS[kind].word, job_id)


def expire(store: Store, days: float, at: str) -> int:
    """Delete jobs that ended so many days before a time, and keys of a day before; count the jobs.

    Not all at once: a batch.
    """
    ended = shifted(at, -days * 86_400)
    old = select(JobRow.number).where(JobRow.finished_at < ended).limit(_AT_ONCE)
    with store.reading() as connection:
        numbers = list(connection.scalars(old))
    with store.writing() as connection:
        connection.execute(
            select(JobRow.number).where(JobRow.number.in_(numbers)).with_for_update()
        )
        keys = KeyRow.created_at < shifted(at, -KEY_LIFETIME_H * 3_600)
        connection.execute(delete(KeyRow).where(keys))
        _remove(connection, numbers)
    return len(numbers)


def counts(store: Store) -> list[tuple[str, str, int]]:
    """Count the jobs of each kind that wait, and that are at work."""
    counted = select(JobRow.kind, JobRow.state, func.count())
    alive = counted.where(JobRow.state.in_([QUEUED, RUNNING]))
    query = alive.group_by(JobRow.kind, JobRow.state)
    with store.reading() as connection:
        return [(kind, state, count) for kind, state, count in connection.execute(query)]


def not_found(kind: str) -> NotFound:
    """Return what is raised for a job that is not there, or is another's."""
    return NotFound(f"No {KINDS[kind].word} has this id.")


def _light() -> Select[Any]:
    return select(*_LIGHT)


def _get(
    connection: Connection, kind: str, job_id: str, caller: Caller | None, *, locked: bool = False
) -> JobRecord:
    query = _light().where(JobRow.id == job_id, JobRow.kind == kind, visible(JobRow, caller))
    if locked:  # until the end of the transaction nobody else changes it
        query = query.with_for_update()
    row = connection.execute(query).mappings().first()
    if row is None:
        raise not_found(kind)
    return _job(row, _tags(connection, [row["number"]]).get(row["number"], []))


def _tags(connection: Connection, numbers: Sequence[int]) -> dict[int, list[str]]:
    """Return the words on each of some jobs."""
    tags: dict[int, list[str]] = {}
    if numbers:
        of_these = select(TagRow.job, TagRow.tag).where(TagRow.job.in_(numbers))
        for job, word in connection.execute(of_these):
            tags.setdefault(job, []).append(word)
    return tags


def _job(row: Mapping[Any, Any], tags: list[str]) -> JobRecord:
    values = dict(row)
    written, beat_at = values.pop("progress"), values.pop("heartbeat_at")
    error = values.pop("error")
    progress = dict.fromkeys(_PROGRESS) | (json.loads(written) if written else {})
    return JobRecord(
        **{**values, "summary": json.loads(values["summary"])},
        progress={**progress, "heartbeat_at": beat_at} if written or beat_at else None,
        error=json.loads(error) if error else None,
        tags=sorted(tags),  # here: databases differ in the order of texts
    )


def _remove(connection: Connection, numbers: Sequence[int]) -> None:
    for table, column in (
        (PayloadRow, PayloadRow.job),
        (TagRow, TagRow.job),
        (KeyRow, KeyRow.job),
        (JobRow, JobRow.number),
    ):
        connection.execute(delete(table).where(column.in_(numbers)))
