"""The tables of the database."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

#: Numbers of deleted rows are not given again: they order rows by age.
_NUMBERED = {"sqlite_autoincrement": True}


def _by_owner(table: str) -> tuple[Index, Index]:
    """Index a table by whose its rows are."""
    return (
        Index(f"{table}_by_owner", "owner", "number"),
        Index(f"{table}_by_team", "team", "number"),
    )


class Base(DeclarativeBase):
    """The tables."""

    metadata = MetaData()


class Owned:
    """What somebody made: ``owner`` and ``team`` of the API key, None when keys were off."""

    owner: Mapped[str | None] = mapped_column("owned_by", String(64), key="owner")
    team: Mapped[str | None] = mapped_column(String(64))


class OwnedRow(Owned, Base):
    """Something kept under an id; ``number`` grows, so it orders them by age.

    ``request`` is what was posted, defaults filled in, ``result`` the answer without id and age:
    JSON objects. ``bytes`` is the size of both, ``used_at`` when it was last named by a request.
    """

    __abstract__ = True

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    created_at: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(Text)
    request: Mapped[str] = mapped_column(Text)
    result: Mapped[str] = mapped_column(Text)
    bytes: Mapped[int] = mapped_column(BigInteger, server_default="0")
    used_at: Mapped[str | None] = mapped_column(String(32))


class CostModelRow(OwnedRow):
    """A cost model of this algorithm."""

    __tablename__ = "cost_models"
    __table_args__ = (*_by_owner("cost_models"), _NUMBERED)

    algorithm: Mapped[str] = mapped_column(String(32))


class GraphRow(OwnedRow):
    """A graph read from files of another tool; its id is made of its content."""

    __tablename__ = "graphs"
    __table_args__ = (*_by_owner("graphs"), _NUMBERED)

    format: Mapped[str] = mapped_column(String(32))
    ops: Mapped[int] = mapped_column(Integer)


class JobRow(Owned, Base):
    """The truth about a job; what is large is a :class:`PayloadRow`.

    ``lease`` is a word that only the child at work knows: without it nothing of the job is written.
    ``server`` is the server whose child that is. ``attempts`` counts children, without those that a
    server took with it. ``content`` is the hash of what was asked, none of what was not answered in
    full. ``progress``, ``error`` and ``summary`` are JSON. ``bytes`` is the size of its request and
    uploads, later of its request and result, ``cancel_at`` when it was asked to hand in what it
    has, ``traceparent`` the span of the call that asked for it (W3C Trace Context). ``lane`` and
    ``share`` are what it waits by (:mod:`app.jobs.turns`), null of an older server's; ``spent_s``
    is the processor time of the child at work [s], of which a part counts: one ``weight``-th.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_by_state", "state", "kind", "number"),
        Index("jobs_by_kind", "kind", "number"),
        Index("jobs_by_content", "content"),
        Index("jobs_by_end", "finished_at"),
        Index("jobs_by_turn", "state", "lane", "share", "number"),
        *_by_owner("jobs"),
        _NUMBERED,
    )

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(String(32))
    started_at: Mapped[str | None] = mapped_column(String(32))
    finished_at: Mapped[str | None] = mapped_column(String(32))
    attempts: Mapped[int] = mapped_column(Integer)
    revision: Mapped[int] = mapped_column(Integer)
    request_id: Mapped[str] = mapped_column(String(128))
    limit_s: Mapped[float | None] = mapped_column(Float)
    server: Mapped[str | None] = mapped_column("owner", String(32), key="server")
    lease: Mapped[str | None] = mapped_column(String(32))
    heartbeat_at: Mapped[str | None] = mapped_column(String(32))
    progress: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)
    summary: Mapped[str] = mapped_column(Text)
    content: Mapped[str | None] = mapped_column(String(64))
    bytes: Mapped[int] = mapped_column(BigInteger, server_default="0")
    cancel_at: Mapped[str | None] = mapped_column(String(32))
    traceparent: Mapped[str | None] = mapped_column(String(64))
    lane: Mapped[str | None] = mapped_column(String(16))
    share: Mapped[str | None] = mapped_column(String(64))
    spent_s: Mapped[float] = mapped_column(Float, server_default="0")
    weight: Mapped[float] = mapped_column(Float, server_default="1")


class PayloadRow(Base):
    """Something large of a job: ``request``, ``result``, ``draft`` or a ``file``."""

    __tablename__ = "payloads"

    job: Mapped[int] = mapped_column(Integer, ForeignKey("jobs.number"), primary_key=True)
    part: Mapped[str] = mapped_column(String(16), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class TagRow(Base):
    """A word that a client put on a job."""

    __tablename__ = "tags"
    __table_args__ = (Index("tags_by_tag", "tag", "job"),)

    job: Mapped[int] = mapped_column(Integer, ForeignKey("jobs.number"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(64), primary_key=True)


class KeyRow(Base):
    """An idempotency key, and what it was used for."""

    __tablename__ = "idempotency_keys"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    job: Mapped[int] = mapped_column(Integer, ForeignKey("jobs.number"))
    created_at: Mapped[str] = mapped_column(String(32))


class RunRow(Owned, Base):
    """A training job that executes plans; how many steps and plans it has is counted here.

    ``reported_at`` is when something was last heard of it. ``key`` is the idempotency key that it
    was begun with, ``fingerprint`` a hash of the request.
    """

    __tablename__ = "runs"
    __table_args__ = (
        Index("runs_by_state", "state", "number"),
        Index("runs_by_key", "key"),
        Index("runs_by_report", "reported_at"),
        *_by_owner("runs"),
        _NUMBERED,
    )

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    state: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(String(32))
    reported_at: Mapped[str] = mapped_column(String(32))
    ended_at: Mapped[str | None] = mapped_column(String(32))
    ended_why: Mapped[str | None] = mapped_column(Text)
    workers: Mapped[int] = mapped_column(Integer)
    barrier: Mapped[bool] = mapped_column(Boolean)
    runtime: Mapped[str] = mapped_column(Text)
    plans: Mapped[int] = mapped_column(Integer)
    steps: Mapped[int] = mapped_column(Integer)
    last_step: Mapped[int | None] = mapped_column(BigInteger)
    key: Mapped[str | None] = mapped_column(String(255))
    fingerprint: Mapped[str | None] = mapped_column(String(64))


class RunPlanRow(Base):
    """A plan that a run executes from a step on.

    ``request`` is what to simulate it with: JSON with graph, cluster, plan and barrier.
    """

    __tablename__ = "run_plans"

    run: Mapped[int] = mapped_column(Integer, ForeignKey("runs.number"), primary_key=True)
    place: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    from_step: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[str] = mapped_column(String(32))
    why: Mapped[str] = mapped_column(Text)
    plan_id: Mapped[str | None] = mapped_column(String(32))
    predicted_us: Mapped[float] = mapped_column(Float)
    buckets: Mapped[int] = mapped_column(Integer)
    launches: Mapped[int] = mapped_column(Integer)
    request: Mapped[str] = mapped_column(Text)


class RunStepRow(Base):
    """A step of a run: what it took, and what was predicted; ``plan`` is the place of its plan."""

    __tablename__ = "run_steps"
    __table_args__ = ({"sqlite_with_rowid": False},)  # found by run and step alone

    run: Mapped[int] = mapped_column(Integer, ForeignKey("runs.number"), primary_key=True)
    step: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    plan: Mapped[int] = mapped_column(Integer)
    measured_us: Mapped[float] = mapped_column(Float)
    predicted_us: Mapped[float] = mapped_column(Float)
    ready_spread_us: Mapped[float | None] = mapped_column(Float)
    note: Mapped[str | None] = mapped_column(Text)


class RunTrialRow(Base):
    """A trial of plans in a run, over before a step; ``trial`` is its report as JSON."""

    __tablename__ = "run_trials"

    run: Mapped[int] = mapped_column(Integer, ForeignKey("runs.number"), primary_key=True)
    before_step: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    created_at: Mapped[str] = mapped_column(String(32))
    trial: Mapped[str] = mapped_column(Text)


class ApiKeyRow(Base):
    """A key that lets somebody in; of the key itself only a ``hash`` is kept.

    ``scopes`` are words with spaces between them. ``limits`` is JSON: what this key may have
    instead of the settings.
    """

    __tablename__ = "api_keys"
    __table_args__ = _NUMBERED

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(Text)
    owner: Mapped[str] = mapped_column(String(64))
    team: Mapped[str | None] = mapped_column(String(64))
    scopes: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[str] = mapped_column(String(32))
    expires_at: Mapped[str | None] = mapped_column(String(32))
    revoked_at: Mapped[str | None] = mapped_column(String(32))
    used_at: Mapped[str | None] = mapped_column(String(32))
    limits: Mapped[str] = mapped_column(Text, server_default="{}")


class UsageRow(Base):
    """How long the jobs of an owner were at work on a day (UTC) [s]."""

    __tablename__ = "usage"

    owner: Mapped[str] = mapped_column(String(64), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    solving_s: Mapped[float] = mapped_column(Float, server_default="0")


class ShareRow(Base):
    """The processor time that a share is ahead of those who came first [s]: who has less is next.

    ``share`` is a team, an owner of one, or an owner without one (:mod:`app.jobs.turns`).
    """

    __tablename__ = "shares"

    share: Mapped[str] = mapped_column(String(64), primary_key=True)
    used_s: Mapped[float] = mapped_column(Float, server_default="0")


class AuditRow(Base):
    """Something that was changed, or refused: by which key, from which address, and what."""

    __tablename__ = "audit"
    __table_args__ = (Index("audit_by_time", "at"), _NUMBERED)

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    at: Mapped[str] = mapped_column(String(32))
    key: Mapped[str | None] = mapped_column(String(32))
    owner: Mapped[str | None] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(32))
    kind: Mapped[str] = mapped_column(String(32))
    target: Mapped[str] = mapped_column(String(64))
    request_id: Mapped[str] = mapped_column(String(128))
    address: Mapped[str | None] = mapped_column(String(64))
    status: Mapped[int] = mapped_column(Integer)


class ClockRow(Base):
    """One row: up to when the clock is trusted when what is old is deleted."""

    __tablename__ = "clock"

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    trusted_at: Mapped[str] = mapped_column(String(32))
