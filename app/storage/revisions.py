"""The revision of the tables of a database: found, and brought to the newest.

Alembic is imported only where tables are migrated: a server starts most often with none to migrate.
"""

import re
from importlib import resources
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect

from app.storage.causes import NotMigrated
from app.storage.tables import Base

if TYPE_CHECKING:
    from alembic.config import Config

_TABLE, _COLUMN = "alembic_version", "version_num"


def _newest() -> str:
    """Return the revision of the last migration, as its file is called: ``rNNNN_name.py``."""
    files = resources.files("app.storage") / "migrations" / "versions"
    named = (re.match(r"r(\d+)_", file.name) for file in files.iterdir())
    return max(found[1] for found in named if found)


#: The newest revision that is known here.
HEAD = _newest()


def config() -> "Config":
    """Return what Alembic is told."""
    from alembic.config import Config  # noqa: PLC0415 - it takes its time

    settings = Config()
    settings.set_main_option("script_location", "app.storage:migrations")
    return settings


def found_in(connection: Connection) -> str | None:
    """Return the revision of the tables, None without."""
    if not inspect(connection).has_table(_TABLE):
        return None
    row = connection.exec_driver_sql(f"SELECT {_COLUMN} FROM {_TABLE}").first()  # noqa: S608
    return None if row is None else str(row[0])


def bring(connection: Connection) -> None:
    """Upgrade inside one write transaction, so a second process waits and finds it done.

    Tables that a newer release has migrated are left as they are: it only added to what this one
    reads and writes (docs/architecture.md, "Add a migration"). A new SQLite file gets the tables as
    they are by now, as models and migrations agree.
    """
    revision = found_in(connection)
    if revision is not None and revision >= HEAD:
        return
    if connection.dialect.name == "sqlite" and not inspect(connection).get_table_names():
        _make(connection)
    else:
        _upgrade(connection)


def _make(connection: Connection) -> None:
    Base.metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(
        f"CREATE TABLE {_TABLE} ({_COLUMN} VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {_TABLE}_pkc PRIMARY KEY ({_COLUMN}))"
    )
    connection.exec_driver_sql(f"INSERT INTO {_TABLE} VALUES (?)", (HEAD,))  # noqa: S608


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - it takes its time
    from alembic.util import CommandError  # noqa: PLC0415

    settings = config()
    settings.attributes["connection"] = connection
    try:
        command.upgrade(settings, "head")
    except CommandError as error:
        raise NotMigrated(str(error)) from error
