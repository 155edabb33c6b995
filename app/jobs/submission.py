"""Jobs as they are asked for: checked, hashed, kept, or found where the same was asked before."""

import json
import secrets
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, insert, select

from app import VERSION
from app.errors import QueueFull
from app.jobs.kinds import IMPORT, KINDS, MODELS
from app.jobs.rows import FILE, QUEUED, REQUEST, SUCCEEDED, change, put, tag
from app.jobs.tasks import limit_of, name_of
from app.limits import BIG_BODY_BYTES, JOB_TIME_LIMIT_S, MAX_JOB_TAGS
from app.operations.callers import Caller
from app.operations.tracing import here
from app.reading.references import LargeGraph
from app.reading.requests import read_body
from app.storage import audit
from app.storage.clock import now
from app.storage.database import Store
from app.storage.idempotency import Key, counts_since, fingerprint
from app.storage.library import library_of
from app.storage.owners import own, values_of
from app.storage.quotas import check_queue
from app.storage.tables import JobRow, KeyRow, TagRow


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job as it is asked for.

    Attributes
    ----------
    kind
        Key of :data:`app.jobs.kinds.KINDS`.
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
    caller
        Who asks; None where keys are off.
    traceparent
        The span of the call that asks (W3C Trace Context); None without.
    """

    kind: str
    name: str
    request: bytes
    tags: Sequence[str]
    request_id: str
    limit_s: float | None
    content: str
    files: Sequence[bytes] = ()
    caller: Caller | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The job that answers: ``is_stored`` when it is one that had succeeded before."""

    id: str
    is_stored: bool = False


def add(
    store: Store,
    new: NewJob,
    key: Key | None,
    *,
    fresh: bool,
    beside: Iterable[str],
    room: int,
) -> Receipt:
    """Keep a job that is asked for, or find the one that answers already.

    ``fresh`` asks for a new one even where the same content was answered before; ``beside`` are the
    kinds that wait in one queue with it, which has ``room`` for so many.

    Raises
    ------
    InvalidRequest
        When the key was used for something else.
    QueueFull, RateLimited
        When there is no room, or no more of the caller's may wait.
    """
    with store.writing() as connection:
        if key is not None and (found := _of_key(connection, key)):
            return Receipt(found)
        job = None if fresh else _answered(connection, new)
        if job is None:
            waiting = select(func.count()).where(
                JobRow.state == QUEUED, JobRow.kind.in_(sorted(beside))
            )
            if (connection.scalar(waiting) or 0) >= room:
                raise QueueFull(f"{room:,} jobs wait already; try again later.")
            check_queue(connection, new.caller)
            number, job_id = _insert(connection, new)
        else:
            number, job_id = job
        if key is not None:
            connection.execute(delete(KeyRow).where(KeyRow.key == key.key))  # its day is over
            used = {"key": key.key, "fingerprint": key.fingerprint, "job": number}
            connection.execute(insert(KeyRow).values({**used, "created_at": now()}))
    return Receipt(job_id, is_stored=job is not None)


def id_of_key(store: Store, key: Key) -> str | None:
    """Return the id of the job that a key stands for, None when it is new.

    Raises
    ------
    InvalidRequest
        When it was used for something else.
    """
    with store.reading() as connection:
        return _of_key(connection, key)


def _insert(connection: Connection, new: NewJob) -> tuple[int, str]:
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
        "bytes": len(new.request) + sum(map(len, new.files)),
        "traceparent": new.traceparent,
        **values_of(new.caller),
    }
    key = connection.execute(insert(JobRow).values(values)).inserted_primary_key
    assert key is not None, "a row has a number"
    put(connection, key[0], REQUEST, new.request)
    for i, content in enumerate(new.files):
        put(connection, key[0], f"{FILE}{i:05}", content)
    tag(connection, key[0], new.tags)
    audit.note(connection, new.caller, "make", KINDS[new.kind].word, job_id)
    return key[0], job_id


def _of_key(connection: Connection, key: Key) -> str | None:
    """Find the job of a key that still counts."""
    query = select(KeyRow.fingerprint, JobRow.id).join(JobRow, JobRow.number == KeyRow.job)
    counts = KeyRow.created_at > counts_since()
    row = connection.execute(query.where(KeyRow.key == key.key, counts)).first()
    if row is None:
        return None
    key.check(row[0])
    return str(row[1])


def _answered(connection: Connection, new: NewJob) -> tuple[int, str] | None:
    """Find a job of the same content that succeeded, and give it the tags; None when it has none.

    It must have room for them.
    """
    mine = own(JobRow, new.caller)
    same = (JobRow.content == new.content, JobRow.state == SUCCEEDED, mine)
    newest = select(JobRow.number, JobRow.id).where(*same).order_by(JobRow.number.desc()).limit(1)
    row = connection.execute(newest).first()
    if row is None:
        return None
    has = set(connection.scalars(select(TagRow.tag).where(TagRow.job == row[0])))
    more = [tag for tag in new.tags if tag not in has]
    if len(has) + len(more) > MAX_JOB_TAGS:
        return None
    if more:
        tag(connection, row[0], more)
        change(connection, row[0], None, {})
        audit.note(connection, new.caller, "tag", KINDS[new.kind].word, row[1])
    return int(row[0]), str(row[1])


def problem_job(
    store: Store, kind: str, body: bytes | bytearray, tags: Sequence[str], request_id: str
) -> NewJob:
    """Check a request about a graph, and make a job of it.

    A request of more than :data:`BIG_BODY_BYTES`, its stored graph included, is checked by the job.

    Raises
    ------
    NotJson, InvalidRequest
        As :func:`app.reading.requests.read_body` does.
    """
    name, limit_s, content = "", None, bytes(body)
    if len(body) <= BIG_BODY_BYTES:
        with suppress(LargeGraph):
            seen = store.seen_by(store.caller and store.caller.as_owner())  # as the job will
            graph, request = read_body(body, MODELS[kind], library_of(seen, BIG_BODY_BYTES))
            name, limit_s = name_of(graph, request), limit_of(request)
            content = _sorted(body)
    hashed = fingerprint(kind, VERSION, content)
    return NewJob(
        kind,
        name,
        bytes(body),
        tags,
        request_id,
        limit_s,
        hashed,
        caller=store.caller,
        traceparent=here(),
    )


def _sorted(body: bytes | bytearray) -> bytes:
    """Write JSON without its spaces and the order of its keys."""
    value = msgspec.json.decode(body.removeprefix(BOM_UTF8))
    return msgspec.json.encode(value, order="sorted")


def import_job(
    files: Sequence[bytes],
    options: dict[str, Any],
    tags: Sequence[str],
    request_id: str,
    caller: Caller | None = None,
) -> NewJob:
    """Make a job of files to read."""
    text = json.dumps(options).encode()
    content = fingerprint(IMPORT, VERSION, text, *files)
    limit_s = JOB_TIME_LIMIT_S
    return NewJob(
        IMPORT, options["name"], text, tags, request_id, limit_s, content, files, caller, here()
    )
