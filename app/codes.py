"""Every code of an error, with its HTTP status and a sentence.

The client's classes, the tables of the documentation and the descriptions in OpenAPI are made of
these enumerations and of the solver's, :class:`solver.codes.FaultCode`.
"""

from http import HTTPStatus
from typing import NamedTuple, Self

from solver.codes import Code, FaultCode


class ServiceFaultCode(Code):
    """What the service alone finds wrong with a request, beside what the solver does."""

    UNKNOWN_GRAPH = "unknown_graph", "No stored graph has this id."
    UNKNOWN_COST_MODEL = "unknown_cost_model", "No stored cost model has this id."
    UNKNOWN_PLAN = "unknown_plan", "No stored plan has this id, or the run has no such plan."
    STEP_REPORTED = "step_reported", "The step was reported before, with other figures."
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        "The key was used before, for another request.",
    )
    NOT_GZIP = "not_gzip", "A file begins like gzip and is none."
    NOT_PLANNABLE = "not_plannable", "The files hold no times to plan with."


class StatusCode(Code):
    """A code that says why there is no answer at all, with the status that it is told by."""

    status: HTTPStatus

    def __new__(cls, word: str, status: HTTPStatus, sentence: str) -> Self:
        """Keep the status beside the sentence."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.status = status
        member.sentence = sentence
        return member


class TemporaryCode(StatusCode):
    """Later it may work."""

    QUEUE_FULL = (
        "queue_full",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service has as many jobs as it takes.",
    )
    WORKERS_UNAVAILABLE = (
        "workers_unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service takes jobs, but works on none.",
    )
    STORAGE_UNAVAILABLE = (
        "storage_unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service's database cannot be used.",
    )
    RATE_LIMITED = (
        "rate_limited",
        HTTPStatus.TOO_MANY_REQUESTS,
        "A key or an address asks more often, or an owner has more jobs waiting, than it may.",
    )
    NO_TURN = (
        "no_turn",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Other calls, the caller's own among them, keep all processes that answer such calls.",
    )
    REQUEST_TIMEOUT = (
        "request_timeout",
        HTTPStatus.REQUEST_TIMEOUT,
        "The request, or its body, came too slowly.",
    )


class FailureCode(StatusCode):
    """The work itself failed; sent again it would fail again, unless something changes."""

    TIME_LIMIT = (
        "time_limit",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The job took longer than it may, and has nothing to show.",
    )
    WORKER_DIED = (
        "worker_died",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The process that did the work died.",
    )
    OUT_OF_MEMORY = (
        "out_of_memory",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The work needs more memory than a job may take.",
    )
    INTERNAL_ERROR = (
        "internal_error",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The server failed; its log says why.",
    )


class RefusalCode(StatusCode):
    """The request is wrong as a whole."""

    NOT_HTTP = (
        "not_http",
        HTTPStatus.BAD_REQUEST,
        "What was sent is no HTTP/1.1 request.",
    )
    NOT_JSON = "not_json", HTTPStatus.BAD_REQUEST, "The body is not JSON."
    DUPLICATE_KEY = (
        "duplicate_key",
        HTTPStatus.BAD_REQUEST,
        "An object of the body has a key twice.",
    )
    NOT_MULTIPART = (
        "not_multipart",
        HTTPStatus.BAD_REQUEST,
        "The body says that it is a form, and is none.",
    )
    INCOMPLETE_BODY = (
        "incomplete_body",
        HTTPStatus.BAD_REQUEST,
        "The request's body ended before it was whole.",
    )
    HTTP_ERROR = (
        "http_error",
        HTTPStatus.BAD_REQUEST,
        "The status, this or another one, says all that is known; a proxy may have answered.",
    )
    UNAUTHENTICATED = (
        "unauthenticated",
        HTTPStatus.UNAUTHORIZED,
        "The service wants an API key, and what was sent is none, or is none any more.",
    )
    FORBIDDEN = (
        "forbidden",
        HTTPStatus.FORBIDDEN,
        "The API key is not good for this.",
    )
    QUOTA_USED_UP = (
        "quota_used_up",
        HTTPStatus.TOO_MANY_REQUESTS,
        "The key's owner has stored, or had worked on today, as much as it may.",
    )
    NOT_FOUND = (
        "not_found",
        HTTPStatus.NOT_FOUND,
        "Nothing has that name, or not any more.",
    )
    METHOD_NOT_ALLOWED = (
        "method_not_allowed",
        HTTPStatus.METHOD_NOT_ALLOWED,
        "There is no such method at this path.",
    )
    HOST_NOT_ALLOWED = (
        "host_not_allowed",
        HTTPStatus.MISDIRECTED_REQUEST,
        "The service is not called by the name that the request is addressed to.",
    )
    ORIGIN_NOT_ALLOWED = (
        "origin_not_allowed",
        HTTPStatus.FORBIDDEN,
        "A page of another origin may not use the service.",
    )
    REQUEST_HEADER_MISSING = (
        "request_header_missing",
        HTTPStatus.FORBIDDEN,
        "What a form of any page could send needs the header X-Interlace-Request.",
    )
    NOT_INSTALLED = (
        "not_installed",
        HTTPStatus.NOT_IMPLEMENTED,
        "The service was installed without what this takes.",
    )
    NO_RESULT = "no_result", HTTPStatus.CONFLICT, "The job has no result, or none yet."
    IN_USE = "in_use", HTTPStatus.CONFLICT, "A job that has not ended needs it."
    RUN_ENDED = "run_ended", HTTPStatus.CONFLICT, "The run has ended; nothing is added to it."
    TOO_LARGE = (
        "too_large",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The body is longer than the service reads.",
    )
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The body is not declared as what it must be.",
    )
    HEADERS_TOO_LARGE = (
        "headers_too_large",
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The head of the request is too long.",
    )
    UNKNOWN_TRANSFER_ENCODING = (
        "unknown_transfer_encoding",
        HTTPStatus.NOT_IMPLEMENTED,
        "The service does not know that transfer encoding.",
    )


#: Codes of what is wrong at one place of a request.
FAULT_CODES: tuple[Code, ...] = (*FaultCode, *ServiceFaultCode)


#: Every code there is: what may pass, what failed, what is refused as a whole, and faults.
CODES: tuple[Code, ...] = (
    *TemporaryCode,
    *FailureCode,
    *RefusalCode,
    *FAULT_CODES,
)


#: The status of a request that has faults.
FAULTY = HTTPStatus.UNPROCESSABLE_ENTITY


class ErrorCode(NamedTuple):
    """A word that stands as ``code`` in problem details.

    Attributes
    ----------
    word
        The code.
    sort
        Its enumeration; the first one of two that have the word.
    statuses
        The HTTP statuses that it comes with.
    sentence
        What it means; of two meanings, both.
    """

    word: str
    sort: type[Code]
    statuses: tuple[int, ...]
    sentence: str


def error_codes() -> list[ErrorCode]:
    """List every word once, in the order of :data:`CODES`."""
    listed: dict[str, ErrorCode] = {}
    for code in CODES:
        _, sort, statuses, sentence = listed.get(code, ErrorCode("", type(code), (), ""))
        listed[code] = ErrorCode(
            code.value,
            sort,
            (*statuses, int(status_of(code))),
            f"{sentence} {code.sentence}".strip(),
        )
    return list(listed.values())


def status_of(code: Code) -> HTTPStatus:
    """Return the status that a code is told by."""
    return code.status if isinstance(code, StatusCode) else FAULTY


def code_of(word: str) -> Code:
    """Return the code of a word; one that only a newer server knows is an HTTP error."""
    return next((code for code in CODES if code == word), RefusalCode.HTTP_ERROR)
