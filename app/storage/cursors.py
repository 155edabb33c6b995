"""Cursors of lists: which row the page before ended with, and nothing of what others have.

A cursor holds the id and the age of a row that its caller was told of. Where that row stands is
looked up among the rows that the caller sees, so a cursor of another's tells no more than an age.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Protocol

from sqlalchemy import ColumnElement, func, select

from app.errors import InvalidRequest
from app.operations.callers import Caller
from app.storage.owners import visible
from app.storage.tables import JobRow, RunRow
from solver.codes import FaultCode
from solver.errors import Fault

#: A cursor has at most so many characters.
MOST_CHARACTERS = 128


_HELD = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]{8,15}Z) ([0-9a-f]{1,32})")


class ListedRow(Protocol):
    """What is listed: a job, or a run."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def created_at(self) -> str:
        """When it was made."""


def cursor_of(last: ListedRow) -> str:
    """Return the cursor of the page after the one that ends with a row."""
    return urlsafe_b64encode(f"{last.created_at} {last.id}".encode()).decode().rstrip("=")


def older(table: type[JobRow | RunRow], cursor: str, caller: Caller | None) -> ColumnElement[bool]:
    """Return the condition that rows are older than a cursor's.

    Once its row was deleted, those made no later than it count: of several of one microsecond some
    may be listed twice.

    Raises
    ------
    InvalidRequest
        When that is no cursor.
    """
    created_at, row_id = _held_in(cursor)
    mine = visible(table, caller)
    here = select(table.number).where(table.id == row_id, mine).scalar_subquery()
    left = select(func.max(table.number) + 1).where(mine, table.created_at <= created_at)
    return table.number < func.coalesce(here, left.scalar_subquery(), 0)


def _held_in(cursor: str) -> tuple[str, str]:
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (Error, ValueError):  # no base64, no ASCII
        text = ""
    held = _HELD.fullmatch(text)
    if held is None:
        detail = (
            "Query parameter cursor: this is no cursor of a list; send next_cursor of the page "
            "before as it is, or none for the first page."
        )
        raise InvalidRequest([Fault("/query/cursor", FaultCode.OUT_OF_RANGE, detail)])
    return held[1], held[2]
