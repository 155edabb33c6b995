"""The time of day as the database has it: text that sorts as it passes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import String, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement


def now() -> str:
    """Return the time of day in UTC, to the microsecond, by this machine's clock."""
    return _text(datetime.now(UTC))


def ago(seconds: float) -> str:
    """Return the time of day so long ago [s], by this machine's clock."""
    return _text(datetime.now(UTC) - timedelta(seconds=seconds))


def shifted(moment: str, seconds: float) -> str:
    """Return a time of day so much later, or earlier [s]; before the first there is, that one."""
    try:
        return _text(_read(moment) + timedelta(seconds=seconds))
    except OverflowError:
        return _text(datetime(1, 1, 1, tzinfo=UTC))


def distance_s(earlier: str, later: str) -> float:
    """Return how long after one time another is [s]."""
    return (_read(later) - _read(earlier)).total_seconds()


class Moment(FunctionElement[str]):
    """The time of day so long ago [s], in SQL, by the clock of the database.

    Servers whose clocks differ agree on it. A SQLite file is on the machine of all that use it: the
    clock is that machine's, and :func:`ago` is known to the connection as ``moment``.
    """

    name = "moment"
    type = String()
    inherit_cache = True

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(bindparam(None, float(seconds)))


@compiles(Moment, "postgresql")
def _in_postgresql(element: Moment, compiler: SQLCompiler, **how: Any) -> str:
    (seconds,) = element.clauses
    then = f"statement_timestamp() - make_interval(secs => {compiler.process(seconds, **how)})"
    return f"to_char(({then}) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"


@compiles(Moment)
def _in_sqlite(element: Moment, compiler: SQLCompiler, **how: Any) -> str:
    return f"moment({compiler.process(element.clauses, **how)})"


def _read(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
