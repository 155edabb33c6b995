"""What is refused, and why: one class a situation, with its status and code."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from app.limits import MAX_FAULTS
from solver.errors import Fault, InterlaceError


class InvalidRequest(InterlaceError):
    """The body is JSON but not a problem that can be planned."""


class Refusal(Exception):
    """A request that is refused as a whole, for one reason."""

    status = HTTPStatus.BAD_REQUEST
    code = "bad_request"
    #: When it may be tried again [s].
    retry_after_s: int | None = None
    #: Whether the connection is of no use afterwards.
    closes = False


class NotJson(Refusal):
    """The body is not JSON."""

    code = "not_json"


class NotMultipart(Refusal):
    """The body says that it is a multipart form, and is none."""

    code = "not_multipart"


class DuplicateKey(Refusal):
    """An object of the body has a key twice."""

    code = "duplicate_key"


class IncompleteBody(Refusal):
    """The client left in the middle of its body; only the log hears of it."""

    code = "incomplete_body"


class RequestTimeout(Refusal):
    """The body did not come in time."""

    status = HTTPStatus.REQUEST_TIMEOUT
    code = "request_timeout"
    closes = True


class TooLarge(Refusal):
    """The body is longer than the server reads."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"


class UnsupportedMediaType(Refusal):
    """The body is not declared as JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "unsupported_media_type"


class NotFound(Refusal):
    """Nothing has that name."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class StorageUnavailable(Refusal):
    """The database cannot be used."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "storage_unavailable"
    retry_after_s = 5


class QueueFull(Refusal):
    """As many jobs wait as may."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "queue_full"
    retry_after_s = 5


class WorkersUnavailable(Refusal):
    """Jobs are taken, and wait: no process can be started."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "workers_unavailable"
    retry_after_s = 5


class NoResult(Refusal):
    """A job has no result, or none yet."""

    status = HTTPStatus.CONFLICT
    code = "no_result"


class WorkerDied(Refusal):
    """A process ended before its work did."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "worker_died"


class TimeLimit(Refusal):
    """The work took longer than it may, and nothing is in hand."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "time_limit"


def title_of(status: int) -> str:
    """Name an HTTP status, alike on every Python."""
    return _TITLES.get(status) or HTTPStatus(status).phrase


_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # Python 3.13 renamed both


def within(section: str, faults: Sequence[Fault]) -> list[Fault]:
    """Make pointers into a section pointers into the body."""
    return [Fault(f"/{section}{fault.pointer}", fault.code, fault.detail) for fault in faults]


def summary(faults: Sequence[Fault]) -> str:
    """Say in one line what is wrong: the first fault, and how many there are."""
    if len(faults) == 1:
        return faults[0].detail
    listed = f", of which {MAX_FAULTS} are listed" if len(faults) > MAX_FAULTS else ""
    return f"{len(faults)} faults{listed}. The first: {faults[0].detail}"


def described(error: Exception) -> dict[str, Any]:
    """Return status, code, detail and faults of an error, as a job keeps it."""
    match error:
        case InterlaceError():
            status, code, detail = 422, error.faults[0].code, summary(error.faults)
        case Refusal():
            status, code, detail = int(error.status), error.code, str(error)
        case MemoryError():
            status, code, detail = 503, "out_of_memory", _NO_MEMORY
        case _:
            status, code, detail = 500, "internal_error", BUG
    faults = error.faults[:MAX_FAULTS] if isinstance(error, InterlaceError) else ()
    return {
        "status": status,
        "code": code,
        "detail": detail,
        "errors": [{"pointer": f.pointer, "code": f.code, "detail": f.detail} for f in faults],
    }


BUG = "The server failed; its log says why."


_NO_MEMORY = "The job needs more memory than it may have (job_memory_bytes); ask for less."
