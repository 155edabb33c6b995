"""Whether the service is ready: its database can be written, and jobs are worked on.

Asked often, it is no load: what costs something is looked at once in a while.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from anyio import CapacityLimiter, move_on_after, to_thread

from app.errors import Refusal, StorageUnavailable
from app.jobs.pool import Pool
from app.operations.settings import Settings
from app.storage.database import Store
from app.storage.probe import Probe

#: A write that went well stands for so long, one that failed for so long [s].
_WELL_S, _FAILED_S = 5.0, 1.0


#: All checks together may take so long: more than a write may wait [s].
_PATIENCE_S = 4.0


#: So many threads: one looks, one waits for it, and no other call needs one to wait.
_THREADS = 2


class Readiness:
    """The checks of one service, in their order; one call looks, those beside it wait for it."""

    def __init__(self, store: Store, pool: Pool, settings: Settings) -> None:
        self._store, self._pool = store, pool
        self._probe = Probe(store, settings)
        self._turns = CapacityLimiter(_THREADS)
        self._lock = Lock()
        self._checks: dict[str, Callable[[], None]] = {
            "database_file": self._probe.check_file,
            "database": store.check,
            "disk": self._probe.check_room,
            "writes": self._check_writes,
            "jobs": pool.check,
        }
        self._written: StorageUnavailable | None = None
        self._stands_until = 0.0

    async def check(self) -> None:
        """Raise the refusal of the first check that fails, within some seconds.

        A disk that does not answer keeps the thread that asked it; no other thread goes there.
        """
        with move_on_after(_PATIENCE_S) as patience:
            await to_thread.run_sync(self._look, limiter=self._turns, abandon_on_cancel=True)
        if patience.cancelled_caught:
            raise _late()

    def _look(self) -> None:
        if not self._lock.acquire(timeout=_PATIENCE_S):
            raise _late()
        try:
            for name, check in self._checks.items():
                with _named(name):
                    check()
        finally:
            self._lock.release()

    def _check_writes(self) -> None:
        if time.monotonic() >= self._stands_until:
            self._written = None
            try:
                self._probe.check_writes()
            except StorageUnavailable as error:
                self._written = error
            stands_s = _WELL_S if self._written is None else _FAILED_S
            self._stands_until = time.monotonic() + stands_s
        if self._written is not None:
            raise self._written


def _late() -> StorageUnavailable:
    return StorageUnavailable(f"Not ready (database): no answer within {_PATIENCE_S:g} s.")


@contextmanager
def _named(check: str) -> Iterator[None]:
    """Name the check that fails."""
    try:
        yield
    except Refusal as error:
        raise type(error)(f"Not ready ({check}): {error}") from error
