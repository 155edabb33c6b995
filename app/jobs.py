"""The table of jobs: each step of a job's life is one transaction here, and the row is the truth.

A child that works on a job, and the server that started it, name the lease that they were given: a
job that was cancelled, deleted or given to another child meanwhile takes nothing from them.
"""

import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, func, insert, or_, select, update

from app.errors import InvalidRequest, NotFound, Refusal
from app.storage import Store
from app.tables import JobRow, KeyRow, PayloadRow, TagRow
from solver.errors import Fault

QUEUED, RUNNING, SUCCEEDED = "queued", "running", "succeeded"
FAILED, CANCELLED, TIMED_OUT = "failed", "cancelled", "timed_out"
STATES = (QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED, TIMED_OUT)
ENDED = frozenset({SUCCEEDED, FAILED, CANCELLED, TIMED_OUT})
#: Parts of a job that are large.
REQUEST, RESULT, DRAFT, FILE = "request", "result", "draft", "file"
#: A job whose child died so often has failed.
MAX_ATTEMPTS = 3
#: Most tags of a job.
MAX_TAGS = 64
#: An idempotency key counts for so long [h].
KEY_HOURS = 24
#: A job whose request was not read yet may take so long [s].
MOST_S = 600.0
#: A database that keeps a write waiting for longer is in use [s].
_PROMPT_S = 1.0
#: So many jobs are deleted, or looked at, in one transaction.
_AT_ONCE = 100
_PROGRESS = ("phase", "completed", "total", "incumbent_us", "lower_bound_us", "gap")


class QueueFull(Refusal):
    """As many jobs wait as may."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "queue_full"
    retry_after_s = 5


class NoResult(Refusal):
    """A job has no result, or none yet."""

    status = HTTPStatus.CONFLICT
    code = "no_result"


@dataclass(frozen=True, slots=True)
class New:
    """A job as it is asked for.

    Attributes
    ----------
    kind
        Key of :data:`app.kinds.KINDS`.
    name
        Of its graph; empty until that is read.
    request
        JSON text.
    files
        Uploads.
    tags
        Words of the client.
    request_id
        Of the call that asked.
    limit_s
        A child is ended after that time [s]; None until the request is read.
    content
        Hash of all that the result depends on.
    """

    kind: str
    name: str
    request: bytes
    tags: Sequence[str]
    request_id: str
    limit_s: float | None
    content: str
    files: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """An idempotency key, and a hash of what it is used for."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Added:
    """The job that answers: ``is_stored`` when it is one that had succeeded before."""

    id: str
    is_stored: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job for one child."""

    number: int
    id: str
    kind: str
    name: str
    limit_s: float | None
    request_id: str
    lease: str
    attempts: int


class Held(NamedTuple):
    """A job that is held: its number, and its time limit [s]."""

    number: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Job:
    """A job without what is large."""

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


def now() -> str:
    """Return the time of day in UTC, to the microsecond."""
    return _text(datetime.now(UTC))


def ago(seconds: float) -> str:
    """Return the time of day so long ago [s]."""
    return _text(datetime.now(UTC) - timedelta(seconds=seconds))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def add(
    store: Store,
    new: New,
    key: Key | None,
    *,
    fresh: bool,
    beside: Iterable[str],
    room: int,
) -> Added:
    """Keep a job that is asked for, or find the one that answers already.

    ``fresh`` asks for a new one even where the same content was answered before; ``beside`` are the
    kinds that wait in one queue with it, which has ``room`` for so many.

    Raises
    ------
    InvalidRequest
        When the key was used for something else.
    QueueFull
        When there is no room.
    """
    with store.writing() as connection:
        if key is not None and (found := _of_key(connection, key)):
            return Added(found)
        job = None if fresh else _answered(connection, new)
        if job is None:
            waiting = select(func.count()).where(
                JobRow.state == QUEUED, JobRow.kind.in_(sorted(beside))
            )
            if (connection.scalar(waiting) or 0) >= room:
                raise QueueFull(f"{room:,} jobs wait already; try again later.")
            number, job_id = _insert(connection, new)
        else:
            number, job_id = job
        if key is not None:
            used = {"key": key.key, "fingerprint": key.fingerprint, "job": number}
            connection.execute(insert(KeyRow).values({**used, "created_at": now()}))
    return Added(job_id, is_stored=job is not None)


def id_of_key(store: Store, key: Key) -> str | None:
    """Return the id of the job that a key stands for, None when it is new.

    Raises
    ------
    InvalidRequest
        When it was used for something else.
    """
    with store.reading() as connection:
        return _of_key(connection, key)


def get(store: Store, kind: str, job_id: str) -> Job:
    """Return a job, or raise NotFound."""
    with store.reading() as connection:
        return _get(connection, kind, job_id)


def revisions(store: Store, ids: Sequence[str]) -> dict[str, tuple[int, bool]]:
    """Return the revision of each job that there is, and whether it has ended."""
    found = {}
    with store.reading() as connection:
        for i in range(0, len(ids), _AT_ONCE):
            some = JobRow.id.in_(ids[i : i + _AT_ONCE])
            query = select(JobRow.id, JobRow.revision, JobRow.state).where(some)
            for job_id, revision, state in connection.execute(query):
                found[job_id] = (revision, state in ENDED)
    return found


def payload(store: Store, number: int, part: str) -> bytes | None:
    """Return something large of a job, None when there is none."""
    query = select(PayloadRow.content).where(PayloadRow.job == number, PayloadRow.part == part)
    with store.reading() as connection:
        return connection.scalar(query)


def answered(store: Store, kind: str, job_id: str) -> tuple[bytes, bytes]:
    """Return the request of a job and its result, both JSON text.

    Raises
    ------
    NotFound, NoResult
        When there is no such job, or no result of it.
    """
    with store.reading() as connection:
        job = _get(connection, kind, job_id)
        parts = select(PayloadRow.part, PayloadRow.content).where(PayloadRow.job == job.number)
        both = parts.where(PayloadRow.part.in_([REQUEST, RESULT]))
        found = {row.part: row.content for row in connection.execute(both)}
    if not job.has_ended or RESULT not in found:
        raise NoResult(f"This {kind} has no result: it is {job.state}.")
    return found[REQUEST], found[RESULT]


def files(store: Store, number: int) -> list[bytes]:
    """Return the uploads of a job, in their order."""
    query = select(PayloadRow.content).where(
        PayloadRow.job == number, PayloadRow.part.startswith(FILE)
    )
    with store.reading() as connection:
        return list(connection.scalars(query.order_by(PayloadRow.part)))


def listed(
    store: Store,
    kind: str,
    *,
    limit: int,
    below: int | None,
    states: Sequence[str],
    tags: Sequence[str],
) -> list[Job]:
    """Return jobs, the newest first: with numbers below one, in these states, with all tags."""
    query = _light().where(JobRow.kind == kind).order_by(JobRow.number.desc()).limit(limit)
    if below is not None:
        query = query.where(JobRow.number < below)
    if states:
        query = query.where(JobRow.state.in_(states))
    for tag in tags:
        query = query.where(JobRow.number.in_(select(TagRow.job).where(TagRow.tag == tag)))
    with store.reading() as connection:
        rows = connection.execute(query).mappings().all()
        found: dict[int, list[str]] = {}
        if rows:
            numbers = [row["number"] for row in rows]
            of_these = select(TagRow.job, TagRow.tag).where(TagRow.job.in_(numbers))
            for each in connection.execute(of_these.order_by(TagRow.job, TagRow.tag)):
                found.setdefault(each.job, []).append(each.tag)
    return [_job(row, found.get(row["number"], [])) for row in rows]


def claim(store: Store, owner: str, kinds: Sequence[str]) -> Claimed | None:
    """Give the job that waits longest to a child of a server; None when none waits."""
    waiting = select(*_CLAIMED).where(JobRow.state == QUEUED, JobRow.kind.in_(kinds))
    oldest = waiting.order_by(JobRow.number).limit(1)
    with store.reading() as connection:
        if connection.execute(oldest).first() is None:
            return None
    with store.writing() as connection:
        found = connection.execute(oldest.with_for_update(skip_locked=True))
        row = found.mappings().first()
        if row is None:
            return None
        lease = secrets.token_hex(8)
        values = {
            "state": RUNNING,
            "owner": owner,
            "lease": lease,
            "attempts": row["attempts"] + 1,
            "started_at": now(),
            "heartbeat_at": now(),
        }
        _change(connection, row["number"], None, values)
    return Claimed(**{**row, "attempts": row["attempts"] + 1}, lease=lease)


def describe(store: Store, job: Claimed, name: str, limit_s: float) -> bool:
    """Note what was found when the request was read, by the child that holds the lease."""
    with store.writing() as connection:
        return _change(connection, job.number, job.lease, {"name": name, "limit_s": limit_s})


def beat(
    store: Store,
    job: Claimed,
    progress: Mapping[str, Any] | None,
    draft: tuple[bytes, dict[str, Any]] | None,
) -> bool:
    """Show that a job is at work, how far it is, and keep a better draft with its summary.

    False when the lease is another's.
    """
    values: dict[str, Any] = {"heartbeat_at": now()}
    if progress is not None:
        values["progress"] = json.dumps(progress)
    if draft is not None:
        values["summary"] = json.dumps(draft[1])
    with store.writing() as connection:
        if not _change(connection, job.number, job.lease, values):
            return False
        if draft is not None:
            _put(connection, job.number, DRAFT, draft[0])
    return True


def drafted(store: Store, job: Claimed) -> dict[str, Any]:
    """Return the summary of the draft that an attempt before left; empty without one."""
    with store.reading() as connection:
        if not _has(connection, job.number, DRAFT):
            return {}
        text = connection.scalar(select(JobRow.summary).where(JobRow.number == job.number))
    found: dict[str, Any] = json.loads(text or "{}")
    return found


def succeed(store: Store, job: Claimed, result: bytes, summary: Mapping[str, Any]) -> bool:
    """Keep the result of a job; False when the lease is another's."""
    values = {**_end(SUCCEEDED), "summary": json.dumps(summary)}
    with store.writing() as connection:
        if not _change(connection, job.number, job.lease, values):
            return False
        _close(connection, job.number)
        _put(connection, job.number, RESULT, result)
    return True


def fail(store: Store, job: Claimed, error: Mapping[str, Any], state: str = FAILED) -> bool:
    """Say why a job has no result; False when the lease is another's."""
    values = {**_end(state), "error": json.dumps(error), "summary": "{}"}
    with store.writing() as connection:
        if not _change(connection, job.number, job.lease, values):
            return False
        _close(connection, job.number)
    return True


def settle(store: Store, job: Claimed, error: Mapping[str, Any]) -> bool:
    """End a job whose time is over: with its draft if there is one, else timed out.

    A draft is no answer to the same content asked again.
    """
    with store.writing() as connection:
        has_draft = _has(connection, job.number, DRAFT)
        values = {**_end(SUCCEEDED if has_draft else TIMED_OUT), "content": None}
        values |= {} if has_draft else {"error": json.dumps(error)}
        if not _change(connection, job.number, job.lease, values):
            return False
        _take_draft(connection, job.number)
    return True


def hand_back(store: Store, number: int, lease: str, *, died: bool) -> bool:
    """Let another child have a job; an attempt whose child did not die is none."""
    attempts = JobRow.attempts if died else JobRow.attempts - 1
    with store.writing() as connection:
        values = {**_FREE, "state": QUEUED, "attempts": attempts}
        return _change(connection, number, lease, values)


def recover(store: Store, owner: str, silent_s: float) -> int:
    """Hand back what other servers had at work and have been silent about for so long [s].

    Returns how many jobs that are; none when the database kept this server waiting, for then it
    kept the others from showing themselves. A heartbeat of the future is of a clock set back.
    """
    silent = or_(JobRow.heartbeat_at < ago(silent_s), JobRow.heartbeat_at > ago(-silent_s))
    lost = (JobRow.state == RUNNING, JobRow.owner != owner, silent)
    with store.reading() as connection:
        if connection.scalar(select(JobRow.number).where(*lost).limit(1)) is None:
            return 0
    values = {**_FREE, "state": QUEUED, "attempts": JobRow.attempts - 1}
    began = time.monotonic()
    with store.writing() as connection:
        if time.monotonic() - began > _PROMPT_S:
            return 0
        return connection.execute(
            update(JobRow).where(*lost).values({**values, "revision": JobRow.revision + 1})
        ).rowcount


def held(store: Store, owner: str) -> dict[str, Held]:
    """Return the leases that a server's children hold, and of which jobs they are."""
    columns = (JobRow.lease, JobRow.number, JobRow.limit_s)
    query = select(*columns).where(JobRow.state == RUNNING, JobRow.owner == owner)
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return {
        row.lease: Held(row.number, MOST_S if row.limit_s is None else row.limit_s) for row in rows
    }


def cancel(store: Store, kind: str, job_id: str) -> Job:
    """End a job that has not ended, and keep its draft; its child finds its lease gone."""
    with store.writing() as connection:
        job = _get(connection, kind, job_id)
        if not job.has_ended:
            _change(connection, job.number, None, {**_end(CANCELLED), "content": None})
            _take_draft(connection, job.number)
        return _get(connection, kind, job_id)


def remove(store: Store, kind: str, job_id: str) -> None:
    """Delete a job and all that belongs to it, or raise NotFound."""
    with store.writing() as connection:
        _remove(connection, [_get(connection, kind, job_id).number])


def expire(store: Store, days: float) -> int:
    """Delete jobs that ended so many days ago, and keys of the day before; count the jobs."""
    old = select(JobRow.number).where(JobRow.finished_at < ago(days * 86_400)).limit(_AT_ONCE)
    with store.reading() as connection:
        numbers = list(connection.scalars(old))
    with store.writing() as connection:
        keys = KeyRow.created_at < ago(KEY_HOURS * 3_600)
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


_CLAIMED = (
    JobRow.number,
    JobRow.id,
    JobRow.kind,
    JobRow.name,
    JobRow.limit_s,
    JobRow.request_id,
    JobRow.attempts,
)
#: What nobody holds.
_FREE: dict[str, Any] = {"owner": None, "lease": None, "heartbeat_at": None}


def _end(state: str) -> dict[str, Any]:
    return {**_FREE, "state": state, "finished_at": now()}


def _change(
    connection: Connection, number: int, lease: str | None, values: Mapping[str, Any]
) -> bool:
    """Change a job, of which a lease is held or not; tell whether it still was."""
    which = [JobRow.number == number, *([JobRow.lease == lease] if lease else [])]
    changed = {**values, "revision": JobRow.revision + 1}
    return connection.execute(update(JobRow).where(*which).values(changed)).rowcount > 0


def _light() -> Select[Any]:
    heavy = {"request_id", "limit_s", "owner", "lease", "content"}
    return select(*(column for column in JobRow.__table__.columns if column.key not in heavy))


def _get(connection: Connection, kind: str, job_id: str) -> Job:
    query = _light().where(JobRow.id == job_id, JobRow.kind == kind)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFound(f"No {kind} has this id.")
    tags = select(TagRow.tag).where(TagRow.job == row["number"]).order_by(TagRow.tag)
    return _job(row, list(connection.scalars(tags)))


def _job(row: Mapping[Any, Any], tags: list[str]) -> Job:
    values = dict(row)
    told, beat_at = values.pop("progress"), values.pop("heartbeat_at")
    error = values.pop("error")
    progress = dict.fromkeys(_PROGRESS) | (json.loads(told) if told else {})
    return Job(
        **{**values, "summary": json.loads(values["summary"])},
        progress={**progress, "heartbeat_at": beat_at} if told or beat_at else None,
        error=json.loads(error) if error else None,
        tags=tags,
    )


def _insert(connection: Connection, new: New) -> tuple[int, str]:
    job_id = secrets.token_hex(8)
    values = {
        "id": job_id,
        "kind": new.kind,
        "state": QUEUED,
        "name": new.name,
        "created_at": now(),
        "attempts": 0,
        "revision": 1,
        "request_id": new.request_id,
        "limit_s": new.limit_s,
        "summary": "{}",
        "content": new.content,
    }
    key = connection.execute(insert(JobRow).values(values)).inserted_primary_key
    assert key is not None, "a row has a number"
    _put(connection, key[0], REQUEST, new.request)
    for i, content in enumerate(new.files):
        _put(connection, key[0], f"{FILE}{i:05}", content)
    _tag(connection, key[0], new.tags)
    return key[0], job_id


def _of_key(connection: Connection, key: Key) -> str | None:
    """Find the job of a key that still counts."""
    query = select(KeyRow.fingerprint, JobRow.id).join(JobRow, JobRow.number == KeyRow.job)
    since = ago(KEY_HOURS * 3_600)
    row = connection.execute(query.where(KeyRow.key == key.key, KeyRow.created_at > since)).first()
    if row is None:
        if connection.get_execution_options().get("write"):
            connection.execute(delete(KeyRow).where(KeyRow.key == key.key))
        return None
    if row[0] != key.fingerprint:
        detail = "Idempotency-Key: this key was used for another request in the last 24 h."
        raise InvalidRequest([Fault("/header/Idempotency-Key", "idempotency_key_reused", detail)])
    return str(row[1])


def _answered(connection: Connection, new: New) -> tuple[int, str] | None:
    """Find a job of the same content that succeeded, and give it the tags; None when it has none.

    It must have room for them.
    """
    same = (JobRow.content == new.content, JobRow.state == SUCCEEDED)
    newest = select(JobRow.number, JobRow.id).where(*same).order_by(JobRow.number.desc()).limit(1)
    row = connection.execute(newest).first()
    if row is None:
        return None
    has = set(connection.scalars(select(TagRow.tag).where(TagRow.job == row[0])))
    more = [tag for tag in new.tags if tag not in has]
    if len(has) + len(more) > MAX_TAGS:
        return None
    if more:
        _tag(connection, row[0], more)
        _change(connection, row[0], None, {})
    return int(row[0]), str(row[1])


def _tag(connection: Connection, number: int, tags: Iterable[str]) -> None:
    for tag in dict.fromkeys(tags):
        connection.execute(insert(TagRow).values(job=number, tag=tag))


def _has(connection: Connection, number: int, part: str) -> bool:
    which = (PayloadRow.job == number, PayloadRow.part == part)
    return connection.scalar(select(func.count()).where(*which)) != 0


def _put(connection: Connection, number: int, part: str, content: bytes) -> None:
    _drop(connection, number, part)
    connection.execute(insert(PayloadRow).values(job=number, part=part, content=content))


def _drop(connection: Connection, number: int, part: str) -> None:
    which = (PayloadRow.job == number, PayloadRow.part == part)
    connection.execute(delete(PayloadRow).where(*which))


def _close(connection: Connection, number: int) -> None:
    """Drop what only a job at work needs: its draft, and the uploads."""
    over = or_(PayloadRow.part == DRAFT, PayloadRow.part.startswith(FILE))
    connection.execute(delete(PayloadRow).where(PayloadRow.job == number, over))


def _take_draft(connection: Connection, number: int) -> None:
    """Let the draft be the result."""
    which = (PayloadRow.job == number, PayloadRow.part == DRAFT)
    connection.execute(update(PayloadRow).where(*which).values(part=RESULT))
    _close(connection, number)


def _remove(connection: Connection, numbers: Sequence[int]) -> None:
    for table, column in (
        (PayloadRow, PayloadRow.job),
        (TagRow, TagRow.job),
        (KeyRow, KeyRow.job),
        (JobRow, JobRow.number),
    ):
        connection.execute(delete(table).where(column.in_(numbers)))
