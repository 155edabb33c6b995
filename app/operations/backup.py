"""A copy of a SQLite database, safely also while the service runs, and back."""

import os
import sqlite3
from contextlib import closing
from errno import EEXIST, ENOENT
from pathlib import Path


def copy(source: Path, target: Path) -> None:
    """Copy one state of a database that may be in use, and check the copy.

    The file has its name only once it is whole.

    Raises
    ------
    FileExistsError, FileNotFoundError
        When there is such a file already, or no database.
    sqlite3.Error
        When the database cannot be read, or the copy is not sound.
    """
    if target.exists():
        raise FileExistsError(EEXIST, "exists already", str(target))
    if not source.is_file():
        raise FileNotFoundError(ENOENT, "no such database", str(source))
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)  # of a copy that was cut off
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # as private as the source
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as found,
        closing(sqlite3.connect(part)) as copied,
    ):
        found.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")  # one file, whoever opens it
        [wrong], *_ = copied.execute("PRAGMA integrity_check")
        if wrong != "ok":
            raise sqlite3.DatabaseError(f"the copy is not sound: {wrong}")
    part.replace(target)


def restore(source: Path, target: Path) -> None:
    """Put a copy in the place of no database, as :func:`copy` does.

    Raises
    ------
    FileExistsError, FileNotFoundError
        When there is a database, or what a removed one left beside it, or no copy.
    sqlite3.Error
        When the file is no sound copy of a service's database.
    """
    for beside in ("", "-wal", "-shm"):
        if (left := target.with_name(target.name + beside)).exists():
            raise FileExistsError(EEXIST, "exists already", str(left))
    if not source.is_file():
        raise FileNotFoundError(ENOENT, "no such copy", str(source))
    with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as found:
        found.execute("SELECT version_num FROM alembic_version")
    copy(source, target)
