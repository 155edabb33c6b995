"""What the process of a call is asked, and what it tells."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from app.jobs.queue import Room
from app.operations.callers import Caller


class Call(NamedTuple):
    """What a process is asked: ``work(store, *given)``, or ``work(store, body, *given)``.

    ``work`` is named by reference (:mod:`app.references`): who asks does not import it. A body of a
    file comes after the call, as its handle. The store is as the caller sees it.
    """

    work: str
    given: tuple[Any, ...]
    request_id: str
    caller: Caller | None = None
    body: bytes | None = None
    has_file: bool = False


class Answered(NamedTuple):
    """An answer of a call as it is sent."""

    content: bytes
    media_type: str = "application/json"
    status: int = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


class Refused(NamedTuple):
    """Why there is no answer: as :func:`app.errors.problem_details` tells it."""

    problem: dict[str, Any]
    retry_after_s: int | None


class CallResult(NamedTuple):
    """What a process tells of a call: its answer, whose content follows, or another result."""

    result: Any
    is_last: bool
    has_content: bool


class Wanted(NamedTuple):
    """How a job is asked for.

    Attributes
    ----------
    tags
        Words of the client.
    request_id
        Of the call.
    key
        Idempotency key; None without.
    fresh
        Whether an answer from storage will not do.
    room
        How much may wait in its queue.
    traceparent
        The span of the call; None where nothing is traced.
    """

    tags: Sequence[str]
    request_id: str
    key: str | None
    fresh: bool
    room: Room
    traceparent: str | None = None
