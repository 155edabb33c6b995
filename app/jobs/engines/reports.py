"""What a job on another machine tells while it is done: through the pipe of its process."""

import math
import pickle
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

import msgspec

from app.jobs.engines.children import DRAFT

#: Words before what is told, beside a draft.
DESCRIBED, PROGRESSED = "described", "progress"


#: How often what is new is told [s].
_TELL_S = 0.5


#: Writing drafts may take a share of the time: after one it rests so many times as long.
_REST = 20


class _Light(msgspec.Struct):
    status: str
    iteration_time_us: float


_LIGHT = msgspec.json.Decoder(_Light)


class Report:
    """Told by a thread, so that telling costs the work nothing; no draft is worse than before."""

    def __init__(self, pipe: Connection, best_us: float | None) -> None:
        self._pipe = pipe
        self._best_us = math.inf if best_us is None else best_us
        self._progress: dict[str, Any] | None = None
        self._text_of: Callable[[], str] | None = None
        self._told: dict[str, Any] | None = None
        self._draft_due = 0.0
        self._done, self._sending = Event(), Lock()
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
        """Tell what the request says of the job."""
        self._send(DESCRIBED, (name, limit_s))

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
        while not self._done.wait(_TELL_S):
            progress, text_of = self._progress, self._text_of
            if progress is not None and progress is not self._told:
                self._told = progress
                self._send(PROGRESSED, progress)
            if text_of is not None and time.monotonic() >= self._draft_due:
                self._text_of = None
                self._write(text_of)

    def _write(self, text_of: Callable[[], str]) -> None:
        began = time.monotonic()
        text = text_of().encode()
        self._draft_due = time.monotonic() + _REST * (time.monotonic() - began)
        light = _LIGHT.decode(text)
        if light.iteration_time_us <= self._best_us:  # an attempt before may have had a better one
            self._best_us = light.iteration_time_us
            self._send(DRAFT, pickle.dumps((text, msgspec.to_builtins(light))))

    def _send(self, word: str, what: Any) -> None:
        with self._sending:
            self._pipe.send((word, what))
