"""Jobs as they are asked for: kept, or found where the same was asked before."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from app.errors import InvalidRequest, QueueFull, RateLimited
from app.jobs import turns
from app.jobs.kinds import KINDS, SMALL, queued_in
from app.jobs.rows import FILE, QUEUED, REQUEST, SUCCEEDED, change, put, tag
from app.limits import MAX_JOB_TAGS
from app.operations.callers import Caller
from app.operations.shares import team_of
from app.storage import audit
from app.storage.clock import Moment
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey, counts_since
from app.storage.owners import own, values_of
from app.storage.quotas import check_queue
from app.storage.tables import JobRow, KeyRow, PayloadRow, TagRow


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
    is_small
        Whether it is done in about a second of processor time, as far as can be seen.
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
    is_small: bool = False

    @property
    def lane(self) -> str:
        """Where it waits."""
        return SMALL if self.is_small else KINDS[self.kind].queue

    @property
    def size(self) -> int:
        """How much of the disk it takes while it waits [bytes]."""
        return len(self.request) + sum(map(len, self.files))


@dataclass(frozen=True, slots=True)
class Receipt:
    """The job that answers: ``is_stored`` when it is one that had succeeded before."""

    id: str
    is_stored: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """A job as a call asks for it.

    Attributes
    ----------
    new
        What is to be done.
    key
        The call's idempotency key; None without.
    fresh
        Whether a new one is wanted even where the same content was answered before.
    """

    new: NewJob
    key: IdempotencyKey | None = None
    fresh: bool = False


class Room(NamedTuple):
    """So many jobs, and so many bytes, may wait in a queue; one that waits alone may have more.

    An owner that has some waiting already may have no more of either than are free then, nor may
    his team: who comes finds half, a quarter, ... of the room, whatever others do (dynamic
    thresholds [1]_). Where keys are off nobody is told from another, and all is for whoever asks.

    References
    ----------
    .. [1] A. K. Choudhury and E. L. Hahne, Dynamic queue length thresholds for shared-memory packet
           switches, 1998.
    """

    jobs: int
    bytes: int


def add_all(store: Store, asked: Sequence[Submission], room: Room) -> list[Receipt | Exception]:
    """Keep the jobs that are asked for, or find those that answer already.

    In one transaction, and in none that writes where all were answered before. Jobs wait in the
    queues of their kinds, each of which has that ``room``.

    Returns
    -------
    list
        For each a receipt, or the error of that one: InvalidRequest when its key was used for
        something else, QueueFull when there is no room, RateLimited when no more of the caller's
        may wait.
    """
    found: dict[int, Receipt | Exception] = {}
    looked = [i for i, each in enumerate(asked) if each.key is None and not each.fresh]
    if looked:
        with store.reading() as connection:
            for i in looked:
                job = _answered(connection, asked[i].new, held=False)
                if job is not None and not job.lacks:
                    found[i] = Receipt(job.id, is_stored=True)
    left = [i for i in range(len(asked)) if i not in found]
    if left:
        with store.writing() as connection:
            queues = _Queues(connection, room)
            for i in left:
                try:
                    found[i] = _add(connection, asked[i], queues)
                except (InvalidRequest, QueueFull, RateLimited) as error:
                    found[i] = error  # raised before anything was written
    return [found[i] for i in range(len(asked))]


class _Queues:
    """What waits in each queue, and which shares do, found once in a transaction."""

    def __init__(self, connection: Connection, room: Room) -> None:
        self._connection, self._room = connection, room
        self._waiting: dict[str, dict[str, tuple[int, int]]] = {}
        self._shares: set[str] = set()

    def join(self, caller: Caller | None) -> str:
        """Let the share of a caller wait; return it."""
        share = turns.share_for(caller)
        if share not in self._shares:
            turns.join(self._connection, share)
            self._shares.add(share)
        return share

    def take(self, new: NewJob) -> None:
        """Let one more wait; raise QueueFull, or RateLimited when its owner has its part."""
        queue, share = KINDS[new.kind].queue, turns.share_for(new.caller)
        if queue not in self._waiting:
            self._waiting[queue] = turns.queued(self._connection, queued_in(queue))
        waiting = self._waiting[queue]
        count, size = (sum(each[i] for each in waiting.values()) for i in range(2))
        if count >= self._room.jobs:
            raise QueueFull(f"{self._room.jobs:,} jobs wait already; try again later.")
        if count and size + new.size > self._room.bytes:
            raise QueueFull(
                f"Jobs of {size:,} bytes wait already, and {self._room.bytes:,} may "
                "(max_queued_bytes); try again later."
            )
        own, own_size = waiting.get(share, (0, 0))
        team = team_of(share) or share
        mates = [each for name, each in waiting.items() if (team_of(name) or name) == team]
        all_own, all_size = (sum(each[i] for each in mates) for i in range(2))
        is_much = (
            all_own >= self._room.jobs - count or all_size > self._room.bytes - size - new.size
        )
        if own and is_much and new.caller is not None:
            whose = "yours" if all_own == own else f"yours, {all_own:,} your team's"
            raise RateLimited(
                f"Of {count:,} jobs that wait {own:,} are {whose}: what is free of the queue is "
                "for others; try again later."
            )
        waiting[share] = own + 1, own_size + new.size


def _add(connection: Connection, asked: Submission, queues: _Queues) -> Receipt:
    new, key = asked.new, asked.key
    if key is not None and (found := _of_key(connection, key)):
        return Receipt(found)
    job = None if asked.fresh else _answered(connection, new, held=True)
    if job is None:
        check_queue(connection, new.caller)
        queues.take(new)
        number, job_id = _insert(connection, new, queues.join(new.caller))
    else:
        number, job_id = job.number, job.id
        if job.lacks:
            tag(connection, number, job.lacks)
            change(connection, number, None, {})
            audit.note(connection, new.caller, "tag", KINDS[new.kind].word, job_id)
    if key is not None:
        connection.execute(delete(KeyRow).where(KeyRow.key == key.key))  # its day is over
        used = {"key": key.key, "fingerprint": key.fingerprint, "job": number}
        connection.execute(insert(KeyRow).values({**used, "created_at": Moment()}))
    return Receipt(job_id, is_stored=job is not None)


def id_of_key(store: Store, key: IdempotencyKey) -> str | None:
    """Return the id of the job that a key stands for, None when it is new.

    Raises
    ------
    InvalidRequest
        When it was used for something else.
    """
    with store.reading() as connection:
        return _of_key(connection, key)


def _insert(connection: Connection, new: NewJob, share: str) -> tuple[int, str]:
    job_id = secrets.token_hex(8)
    values = {
        "id": job_id,
        "kind": new.kind,
        "state": QUEUED,
        "name": new.name,
        "created_at": Moment(),
        "attempts": 0,
        "revision": 1,
        "request_id": new.request_id,
        "limit_s": new.limit_s,
        "summary": "{}",
        "content": new.content,
        "bytes": new.size,
        "traceparent": new.traceparent,
        "lane": new.lane,
        "share": share,
        "weight": 1.0 if new.caller is None else new.caller.quotas.weight,
        **values_of(new.caller),
    }
    key = connection.execute(insert(JobRow).values(values)).inserted_primary_key
    assert key is not None, "a row has a number"
    connection.execute(insert(PayloadRow).values(job=key[0], part=REQUEST, content=new.request))
    for i, content in enumerate(new.files):
        put(connection, key[0], f"{FILE}{i:05}", content)
    tag(connection, key[0], new.tags)
    audit.note(connection, new.caller, "make", KINDS[new.kind].word, job_id)
    return key[0], job_id


def _of_key(connection: Connection, key: IdempotencyKey) -> str | None:
    """Find the job of a key that still counts."""
    query = select(KeyRow.fingerprint, JobRow.id).join(JobRow, JobRow.number == KeyRow.job)
    counts = KeyRow.created_at > counts_since()
    row = connection.execute(query.where(KeyRow.key == key.key, counts)).first()
    if row is None:
        return None
    key.check(row[0])
    return str(row[1])


class _Same(NamedTuple):
    """A job of the same content that succeeded, and the tags that it would be given."""

    number: int
    id: str
    lacks: list[str]


def _answered(connection: Connection, new: NewJob, *, held: bool) -> _Same | None:
    """Find the newest job of the same content that succeeded, if it has room for the tags.

    One that is ``held`` nobody deletes before the transaction ends.
    """
    mine = own(JobRow, new.caller)
    same = (JobRow.content == new.content, JobRow.state == SUCCEEDED, mine)
    newest = select(JobRow.number, JobRow.id).where(*same).order_by(JobRow.number.desc()).limit(1)
    if held:
        newest = newest.with_for_update(read=True, key_share=True)
    row = connection.execute(newest).first()
    if row is None:
        return None
    if not new.tags:
        return _Same(row[0], row[1], [])
    has = set(connection.scalars(select(TagRow.tag).where(TagRow.job == row[0])))
    lacks = [tag for tag in new.tags if tag not in has]
    return _Same(row[0], row[1], lacks) if len(has) + len(lacks) <= MAX_JOB_TAGS else None
