"""Results on disk: a table for each kind, migrated to head when the store opens."""

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
from sqlalchemy import URL, Connection, Engine, create_engine, delete, event, func, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.errors import NotFound, StorageUnavailable
from app.operations.settings import Settings
from app.storage.tables import Base, CostModelRow, GraphRow, Row

#: Every kind of result, and what one is called.
KINDS: dict[type[Row], str] = {
    CostModelRow: "cost model",
    GraphRow: "graph",
}


_JOB = ("id", "state", "created_at", "finished_at")


_HEAVY = {"number", "request", "result"}


def _light(kind: type[Row]) -> list[str]:
    """Name the columns of a result in a list."""
    return [column.key for column in kind.__table__.columns if column.key not in _HEAVY]


@dataclass(frozen=True, slots=True)
class Stored:
    """A result as it is stored.

    Attributes
    ----------
    job
        id, state, created_at and finished_at.
    light
        name, and the columns of its own kind, for lists.
    request
        What was posted, defaults filled in: a JSON object.
    result
        The answer, without the job: a JSON object with a field at least.
    """

    job: dict[str, Any]
    light: dict[str, Any]
    request: str
    result: str

    def to_json(self) -> str:
        """Return the answer with its job: a JSON object."""
        return f"{json.dumps(self.job)[:-1]}, {self.result[1:]}"


class Store:
    """The results of one database.

    A database that cannot be used raises StorageUnavailable from every method, and is tried
    again at the next call.
    """

    def __init__(self, settings: Settings, *, is_migrated: bool = False) -> None:
        url = (
            make_url(settings.database_url)
            if settings.database_url
            else URL.create("sqlite", database=str(settings.data_dir / "interlace.db"))
        )
        self._dir = None if settings.database_url else Path(settings.data_dir)
        self._engine = _engine_of(url)
        self._opened = is_migrated
        self._lock = Lock()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a transaction that sees one state of the database."""
        self.open()
        with _unavailable(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that no other may write beside; it is kept when nothing is raised."""
        self.open()
        writing = self._engine.execution_options(write=True)
        with _unavailable(), writing.begin() as connection:
            yield connection

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
            for table in Base.metadata.sorted_tables:
                connection.execute(select(*table.primary_key.columns).limit(1))

    def add(self, kind: type[Row], found: Stored) -> None:
        """Keep a result."""
        with self.writing() as connection:
            connection.execute(insert(kind).values(_row(found)))

    def put(self, kind: type[Row], found: Stored) -> None:
        """Keep a result in the place of an earlier one with its id."""
        with self.writing() as connection:
            connection.execute(delete(kind).where(kind.id == found.job["id"]))
            connection.execute(insert(kind).values(_row(found)))

    def get(self, kind: type[Row], result_id: str) -> Stored:
        """Return the result of this id, or raise NotFound."""
        with self.reading() as connection, Session(connection) as session:
            row = session.scalar(select(kind).where(kind.id == result_id))
        if row is None:
            raise NotFound(f"No {KINDS[kind]} has this id.")
        light = {field: getattr(row, field) for field in _light(kind) if field not in _JOB}
        return Stored({f: getattr(row, f) for f in _JOB}, light, row.request, row.result)

    def request_bytes(self, kind: type[Row], result_id: str) -> int:
        """Return how long the request of a result is [bytes, of ASCII]; 0 when there is none."""
        query = select(func.length(kind.request)).where(kind.id == result_id)
        with self.reading() as connection:
            return connection.scalar(query) or 0

    def newest(self, kind: type[Row], limit: int) -> list[dict[str, Any]]:
        """Return the light columns of the newest results, the newest first."""
        columns = [getattr(kind, field) for field in _light(kind)]
        query = select(*columns).order_by(kind.number.desc()).limit(limit)
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _row(found: Stored) -> dict[str, Any]:
    return {**found.job, **found.light, "request": found.request, "result": found.result}


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
    config.set_main_option("script_location", "app.storage:migrations")
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
