"""What is old is deleted, by a clock that may be wrong.

Age is not counted by the clock of the database, which may jump, but by a time that follows it: kept
in the database, never ahead of the clock, and never faster than :data:`RATE` times the service has
run. So nothing is deleted at once when a clock is set weeks ahead, and when it is set right again
no harm is left; after weeks without a server it takes hours until all is deleted that is old.
"""

import logging
import time
from datetime import timedelta

from sqlalchemy import Connection, func, insert, select, update

from app.jobs import table as jobs
from app.operations.settings import Settings
from app.storage import audit, library
from app.storage.clock import Moment, distance_s, shifted
from app.storage.database import Store
from app.storage.runs import life
from app.storage.tables import ClockRow, JobRow, RunRow

#: So much the trusted time moves in a second of service at most: a day in an hour.
RATE = 24.0


#: And so much at the first sweep of a server, whatever it missed [s].
START_S = 3_600.0


#: A clock that is further ahead is warned of, once [s].
_AHEAD_S = 86_400.0


_LOG = logging.getLogger("interlace.jobs")


class Expiry:
    """The sweeps of one server."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._swept: float | None = None
        self._has_warned = False

    def sweep(self) -> int:
        """Delete some of what is too old; count that."""
        at = self._trusted()
        days, unused_days = self._settings.retention_days, self._settings.unused_days
        with self._store.writing() as connection:
            audit.expire(connection, shifted(at, -self._settings.audit_days * 86_400))
        return (
            jobs.expire(self._store, days, at)
            + life.expire(self._store, days, at)
            + library.expire(self._store, unused_days, at)
        )

    def _trusted(self) -> str:
        """Move the trusted time towards the clock's, and return it."""
        began = time.monotonic()
        room_s = START_S if self._swept is None else RATE * (began - self._swept)
        with self._store.writing() as connection:
            clock: str = connection.scalars(select(Moment())).one()
            known = connection.scalar(select(ClockRow.trusted_at))
            before = known or _newest(connection) or clock
            trusted = min(clock, shifted(before, room_s))
            if known is None:
                connection.execute(insert(ClockRow).values(number=1, trusted_at=trusted))
            else:
                connection.execute(update(ClockRow).values(trusted_at=trusted))
        self._swept = began
        self._warn(distance_s(trusted, clock))
        return trusted

    def _warn(self, ahead_s: float) -> None:
        """Say once that the clock is ahead of what was seen of it, until it is not any more."""
        if ahead_s > _AHEAD_S and not self._has_warned:
            _LOG.warning(
                "The clock is %s ahead of when the service was last seen to run: is it right? What "
                "is old is deleted as if a day passed in an hour.",
                timedelta(seconds=round(ahead_s)),
            )
        self._has_warned = ahead_s > _AHEAD_S


def _newest(connection: Connection) -> str | None:
    """Return the last time that a database knows of; None when it is empty."""
    columns = (JobRow.created_at, JobRow.finished_at, RunRow.reported_at)
    found = [connection.scalar(select(func.max(column))) for column in columns]
    return max(filter(None, found), default=None)
