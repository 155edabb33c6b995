"""How much an owner uses, and whether that is as much as it may.

Jobs that wait are counted as each new one is kept. The rest is looked at before: results count some
seconds after they were stored, and what is at work, jobs and calls, counts when it ends.
"""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from threading import Lock

from cachetools import TTLCache
from sqlalchemy import Connection, func, select

from app.errors import QuotaUsedUp, RateLimited, StorageUnavailable
from app.operations.callers import Caller
from app.storage.database import Store
from app.storage.tables import CostModelRow, GraphRow, JobRow, UsageRow

#: What an owner has stored is added up anew after so long [s], and for so many owners.
_STORED_S, _OWNERS = 10.0, 10_000
#: The time of an owner's calls is written down when it is so much [s].
_WRITTEN_S = 1.0


class StoredUsage:
    """What owners have stored, and what their calls took, as one server knows; for any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._called_s: dict[str, float] = {}  # of calls, not yet written down
        self._stored: TTLCache[str, int] = TTLCache(_OWNERS, _STORED_S)
        self._lock = Lock()

    def check(self, caller: Caller | None, coming: int | None = 0) -> None:
        """Raise QuotaUsedUp when something new of a caller is not to be kept or worked on.

        ``coming`` is how much is to be kept [bytes]; None when nobody knows.
        """
        if caller is None:
            return
        self.check_solving(caller)
        if caller.quotas.stored_bytes is not None:
            self._check_stored(caller.owner, caller.quotas.stored_bytes, coming)

    def check_solving(self, caller: Caller) -> None:
        """Raise QuotaUsedUp when nothing more of a caller is to be worked on today."""
        most = caller.quotas.solving_s
        if most is None:
            return
        with self._store.reading() as connection:
            used = solved_s(connection, caller.owner)
        with self._lock:
            used += self._called_s.get(caller.owner, 0.0)
        if used >= most:
            raise _used_up("seconds of solving a day", most, used, _to_midnight())

    def called(self, owner: str, seconds: float) -> bool:
        """Count the processor time of a call [s]; say whether it is enough to be written down."""
        with self._lock:
            self._called_s[owner] = self._called_s.get(owner, 0.0) + seconds
            return self._called_s[owner] >= _WRITTEN_S

    def write_down(self, owner: str) -> None:
        """Add what the calls of an owner have taken to its day."""
        with self._lock:
            seconds = self._called_s.pop(owner, 0.0)
        try:
            if seconds:
                add_solving(self._store, owner, seconds)
        except StorageUnavailable:  # it still counts here, and is written down later
            self.called(owner, seconds)
            raise

    def close(self) -> None:
        """Write down what is not yet."""
        for owner in list(self._called_s):
            self.write_down(owner)

    def _check_stored(self, owner: str, most: int, coming: int | None) -> None:
        more = coming or 1  # something, at least
        with self._lock:
            stored = self._stored.get(owner)
        if stored is None or stored + more > most:  # something may be deleted
            with self._store.reading() as connection:
                stored = stored_bytes(connection, owner)
        if stored + more > most:
            raise _used_up("bytes stored", most, stored, 60)
        with self._lock:
            if coming is None:
                self._stored.pop(owner, None)
            else:
                self._stored[owner] = stored + more


def check_queue(connection: Connection, caller: Caller | None) -> None:
    """Raise RateLimited when no other job of a caller may wait."""
    if caller is None or caller.quotas.queued is None:
        return
    waiting = (JobRow.state == "queued", JobRow.owner == caller.owner)
    queued = connection.scalar(select(func.count()).where(*waiting)) or 0
    if queued >= caller.quotas.queued:
        raise RateLimited(
            f"Quota jobs queued: at most {caller.quotas.queued:,}, now {queued:,}; try again later."
        )


def add_solving(store: Store, owner: str, seconds: float) -> None:
    """Add time that a job or a call was worked on to its owner's day [s]."""
    with store.changing() as connection:
        day = {"owner": owner, "day": _today(), "solving_s": seconds}
        dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # that in use
        new = dialect.insert(UsageRow).values(day)
        more = {"solving_s": UsageRow.solving_s + seconds}
        connection.execute(new.on_conflict_do_update(index_elements=["owner", "day"], set_=more))


def solved_s(connection: Connection, owner: str) -> float:
    """Return how long jobs and calls of an owner were worked on today [s]."""
    which = (UsageRow.owner == owner, UsageRow.day == _today())
    return connection.scalar(select(UsageRow.solving_s).where(*which)) or 0.0


def stored_bytes(connection: Connection, owner: str) -> int:
    """Return how much is kept for an owner: its jobs, graphs and cost models [bytes]."""
    sums = (
        select(func.coalesce(func.sum(table.bytes), 0)).where(table.owner == owner)
        for table in (JobRow, GraphRow, CostModelRow)
    )
    return sum(int(connection.scalar(each) or 0) for each in sums)


def _used_up(what: str, most: float, now: float, retry_after_s: int) -> QuotaUsedUp:
    error = QuotaUsedUp(f"Quota {what}: at most {most:,.15g}, now {now:,.15g}.")
    error.retry_after_s = retry_after_s
    return error


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _to_midnight() -> int:
    """Return the time to the next day of UTC [s]."""
    now = datetime.now(UTC)
    next_day = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return int((next_day - now).total_seconds()) + 1
