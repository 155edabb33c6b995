"""Results on disk: a table for each kind, migrated to head when the store opens."""

import copy
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, delete, event, func, insert, select
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, defer

from app.errors import NotFound, StorageUnavailable
from app.operations.callers import Caller
from app.operations.databases import POSTGRESQL, url_of
from app.operations.settings import Settings
from app.storage import audit, place, postgresql, revisions
from app.storage.causes import FAILURES, cause_of
from app.storage.clock import ago
from app.storage.owners import values_of, visible
from app.storage.tables import Base, CostModelRow, GraphRow, OwnedRow

AnyRow = TypeVar("AnyRow", bound=OwnedRow)


_LOG = logging.getLogger("interlace.storage")


#: What is kept under an id, and what one is called.
KINDS: dict[type[OwnedRow], str] = {
    CostModelRow: "cost model",
    GraphRow: "graph",
}


class Store:
    """The results of one database.

    A database that cannot be used raises StorageUnavailable from every method, and is tried
    again at the next call.

    Attributes
    ----------
    caller
        Who sees it: what others own is not there (:mod:`app.storage.owners`), and what is kept is
        the caller's. None sees all.
    """

    caller: Caller | None = None

    def __init__(self, settings: Settings, *, is_migrated: bool = False) -> None:
        url = (
            url_of(settings.database_url)
            if settings.database_url
            else URL.create("sqlite", database=str(settings.data_dir / "interlace.db"))
        )
        self._makes_folder = not settings.database_url
        self._engine = _engine_of(url)
        is_shared = url.get_backend_name() == POSTGRESQL
        self._reading = self._engine.execution_options(**postgresql.READING if is_shared else {})
        self._writing = self._engine.execution_options(write=True)
        self._changing = self._engine.execution_options(write=not is_shared)
        #: The file of a database that is one.
        self.file = _file_of(url)
        self._opened = _OpenStore(is_migrated)
        self._lock = Lock()

    def seen_by(self, caller: Caller | None) -> Self:
        """Return the same database as somebody sees it."""
        view = copy.copy(self)
        view.caller = caller
        return view

    @property
    def identity(self) -> "Identity | None":
        """Which file the database was when it was opened."""
        return self._opened.identity

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a transaction that sees one state of the database."""
        self.open()
        with unavailable(), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that no other such runs beside; it is kept when nothing is raised."""
        self.open()
        with unavailable(), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """Give a transaction for a row or two, which others may write beside where they can.

        It changes a row before anything that belongs to it, and locks what it reads before
        (``with_for_update``): so it sees what the one before it left. Kept as :meth:`writing`.
        """
        self.open()
        with unavailable(), self._changing.begin() as connection:
            yield connection

    def prepare(self) -> None:
        """Before a service starts, raise UnusablePlace when nothing can ever be kept here."""
        if self.file is not None:
            place.prepare(self.file, makes_folder=self._makes_folder)

    def open(self) -> None:
        """Make the directory and bring the tables to the newest revision; once is enough."""
        with self._lock:
            if self._opened.is_so:
                return
            with unavailable():
                if self.file is not None:
                    if self._makes_folder:
                        place.make_folder(self.file.parent)
                    place.make_file(self.file)
                with self._writing.begin() as connection:
                    revisions.bring(connection)
                if self.file is not None:
                    self._opened.identity = identity_of(self.file)
            self._opened.is_so = True

    def check(self) -> None:
        """Raise StorageUnavailable unless the tables are there, of this revision or a newer one."""
        self.open()
        with unavailable(), self._engine.connect() as connection:
            found = revisions.found_in(connection)
            if found is None or found < revisions.HEAD:
                why = f"The database is at revision {found}, not {revisions.HEAD}."
                raise StorageUnavailable(why)
            for table in Base.metadata.sorted_tables:
                connection.execute(select(*table.primary_key.columns).limit(1))
                connection.execute(select(table).limit(0))

    def try_write(self, within_s: float) -> None:
        """Write a little, which changes nothing that anybody reads, waiting so long for others [s].

        To the file of a database by a connection of its own, as whoever comes next would.
        """
        with unavailable():
            if self.file is not None:
                place = f"{self.file.absolute().as_uri()}?mode=rw"
                with closing(sqlite3.connect(place, within_s, uri=True)) as connection:
                    connection.execute("PRAGMA user_version = 0")
                return
            with self._engine.begin() as connection:
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {1e3 * within_s:.0f}")
                connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")

    def add(self, row: OwnedRow) -> None:
        """Keep something."""
        with self.writing() as connection:
            connection.execute(insert(type(row)).values(_values(row, self.caller)))
            audit.note(connection, self.caller, "make", KINDS[type(row)], row.id)

    def put(self, row: OwnedRow) -> None:
        """Keep something in the place of what has its id."""
        kind = type(row)
        with self.writing() as connection:
            same = (kind.id == row.id, visible(kind, self.caller))
            connection.execute(delete(kind).where(*same))
            connection.execute(insert(kind).values(_values(row, self.caller)))

    def get(self, kind: type[AnyRow], row_id: str) -> AnyRow:
        """Return what has this id, or raise NotFound."""
        with self.reading() as connection, Session(connection) as session:
            which = (kind.id == row_id, visible(kind, self.caller))
            row = session.scalar(select(kind).where(*which))
        if row is None:
            raise NotFound(f"No {KINDS[kind]} has this id.")
        return row

    def request_bytes(self, kind: type[OwnedRow], result_id: str) -> int:
        """Return how long the request of a result is [bytes, of ASCII]; 0 when there is none."""
        which = (kind.id == result_id, visible(kind, self.caller))
        query = select(func.length(kind.request)).where(*which)
        with self.reading() as connection:
            return connection.scalar(query) or 0

    def row_bytes(self, kind: type[OwnedRow], row_id: str) -> int:
        """Return how long the request and the result of a row are [bytes]; 0 when there is none."""
        query = select(kind.bytes).where(kind.id == row_id, visible(kind, self.caller))
        with self.reading() as connection:
            return connection.scalar(query) or 0

    def newest(self, kind: type[AnyRow], limit: int) -> Sequence[AnyRow]:
        """Return the newest rows, the newest first, without their request and result."""
        brief = (defer(kind.request, raiseload=True), defer(kind.result, raiseload=True))
        mine = select(kind).options(*brief).where(visible(kind, self.caller))
        query = mine.order_by(kind.number.desc()).limit(limit)
        with self.reading() as connection, Session(connection) as session:
            return session.scalars(query).all()

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _values(row: OwnedRow, caller: Caller | None) -> dict[str, Any]:
    """Return the columns of a new row of somebody; the database numbers it."""
    columns = [column.key for column in type(row).__table__.columns if column.key != "number"]
    sized = {"bytes": len(row.request) + len(row.result), "used_at": row.created_at}
    return {column: getattr(row, column) for column in columns} | sized | values_of(caller)


@dataclass(slots=True)
class _OpenStore:
    """Whether a store is open, and the file of its database then; all who see it share this."""

    is_so: bool
    identity: "Identity | None" = None


class Identity(NamedTuple):
    """Which file it is, whatever it is called."""

    device: int
    inode: int


def identity_of(file: Path) -> Identity:
    """Return which file has a name now."""
    found = file.stat()
    return Identity(found.st_dev, found.st_ino)


def _file_of(url: URL) -> Path | None:
    """Return the file of a database, None when it is none; it may be given as a URI."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    is_uri = url.database.startswith("file:")
    return Path(unquote(url.database.removeprefix("file:")) if is_uri else url.database)


def _engine_of(url: URL) -> Engine:
    if url.get_backend_name() == POSTGRESQL:
        return postgresql.engine_of(url)
    if not url.database or ":memory:" in url.database or url.query.get("mode") == "memory":
        raise ArgumentError("An in-memory SQLite database would keep nothing; name a file.")
    engine = create_engine(url, connect_args={"timeout": 30, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _record: object) -> None:
        """Let readers and one writer work side by side."""
        connection.execute("PRAGMA journal_mode = WAL")
        connection.create_function("moment", 1, ago)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        """Begin by hand: Python's driver would leave tables out of the transaction."""
        write = connection.get_execution_options().get("write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@contextmanager
def unavailable() -> Iterator[None]:
    """Raise StorageUnavailable for whatever a database and its disk fail with."""
    try:
        yield
    except FAILURES as error:
        raise StorageUnavailable(f"The database cannot be used: {cause_of(error)}.") from error
