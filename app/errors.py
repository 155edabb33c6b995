"""What is refused, and why: one class a situation, with its code."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from app.codes import FAULTY, FailureCode, RefusalCode, StatusCode, TemporaryCode
from app.limits import MAX_FAULTS_LISTED
from solver.codes import Code
from solver.errors import Fault, InterlaceError


class InvalidRequest(InterlaceError):
    """The body is JSON but not a problem that can be planned."""


class Refusal(Exception):
    """A request that is refused as a whole, for one reason."""

    #: Says the status too.
    code: ClassVar[StatusCode]
    #: When it may be tried again [s].
    retry_after_s: int | None = None
    #: Whether the connection is of no use afterwards.
    closes = False
    #: Which key would do (``WWW-Authenticate``).
    challenge: str | None = None


class NotJson(Refusal):
    """The body is not JSON."""

    code = RefusalCode.NOT_JSON


class NotMultipart(Refusal):
    """The body says that it is a multipart form, and is none."""

    code = RefusalCode.NOT_MULTIPART


class DuplicateKey(Refusal):
    """An object of the body has a key twice."""

    code = RefusalCode.DUPLICATE_KEY


class IncompleteBody(Refusal):
    """The client left in the middle of its body; only the log hears of it."""

    code = RefusalCode.INCOMPLETE_BODY


class ClientLeft(Refusal):
    """The client left before its answer was there; only the log hears of it."""

    code = RefusalCode.INCOMPLETE_BODY


class RequestTimeout(Refusal):
    """The body did not come in time."""

    code = TemporaryCode.REQUEST_TIMEOUT
    closes = True


class TooLarge(Refusal):
    """The body is longer than the server reads."""

    code = RefusalCode.TOO_LARGE


class UnsupportedMediaType(Refusal):
    """The body is not declared as JSON."""

    code = RefusalCode.UNSUPPORTED_MEDIA_TYPE


class Unauthenticated(Refusal):
    """No key was sent, or none that lets its bearer in."""

    code = RefusalCode.UNAUTHENTICATED
    challenge = 'Bearer realm="interlace"'


class Forbidden(Refusal):
    """The key is not good for this."""

    code = RefusalCode.FORBIDDEN


class RateLimited(Refusal):
    """A key or an address has asked as often, or an owner has as many jobs waiting, as it may."""

    code = TemporaryCode.RATE_LIMITED
    retry_after_s = 1


class QuotaUsedUp(Refusal):
    """An owner has stored, or had worked on, as much as it may."""

    code = RefusalCode.QUOTA_USED_UP
    retry_after_s = 60


class NotFound(Refusal):
    """Nothing has that name."""

    code = RefusalCode.NOT_FOUND


class NotInstalled(Refusal):
    """An extra of the distribution is missing where the service runs."""

    code = RefusalCode.NOT_INSTALLED


class StorageUnavailable(Refusal):
    """The database cannot be used."""

    code = TemporaryCode.STORAGE_UNAVAILABLE
    retry_after_s = 5


class QueueFull(Refusal):
    """As many jobs wait as may."""

    code = TemporaryCode.QUEUE_FULL
    retry_after_s = 5


class NoTurn(Refusal):
    """A call got no turn in time; 429, not 503: a proxy leaves the server in for other callers."""

    code = TemporaryCode.NO_TURN
    retry_after_s = 5


class WorkersUnavailable(Refusal):
    """Jobs are taken, and wait: no process can be started."""

    code = TemporaryCode.WORKERS_UNAVAILABLE
    retry_after_s = 5


class NoResult(Refusal):
    """A job has no result, or none yet."""

    code = RefusalCode.NO_RESULT


class InUse(Refusal):
    """A job that has not ended needs what is to be deleted."""

    code = RefusalCode.IN_USE


class RunEnded(Refusal):
    """A run has ended, and takes nothing more."""

    code = RefusalCode.RUN_ENDED


class WorkerDied(Refusal):
    """A process ended before its work did: a call's only one, or a job's third."""

    code = FailureCode.WORKER_DIED
    retry_after_s = 5


class TimeLimit(Refusal):
    """The work took longer than it may, and nothing is in hand."""

    code = FailureCode.TIME_LIMIT


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
    listed = f", of which {MAX_FAULTS_LISTED} are listed" if len(faults) > MAX_FAULTS_LISTED else ""
    return f"{len(faults)} faults{listed}. The first: {faults[0].detail}"


def problem_details(error: Exception) -> dict[str, Any]:
    """Return status, code, detail and faults of an error, as a job keeps it."""
    status, code, detail = _reason(error)
    faults = error.faults[:MAX_FAULTS_LISTED] if isinstance(error, InterlaceError) else ()
    return {
        "status": int(status),
        "code": code.value,
        "detail": detail,
        "errors": [
            {"pointer": f.pointer, "code": f.code.value, "detail": f.detail} for f in faults
        ],
    }


def without_faults(code: StatusCode, detail: str) -> dict[str, Any]:
    """Return the same of an error that has no faults."""
    return {"status": int(code.status), "code": code.value, "detail": detail, "errors": []}


def _reason(error: Exception) -> tuple[HTTPStatus, Code, str]:
    match error:
        case InterlaceError():
            return FAULTY, error.faults[0].code, summary(error.faults)
        case Refusal():
            return error.code.status, error.code, str(error)
        case MemoryError():
            return FailureCode.OUT_OF_MEMORY.status, FailureCode.OUT_OF_MEMORY, _NO_MEMORY
    return FailureCode.INTERNAL_ERROR.status, FailureCode.INTERNAL_ERROR, BUG


#: What is told of a bug, and no more.
BUG = FailureCode.INTERNAL_ERROR.sentence


_NO_MEMORY = "The job needs more memory than it may have (job_memory_bytes); ask for less."
