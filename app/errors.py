"""Errors on the wire: problem details (RFC 9457), mapped here and nowhere else."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from solver.errors import Fault, InterlaceError

MEDIA_TYPE = "application/problem+json"
#: How many faults one answer lists.
MAX_FAULTS = 100


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


class WorkerDied(Refusal):
    """A process ended before its work did."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "worker_died"


class TimeLimit(Refusal):
    """The work took longer than it may, and nothing is in hand."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "time_limit"


class FaultOut(BaseModel):
    """One thing that is wrong with a request."""

    pointer: Annotated[
        str,
        Field(
            description="JSON pointer (RFC 6901) into the body; `/query/...` is a query parameter.",
            examples=["/graph/ops/3/bytes"],
        ),
    ]
    code: Annotated[str, Field(description="The rule that was broken.", examples=["out_of_range"])]
    detail: Annotated[str, Field(examples=["Tensor 'g1': bytes must be 1 to 2^60, got 0."])]


class ProblemDetails(BaseModel):
    """Why a request was refused (RFC 9457), with all its faults."""

    type: Annotated[str, Field(examples=["about:blank"])]
    title: Annotated[str, Field(examples=["Unprocessable Content"])]
    status: Annotated[int, Field(examples=[422])]
    code: Annotated[str, Field(description="Code of the first fault.", examples=["out_of_range"])]
    detail: Annotated[str, Field(examples=["Tensor 'g1': bytes must be 1 to 2^60, got 0."])]
    instance: Annotated[str, Field(description="Path of the request.", examples=["/v1/plans"])]
    errors: Annotated[
        list[FaultOut], Field(description=f"The faults, the first {MAX_FAULTS} of them.")
    ]


def title_of(status: int) -> str:
    """Name an HTTP status, alike on every Python."""
    return _TITLES.get(status) or HTTPStatus(status).phrase


_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # Python 3.13 renamed both


def answer(error: Mapping[str, Any], instance: str, headers: Any = None) -> Response:
    """Answer with problem details.

    Parameters
    ----------
    error
        status, code, detail and errors.
    instance
        Path of what the problem is about.
    headers
        Of the answer.
    """
    content = {
        "type": "about:blank",
        "title": title_of(error["status"]),
        "status": error["status"],
        "code": error["code"],
        "detail": error["detail"],
        "instance": instance,
        "errors": error["errors"],
    }
    return Response(json.dumps(content), error["status"], headers, MEDIA_TYPE)


def problem(
    request: Request, status: int, code: str, detail: str, *, headers: Any = None
) -> Response:
    """Answer with a problem that has no faults."""
    error = {"status": status, "code": code, "detail": detail, "errors": []}
    return answer(error, request.url.path, headers)


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


def on_faults(request: Request, error: InterlaceError) -> Response:
    """Answer 422 with all faults."""
    return answer(described(error), request.url.path)


def on_refusal(request: Request, error: Refusal) -> Response:
    """Answer with the refusal's own status."""
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    headers |= {"Connection": "close"} if error.closes else {}
    return answer(described(error), request.url.path, headers)


def on_parameter(request: Request, error: RequestValidationError) -> Response:
    """Answer 422 for query parameters, the only thing that FastAPI validates here."""
    faults = [
        Fault(
            "".join(f"/{step}" for step in item["loc"]),
            "wrong_type" if item["type"].endswith("_parsing") else "out_of_range",
            f"Query parameter {item['loc'][1]}: {item['msg']}.",
        )
        for item in error.errors()
    ]
    return on_faults(request, InvalidRequest(faults))


def on_http(request: Request, error: HTTPException) -> Response:
    """Answer unknown routes and methods."""
    codes = {
        404: ("not_found", "No such page."),
        405: ("method_not_allowed", "No such method here."),
    }
    code, detail = codes.get(error.status_code, ("http_error", error.detail))
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    return problem(request, error.status_code, code, detail, headers=headers)


def _methods(request: Request) -> set[str]:
    """Return the methods that a path has: each of its routes knows its own."""
    return {
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    }


def on_bug(request: Request, _error: Exception) -> Response:
    """Answer 500 without details; the server logs them."""
    return problem(request, 500, "internal_error", BUG)


def install(app: FastAPI) -> None:
    """Map every error of the service to problem details."""
    handlers: dict[type[Exception], Any] = {
        InterlaceError: on_faults,
        Refusal: on_refusal,
        RequestValidationError: on_parameter,
        HTTPException: on_http,
        Exception: on_bug,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
