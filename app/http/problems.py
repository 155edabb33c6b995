"""Every error of the service as problem details (RFC 9457), mapped here and nowhere else."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from app.codes import FailureCode, RefusalCode, StatusCode
from app.errors import BUG, InvalidRequest, Refusal, problem_details, title_of, without_faults
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.wording import must_be, one_of

MEDIA_TYPE = "application/problem+json"

#: A word among those that pydantic says it expected.
_WORD = re.compile(r"'([^']*)'")


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
    request: Request,
    code: StatusCode,
    detail: str,
    *,
    status: int | None = None,
    headers: Any = None,
) -> Response:
    """Answer with a problem that has no faults, of its code's status or another one."""
    error = without_faults(code, detail)
    return answer({**error, "status": status or error["status"]}, request.url.path, headers)


def on_faults(request: Request, error: InterlaceError) -> Response:
    """Answer 422 with all faults."""
    return answer(problem_details(error), request.url.path)


def on_refusal(request: Request, error: Refusal) -> Response:
    """Answer with the refusal's own status."""
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    headers |= {"Connection": "close"} if error.closes else {}
    headers |= {"WWW-Authenticate": error.challenge} if error.challenge else {}
    return answer(problem_details(error), request.url.path, headers)


def on_parameter(request: Request, error: RequestValidationError) -> Response:
    """Answer 422 for query parameters, the only thing that FastAPI validates here."""
    faults = [
        Fault(
            "".join(f"/{step}" for step in item["loc"]),
            FaultCode.WRONG_TYPE if item["type"].endswith("_parsing") else FaultCode.OUT_OF_RANGE,
            _said(item),
        )
        for item in error.errors()
    ]
    return on_faults(request, InvalidRequest(faults))


def _said(item: Any) -> str:
    """Say what is wrong with a query parameter; of a word which of the known is near."""
    what = f"Query parameter {item['loc'][1]}"
    if item["type"] in {"literal_error", "enum"}:
        known = _WORD.findall(item["ctx"]["expected"])
        return must_be(what, one_of(known), item["input"], known)
    if item["type"] == "int_parsing":
        return must_be(what, "an integer", item["input"])
    return f"{what}: {item['msg']}."


def on_http(request: Request, error: HTTPException) -> Response:
    """Answer unknown routes and methods."""
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            code, detail = RefusalCode.NOT_FOUND, "No such page."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            code, detail = RefusalCode.METHOD_NOT_ALLOWED, "No such method here."
        case _:
            code, detail = RefusalCode.HTTP_ERROR, error.detail
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    return problem(request, code, detail, status=error.status_code, headers=headers)


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
    return problem(request, FailureCode.INTERNAL_ERROR, BUG)


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
