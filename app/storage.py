"""Plans on disk: one table, migrated to head when the store opens."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Text,
    create_engine,
    event,
    insert,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from app.errors import NotFound, StorageUnavailable
from app.settings import Settings


class Base(DeclarativeBase):
    """The tables."""

    metadata = MetaData()


class PlanRow(Base):
    """One plan; ``number`` grows, so it orders plans by age."""

    __tablename__ = "plans"

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    state: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[str] = mapped_column(String(32))
    finished_at: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(String(16))
    iteration_time_us: Mapped[float] = mapped_column(Float)
    request: Mapped[str] = mapped_column(Text)
    result: Mapped[str] = mapped_column(Text)


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan as it is stored; the request and the result are JSON values.

    Attributes
    ----------
    job
        id, state, created_at and finished_at.
    name
        Name of the graph.
    request
        What was posted, defaults filled in.
    result
        The answer, without the job.
    """

    job: dict[str, Any]
    name: str
    request: dict[str, Any]
    result: dict[str, Any]


_JOB = ("id", "state", "created_at", "finished_at")
_LIGHT = (*_JOB, "name", "status", "iteration_time_us")


class Store:
    """The plans of one database.

    A database that cannot be used raises StorageUnavailable from every method, and is tried
    again at the next call.
    """

    def __init__(self, settings: Settings) -> None:
        url = (
            make_url(settings.database_url)
            if settings.database_url
            else URL.create("sqlite", database=str(settings.data_dir / "interlace.db"))
        )
        self._dir = None if settings.database_url else Path(settings.data_dir)
        self._engine = _engine_of(url)
        self._opened = False
        self._lock = Lock()

    def open(self) -> None:
        """Make the directory and bring the tables to the newest revision; once is enough."""
        with self._lock:
            if self._opened:
                return
            with _unavailable():
                if self._dir:
                    self._dir.mkdir(parents=True, exist_ok=True)
                with self._engine.execution_options(write=True).begin() as connection:
                    _migrate(connection)
            self._opened = True

    def check(self) -> None:
        """Raise StorageUnavailable unless the tables are there and of the newest revision."""
        self.open()
        with _unavailable(), self._engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
            head = ScriptDirectory.from_config(_alembic()).get_current_head()
            if found != head:
                raise StorageUnavailable(f"The database is at revision {found}, not {head}.")
            connection.execute(select(PlanRow.number).limit(1))

    def add(self, plan: StoredPlan) -> None:
        """Keep a plan."""
        self.open()
        row = {
            **plan.job,
            "name": plan.name,
            "status": plan.result["status"],
            "iteration_time_us": plan.result["iteration_time_us"],
            "request": json.dumps(plan.request),
            "result": json.dumps(plan.result),
        }
        with _unavailable(), self._engine.begin() as connection:
            connection.execute(insert(PlanRow).values(row))

    def get(self, plan_id: str) -> StoredPlan:
        """Return the plan of this id, or raise NotFound."""
        self.open()
        with _unavailable(), Session(self._engine) as session:
            row = session.scalar(select(PlanRow).where(PlanRow.id == plan_id))
        if row is None:
            raise NotFound("No plan has this id.")
        job = {field: getattr(row, field) for field in _JOB}
        return StoredPlan(job, row.name, json.loads(row.request), json.loads(row.result))

    def newest(self, limit: int) -> list[dict[str, Any]]:
        """Return the light columns of the newest plans, the newest first."""
        self.open()
        columns = [getattr(PlanRow, field) for field in _LIGHT]
        query = select(*columns).order_by(PlanRow.number.desc()).limit(limit)
        with _unavailable(), self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _engine_of(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url)
    if not url.database or ":memory:" in url.database or url.query.get("mode") == "memory":
        raise ArgumentError("An in-memory SQLite database would keep nothing; name a file.")
    engine = create_engine(url, connect_args={"timeout": 30, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _record: object) -> None:
        """Let readers and one writer work side by side."""
        connection.execute("PRAGMA journal_mode = WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        """Begin by hand: Python's driver would leave tables out of the transaction."""
        write = connection.get_execution_options().get("write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", "app:migrations")
    return config


def _migrate(connection: Connection) -> None:
    """Upgrade inside one write transaction, so a second process waits and finds it done."""
    config = _alembic()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, CommandError, OSError) as error:
        cause = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise StorageUnavailable(f"The database cannot be used: {cause}.") from error
