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
    found = getattr(error, "orig", None) or error
    told = _told(found)
    known = str(found).partition("\n")[0]
    if known != told:
        _LOG.warning("The database cannot be used: %s: %s", told, known)
    return told


def _told(found: BaseException) -> str:
    told = type(found).__name__
    if isinstance(found, NoConnectionFree):
        told = "all connections are in use"
    elif isinstance(found, sqlite3.Error):  # SQLite's own words name tables at most
        told = str(found).partition("\n")[0]
    elif isinstance(found, OSError) and found.errno is not None:
        told = os.strerror(found.errno).lower()
    elif isinstance(found, NotMigrated):
        told = "its tables cannot be migrated"
    elif hasattr(found, "sqlstate"):  # of psycopg, whose words may name a host, a user or a file
        told = f"{told}, {found.sqlstate}" if found.sqlstate else "it does not answer"
    return told
