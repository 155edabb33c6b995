"""Why a database cannot be used, in words that any client may read: no path, no host, no name.

All that is known is for the log.
"""

import logging
import os
import sqlite3

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionFree


class NotMigrated(Exception):
    """The tables cannot be migrated."""


#: What a database, its driver and the disk below it may raise.
FAILURES = (SQLAlchemyError, sqlite3.Error, NotMigrated, OSError)


_LOG = logging.getLogger("interlace.storage")


def cause_of(error: Exception) -> str:
    """Say what is wrong; what that leaves out is logged."""
    cause = getattr(error, "orig", None) or error
    shown = _as_shown(cause)
    message = str(cause).partition("\n")[0]
    if message != shown:
        _LOG.warning("The database cannot be used: %s: %s", shown, message)
    return shown


def _as_shown(cause: BaseException) -> str:
    shown = type(cause).__name__
    if isinstance(cause, NoConnectionFree):
        shown = "all connections are in use"
    elif isinstance(cause, sqlite3.Error):  # SQLite's own words name tables at most
        shown = str(cause).partition("\n")[0]
    elif isinstance(cause, OSError) and cause.errno is not None:
        shown = os.strerror(cause.errno).lower()
    elif isinstance(cause, NotMigrated):
        shown = "its tables cannot be migrated"
    elif hasattr(cause, "sqlstate"):  # of psycopg, whose words may name a host, a user or a file
        shown = f"{shown}, {cause.sqlstate}" if cause.sqlstate else "it does not answer"
    return shown
