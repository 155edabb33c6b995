"""The tables of an SQLite export, read from bytes that may be of anyone.

The database is a copy in memory. It runs no code of the file's: schemas are not trusted, nothing
but reading of tables is authorized, no functions, and the work is bounded by the size of the file.

References
----------
.. [1] SQLite, "Defense Against The Dark Arts".
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace

#: How a database begins, where it says that a log is beside it, and how it says that none is.
MAGIC = b"SQLite format 3\x00"
_VERSIONS, _LOGGED, _WHOLE = slice(18, 20), b"\x02\x02", b"\x01\x01"
#: Steps of SQLite's machine for a byte of the file, and beside; it is asked after so many.
_STEPS_A_BYTE, _STEPS, _ASKED = 20, 10**6, 10**5
#: Rows that are looked at together.
_TOGETHER = 2**13
#: Longest text or blob of a row.
_LONGEST = 2**24
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}

#: A table or a column of the file: other names do not come into a query.
Rows = Iterator[tuple[Any, ...]]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Database:
    """An open database.

    Attributes
    ----------
    columns
        Names of the columns of each table, by its name.
    """

    def __init__(self, connection: sqlite3.Connection, tables: Sequence[str]) -> None:
        self._connection = connection
        self.columns: Mapping[str, frozenset[str]] = {
            table: self._columns(table)
            for (table,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
            )
            if table in tables
        }

    def _columns(self, table: str) -> frozenset[str]:
        """Return the columns that are kept as they are: none that the file would compute."""
        found = self._connection.execute(f'PRAGMA table_xinfo("{table}")')
        return frozenset(name for _, name, _, _, _, _, computed in found if not computed)

    def rows(self, table: str, columns: Sequence[str]) -> Rows:
        """Yield the rows of a table in the order of the file; a column that is not there is None.

        None of a table that is not there. Names are those of a reader, never of a file.
        """
        known = self.columns.get(table, frozenset())
        if known:
            asked = ", ".join(f'"{name}"' if name in known else "NULL" for name in columns)
            yield from self._connection.execute(f'SELECT {asked} FROM "{table}"')  # noqa: S608

    def numbers(
        self, table: str, columns: Sequence[str]
    ) -> Iterator[tuple[Integers | None, list[tuple[Any, ...]]]]:
        """Yield :meth:`rows`, some at a time: an array of columns of integers, if all of it is.

        Else the array is None and the rows are as they are; there are none beside an array.
        """
        found = self.rows(table, columns)
        while rows := list(islice(found, _TOGETHER)):
            try:
                flat = array("q", chain.from_iterable(rows))
            except TypeError:
                yield None, rows
            else:
                yield np.frombuffer(flat, np.int64).reshape(-1, len(columns)).T, []


@contextmanager
def opened(content: bytes, place: str, tables: Sequence[str]) -> Iterator[Database]:
    """Open a copy of a database to read these tables.

    Raises
    ------
    InvalidTrace
        When it is none, is broken, or takes more work than one of its size does.
    """
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            if content[_VERSIONS] == _LOGGED:  # what was in the log is not in the file
                content = content[: _VERSIONS.start] + _WHOLE + content[_VERSIONS.stop :]
            connection.deserialize(content)
            connection.text_factory = _text
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            connection.set_progress_handler(_bound(len(content)), _ASKED)
            database = Database(connection, tables)
            connection.set_authorizer(_authorized)
            yield database
    except UnicodeDecodeError:  # of what SQLite says of a name in the schema
        detail = "The database cannot be read: its schema is broken."
        raise InvalidTrace([Fault(place, FaultCode.WRONG_FORMAT, detail)]) from None
    except (sqlite3.Error, OverflowError) as error:
        is_long = "interrupted" in str(error)
        detail = (
            "The database takes more work to read than one of its size should."
            if is_long
            else f"The database cannot be read: {error}."
        )
        code = FaultCode.TOO_LARGE if is_long else FaultCode.WRONG_FORMAT
        raise InvalidTrace([Fault(place, code, detail)]) from None


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _authorized(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _bound(size: int) -> Callable[[], bool]:
    """Return what SQLite asks from time to time: whether it has worked enough."""
    left = (size * _STEPS_A_BYTE + _STEPS) // _ASKED

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    return is_over
