"""What a child tells of its job while it works: how far it is, and the best that it has in hand."""

import logging
import math
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import msgspec

from app.errors import StorageUnavailable
from app.jobs import leases
from app.jobs.leases import Claim
from app.storage.database import Store

#: How often the parent is looked at, and what is new is told [s].
_TICK_S, _TELL_S = 0.25, 0.5


#: Writing drafts may take a share of the time: after one it rests so many times as long.
_REST = 20


#: At least so often a job shows that it is at work [s].
BEAT_S = 1.0


_LOG = logging.getLogger("interlace.jobs")


class _Light(msgspec.Struct):
    status: str
    iteration_time_us: float


_LIGHT = msgspec.json.Decoder(_Light)


class ProgressWriter:
    """Written to the job's row by a thread, so that telling costs the work nothing.

    The thread also ends this process and all that it started when the server has died, or when the
    job is no longer its own: cancelled, deleted, or handed to another.
    """

    def __init__(self, store: Store, job: Claim) -> None:
        self._store, self._job = store, job
        self._progress: dict[str, Any] | None = None
        self._text_of: Callable[[], str] | None = None
        self._told: dict[str, Any] | None = None
        self._draft: tuple[bytes, dict[str, Any]] | None = None
        self._best: float | None = None
        self._draft_due = 0.0
        self._done = Event()
        self._thread = Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Self:
        """Begin to tell."""
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Tell no more."""
        self._done.set()
        self._thread.join()

    def describe(self, name: str, limit_s: float) -> None:
        """Tell what the request says of the job, if that was not known when it was posted."""
        if (name, limit_s) == (self._job.name, self._job.limit_s):
            return
        if not leases.describe(self._store, self._job, name, limit_s):
            _leave()

    def progress(
        self,
        phase: str,
        completed: int | None = None,
        total: int | None = None,
        incumbent_us: float | None = None,
        lower_bound_us: float | None = None,
    ) -> None:
        """Say how far the work is: times of the best so far and of the bound in us."""
        gap = None
        if incumbent_us is not None and lower_bound_us:
            gap = max(0.0, incumbent_us / lower_bound_us - 1)
        self._progress = {
            "phase": phase,
            "completed": completed,
            "total": total,
            "incumbent_us": incumbent_us,
            "lower_bound_us": lower_bound_us,
            "gap": gap,
        }

    def draft(self, text_of: Callable[[], str]) -> None:
        """Say that something better is in hand; ``text_of`` writes it as an answer, if asked."""
        self._text_of = text_of

    def _tell(self) -> None:
        parent = parent_process()
        sentinel = [parent.sentinel] if parent else []
        told_at = time.monotonic()
        while not self._done.wait(_TICK_S):
            if wait(sentinel, 0):
                _leave()
            silent_s = time.monotonic() - told_at
            news = self._progress is not self._told or self._text_of or self._draft
            if silent_s < _TELL_S or not (news or silent_s >= BEAT_S):
                continue
            told_at = time.monotonic()
            try:
                self._beat()
            except StorageUnavailable as error:  # what is new is told next time
                _LOG.warning("Cannot tell of the job: %s", error, extra={"job_id": self._job.id})
            except Exception:  # noqa: BLE001 - this thread must go on: it watches the server too
                _LOG.exception("Cannot tell of the job", extra={"job_id": self._job.id})

    def _beat(self) -> None:
        """Tell what is new; end everything when the job is not ours any more."""
        progress, text_of = self._progress, self._text_of
        began = time.monotonic()
        if text_of is not None and began >= self._draft_due:
            self._text_of = None
            text = text_of().encode()
            self._draft_due = time.monotonic() + _REST * (time.monotonic() - began)
            light = _LIGHT.decode(text)
            if self._best is None:
                self._best = leases.drafted(self._store, self._job).get(
                    "iteration_time_us", math.inf
                )
            if light.iteration_time_us <= self._best:  # an attempt before may have had a better one
                self._draft = text, msgspec.to_builtins(light)
        if not leases.beat(self._store, self._job, progress, self._draft):
            _leave()
        if self._draft is not None:
            self._best = self._draft[1]["iteration_time_us"]
        self._told, self._draft = progress, None


def _leave() -> None:
    """End this process and all that it started."""
    os.killpg(0, signal.SIGKILL)
