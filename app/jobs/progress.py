"""What a child tells of its job while it works: how far it is, and the best that it has in hand."""

import logging
import time
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from app.errors import StorageUnavailable
from app.jobs.drafts import draft_of, is_worse, reached
from app.jobs.leases import Claim
from app.jobs.messages import Described, DraftAnswer, JobProgress, Message

#: How often what is new is told [s].
_TELL_S = 0.5


#: Writing drafts may take a share of the time: after one it rests so many times as long.
_REST = 20


#: At least so often a job shows that it is at work [s].
BEAT_S = 1.0


_LOG = logging.getLogger("interlace.jobs")


class ProgressWriter:
    """Told to the server by a thread, so that telling costs the work nothing.

    ``drafted`` returns the summary of the draft that an attempt before left.
    """

    def __init__(
        self, job: Claim, send: Callable[[Message], None], drafted: Callable[[], dict[str, Any]]
    ) -> None:
        self.job = job
        self._send, self._drafted = send, drafted
        self._progress: dict[str, Any] | None = None
        self._text_of: Callable[[], str] | None = None
        self._kept_of: Callable[[], bytes] | None = None
        self._told: dict[str, Any] | None = None
        self._best: dict[str, Any] | None = None
        self._draft_due = 0.0
        self._woken, self._is_asked, self._is_done = Event(), False, False
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
        self._is_done = True
        self._woken.set()
        self._thread.join()

    def hand_in(self) -> None:
        """Have the best in hand told at once; any thread may call it."""
        self._is_asked = True
        self._woken.set()

    def describe(self, name: str, limit_s: float) -> None:
        """Tell what the request says of the job, if that was not known when it was posted."""
        if (name, limit_s) != (self.job.name, self.job.limit_s):
            self._send(Described(name, limit_s))

    def progress(
        self,
        phase: str,
        completed: int | None = None,
        total: int | None = None,
        incumbent_us: float | None = None,
        lower_bound_us: float | None = None,
        incumbent: str | None = None,
    ) -> None:
        """Say how far the work is: times of the best so far and of the bound in us."""
        self._progress = {
            "phase": phase,
            "completed": completed,
            "total": total,
            **reached(incumbent_us, lower_bound_us, incumbent),
        }

    def draft(self, text_of: Callable[[], str], kept_of: Callable[[], bytes] | None = None) -> None:
        """Say that something better is in hand; ``text_of`` writes it as an answer, if asked.

        ``kept_of`` writes what an attempt after this one need not do again.
        To be called before :meth:`progress` tells of it: what is told is then in hand.
        """
        self._kept_of = kept_of
        self._text_of = text_of

    def _tell(self) -> None:
        told_at = time.monotonic()
        while not self._is_done:
            is_last = self._woken.wait(_TELL_S) and self._is_asked
            self._woken.clear()
            news = self._progress is not self._told or self._text_of
            if self._is_done or not (news or is_last or time.monotonic() - told_at >= BEAT_S):
                continue
            told_at = time.monotonic()
            try:
                self._send(self._news(is_last=is_last))
            except OSError:  # the server has gone, and so is this process soon
                return

    def _news(self, *, is_last: bool) -> JobProgress:
        """Return what is new; in the end also what rests."""
        progress, text_of = self._progress, self._text_of  # in this order: see draft
        self._told = progress
        if text_of is None or not (is_last or time.monotonic() >= self._draft_due):
            return JobProgress(progress, None, is_last)
        self._text_of = None
        began = time.monotonic()
        try:
            draft, says = self._written(text_of)
        except StorageUnavailable as error:  # whether it is the best so far, it hears later
            _LOG.warning("A draft waits: %s", error)
            self._text_of = self._text_of or text_of
            draft, says = None, {}
        except Exception:  # noqa: BLE001 - the job goes on without this draft
            _LOG.exception("A draft cannot be written")
            draft, says = None, {}
        self._draft_due = time.monotonic() + _REST * (time.monotonic() - began)
        if is_last and draft is not None and progress is not None:
            progress = {**progress, **says}  # it may be better than what was told
        return JobProgress(progress, draft, is_last)

    def _written(self, text_of: Callable[[], str]) -> tuple[DraftAnswer | None, dict[str, Any]]:
        """Return a draft, None if an attempt before had a better one."""
        if self._best is None:
            self._best = self._drafted()
        draft, says = draft_of(self.job.kind, text_of().encode())
        if is_worse(draft.summary, self._best):
            return None, {}
        self._best = draft.summary
        kept = None if self._kept_of is None else self._kept_of()
        return draft._replace(kept=kept), says
