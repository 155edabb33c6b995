"""One request, sent until it is answered: what to do, without doing it.

Whoever runs a :data:`Steps` generator does what it yields and sends back what came of it; so the
blocking client and the asynchronous one decide alike.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from interlace_client.answers import Failure, Progress
from interlace_client.errors import ProblemError, UnexpectedAnswer, Unreachable
from interlace_client.problems import PROBLEMS, JobFailed, QuotaUsedUp, Temporary

if TYPE_CHECKING:
    from interlace_client.answers import Json

T = TypeVar("T")
_LOG = logging.getLogger("interlace_client")
#: Statuses of what may pass: a busy service, a proxy that found none.
_PASSING = {408, 429, 502, 503, 504}
_REFUSED = 400
#: The first pause, the longest one, and the longest that a server may ask for [s].
_FIRST_S, _LONGEST_S, _ASKED_S = 0.5, 8.0, 60.0
#: How much of an answer that is no JSON is shown.
_SHOWN = 200


@dataclass(frozen=True)
class ServiceCall:
    """A request; ``wait_s`` is how long the service may wait before it answers, at most [s]."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    wait_s: float | None = None

    def within(self, left: float | None) -> ServiceCall:
        """Say how long the service may wait when so much time is left [s].

        Some is kept for the answer's way, so that it comes before the deadline; half for that of a
        POST, without which nobody knows the job.
        """
        if self.wait_s is None:
            return self
        is_post = self.method == "POST"
        wait = self.wait_s
        if left is not None:
            wait = min(wait, left / 2 if is_post else left - min(left / 4, 1))
        if is_post:
            headers = {**self.headers, "Prefer": f"wait={int(wait)}"}
            return replace(self, headers=headers, wait_s=wait)
        return replace(self, params={**self.params, "wait": f"{wait:.3f}"}, wait_s=wait)


@dataclass(frozen=True)
class Send:
    """To do: send, with so long for each phase, and for all of it if there is a deadline [s]."""

    call: ServiceCall
    phase_s: float
    whole_s: float | None


@dataclass(frozen=True)
class Sleep:
    """To do: wait."""

    seconds: float


@dataclass(frozen=True)
class Tell:
    """To do: call back."""

    to: Callable[[Progress], object]
    progress: Progress


@dataclass(frozen=True)
class Answer:
    """What came: header names in lower case; ``attempt`` counts from 0."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    attempt: int = 0


@dataclass(frozen=True)
class Lost:
    """What came of a request without an answer; ``url`` is where it went, without credentials."""

    url: str
    reason: str


Todo = Union[Send, Sleep, Tell]
Steps = Generator[Todo, Union[Answer, Lost, None], T]


@dataclass(frozen=True)
class Tries:
    """How long a phase of a request may take [s], and how often it is sent again."""

    timeout_s: float
    retries: int


@dataclass(frozen=True)
class Deadline:
    """A point in time; None is never."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the point so many seconds from now."""
        return cls(None if seconds is None else monotonic() + seconds)

    def left(self) -> float | None:
        """Return how long it is until then [s]; None is for ever."""
        return None if self.at is None else max(self.at - monotonic(), 0)


def sent(call: ServiceCall, tries: Tries, deadline: Deadline) -> Steps[Answer]:
    """Send until there is an answer that another try would not better.

    Raises
    ------
    Unreachable
        No answer, and no tries or no time are left.
    """
    for attempt in count():
        left = deadline.left()
        now = call.within(left)
        phase = tries.timeout_s + (now.wait_s or 0)
        got = yield Send(now, phase if left is None else max(min(phase, left), 1e-3), left)
        assert isinstance(got, (Answer, Lost))
        if isinstance(got, Answer) and not passes(got):
            return replace(got, attempt=attempt)
        pause, left = _pause(got, attempt), deadline.left()
        if attempt == tries.retries or (left is not None and pause >= left):
            if isinstance(got, Answer):
                return replace(got, attempt=attempt)
            raise Unreachable(f"{call.method} {got.url}: {got.reason}")
        _LOG.warning(
            "%s %s: %s; again in %.1f s (%d of %d)",
            *(call.method, call.path, got.reason if isinstance(got, Lost) else got.status),
            *(pause, attempt + 1, tries.retries),
        )
        yield Sleep(pause)
    raise AssertionError  # count() does not end


def passes(answer: Answer) -> bool:
    """Tell whether the request may be answered otherwise later.

    Not when the work itself failed: then the answer says where the job is, or its code says so.
    Nor when a quota is used up, which is so for hours.
    """
    if answer.status not in _PASSING or "location" in answer.headers:
        return False
    kind = PROBLEMS.get(_failure(answer).code, ProblemError)
    return issubclass(kind, Temporary) or not issubclass(kind, (JobFailed, QuotaUsedUp))


def done(answer: Answer) -> Json:
    """Return the JSON object of an answer.

    Raises
    ------
    ProblemError
        The class of its code, when the answer says why not.
    UnexpectedAnswer
        When it is no JSON object.
    """
    if answer.status >= _REFUSED:
        raise problem(_failure(answer), *_about(answer))
    try:
        found = json.loads(answer.content)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    raise UnexpectedAnswer(f"No JSON object, but {_start(answer)!r} (status {answer.status}).")


def shaped(read: Callable[[Json], T], raw: Json) -> T:
    """Read a JSON object.

    Raises
    ------
    UnexpectedAnswer
        When a field is missing, or is of another type.
    """
    try:
        return read(raw)
    except (KeyError, TypeError, AttributeError) as error:
        raise UnexpectedAnswer(f"Not what was asked for: {error!r}.") from None


def problem(failure: Failure, instance: str | None, job_id: str | None) -> ProblemError:
    """Return the error of a failure, of the class of its code."""
    kind = PROBLEMS.get(failure.code, ProblemError)
    return kind(failure.status, failure.code, failure.detail, failure.faults, instance, job_id)


def _pause(got: Answer | Lost, attempt: int) -> float:
    """Return how long to wait before the next try [s]: ever longer, and not all at once."""
    pause = min(_FIRST_S * 2.0**attempt, _LONGEST_S) * random.uniform(0.5, 1)  # noqa: S311
    asked = got.headers.get("retry-after") if isinstance(got, Answer) else None
    return max(pause, min(_seconds(asked), _ASKED_S)) if asked else pause


def _seconds(text: str) -> float:
    """Read ``Retry-After``: seconds, or a date; 0 when it is neither."""
    if text.isdecimal():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0
    if date.tzinfo is None:
        return 0
    return max((date - datetime.now(timezone.utc)).total_seconds(), 0)


def _failure(answer: Answer) -> Failure:
    """Read problem details; what is none, of a proxy say, has the code ``http_error``."""
    try:
        return Failure.of(json.loads(answer.content))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Failure(answer.status, "http_error", _start(answer) or f"Status {answer.status}.")


def _about(answer: Answer) -> tuple[str | None, str | None]:
    """Return the path that a problem is about, and the id of its job."""
    location = answer.headers.get("location")
    try:
        instance = json.loads(answer.content)["instance"]
    except (ValueError, KeyError, TypeError):
        instance = None
    return instance or location, location.rpartition("/")[2] if location else None


def _start(answer: Answer) -> str:
    return answer.content[:_SHOWN].decode("utf-8", "replace")
