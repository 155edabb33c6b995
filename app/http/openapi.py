"""What OpenAPI cannot see for itself: bodies that are read by a dependency, and the problems."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI

from app.codes import (
    CODES,
    FAULTY,
    FailureCode,
    RefusalCode,
    TemporaryCode,
    status_of,
)
from app.errors import BUG, title_of
from app.http.keys import scope_of
from app.http.problems import MEDIA_TYPE
from app.references import resolve
from solver.codes import Code, FaultCode

_REF = "#/components/schemas/{model}"


#: A code of each status, and how a detail of it reads.
_EXAMPLES: dict[int, tuple[Code, str]] = {
    status_of(code): (code, detail)
    for code, detail in (
        (RefusalCode.NOT_JSON, "The body is not JSON: Expecting value at line 1, column 1."),
        (RefusalCode.UNAUTHENTICATED, "This API key is unknown, has expired or was revoked."),
        (
            RefusalCode.FORBIDDEN,
            "This API key is not good for this: it has no scope 'submit'.",
        ),
        (RefusalCode.NOT_FOUND, "No plan has this id."),
        (
            RefusalCode.REQUEST_HEADER_MISSING,
            "Say of a JSON body Content-Type: application/json, or add X-Interlace-Request: 1.",
        ),
        (TemporaryCode.REQUEST_TIMEOUT, "The body did not come in time."),
        (RefusalCode.NO_RESULT, "This plan has no result: it is running."),
        (
            TemporaryCode.RATE_LIMITED,
            "Quota jobs queued: at most 100, now 100; try again later.",
        ),
        (RefusalCode.TOO_LARGE, "The body is longer than 268435456 bytes."),
        (RefusalCode.UNSUPPORTED_MEDIA_TYPE, "The body must be sent as application/json."),
        (
            RefusalCode.NOT_INSTALLED,
            "Plots need the extra 'plots' where this runs: pip install 'interlace[plots]'.",
        ),
        (FaultCode.OUT_OF_RANGE, "Tensor 'g1': bytes must be 1 to 2^60, got 0."),
        (FailureCode.INTERNAL_ERROR, BUG),
        (
            TemporaryCode.STORAGE_UNAVAILABLE,
            "The database cannot be used: unable to open database file.",
        ),
    )
}


#: Keys, as :mod:`app.http.keys` wants them.
_SCHEME = "ApiKey"
_KEYS = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "ilk_<id>_<secret>",
    "description": "An API key, made by `interlace keys make`, where the service requires keys. Of "
    "its scopes `read` is good for looking, `submit` for that and for changes, `admin` for both on "
    "what others own. What is another owner's is not found (404), unless you are of one team.",
}


#: What is accepted at the one is found at the other until it has ended.
_GRAPHS, _IMPORTS = "/v1/graphs", "/v1/imports"


#: A model by reference (:mod:`app.references`), which stands in a document for a while.
_REFERENCE = re.compile(r"app\.schemas\.\w+:\w+")
_PROBLEM = "app.schemas.problem_details:ProblemDetails"


Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Document refusals with these statuses."""
    schema = {"$ref": _PROBLEM}
    documented: Responses = {}
    for status in statuses:
        code, detail = _EXAMPLES[status]
        fault = {"pointer": "/graph/ops/3/bytes", "code": code.value, "detail": detail}
        example = {
            "type": "about:blank",
            "title": title_of(status),
            "status": status,
            "code": code.value,
            "detail": detail,
            "instance": "/v1/plans",
            "errors": [fault] if status == FAULTY else [],
        }
        content = {MEDIA_TYPE: {"schema": schema, "example": example}}
        documented[status] = {"description": _meaning(status), "content": content}
    return documented


def _meaning(status: int) -> str:
    """Say which codes a status comes with; those of faults are explained at :class:`FaultOut`."""
    codes = [code for code in CODES if status_of(code) == status]
    if status == FAULTY:
        words = ", ".join(f"`{code}`" for code in codes)
        return f"Wrong values; all faults are listed. Codes {words}."
    return " ".join(f"`{code}`: {code.sentence}" for code in codes)


def answered(model: str, status: int = HTTPStatus.OK) -> Responses:
    """Document an answer of a model, by reference, that is not made by FastAPI."""
    return {int(status): {"content": {"application/json": {"schema": {"$ref": model}}}}}


def accepted(model: str) -> Responses:
    """Document the answer to a call whose job has not ended when its wait has."""
    retry = {"description": "When to look again [s].", "schema": {"type": "integer"}}
    place = {"description": "Where the job is.", "schema": {"type": "string"}}
    return {
        202: {
            **answered(model)[200],
            "description": "The job has not ended; its answer's fields are null. `Location` says "
            "where to look.",
            "headers": {"Location": place, "Retry-After": retry},
        }
    }


def json_body(model: str, example: dict[str, Any]) -> dict[str, Any]:
    """Document a JSON body that a dependency reads; its model is named by reference."""
    content = {"application/json": {"schema": {"$ref": model}, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once; the models are imported for it."""
    if app.openapi_schema is None:
        from fastapi.openapi.utils import get_openapi  # noqa: PLC0415 - for this alone

        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
            separate_input_output_schemas=False,
        )
        forbidden = {str(status): told for status, told in problems(HTTPStatus.FORBIDDEN).items()}
        for path in document["paths"].values():
            if "post" in path:
                path["post"]["responses"] |= forbidden
        for operation in (found for path in document["paths"].values() for found in path.values()):
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]  # FastAPI's own; a text in a path is never wrong
        _link(document["paths"])
        _lock(document["paths"])
        schemas = _schemas_of(document["paths"])
        components = {**document["components"]["schemas"], **schemas}
        for schema in components.values():
            _explain_fields(schema)
        for unused in ("HTTPValidationError", "ValidationError"):
            components.pop(unused, None)
        document["components"]["schemas"] = dict(sorted(components.items()))
        document["components"]["securitySchemes"] = {_SCHEME: _KEYS}
        app.openapi_schema = document
    return app.openapi_schema


def _schemas_of(paths: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Describe the models that are named by reference: of answers as FastAPI does, of requests."""
    from fastapi.openapi.utils import get_openapi  # noqa: PLC0415 - for the document alone
    from pydantic.json_schema import models_json_schema  # noqa: PLC0415

    operations = [operation for path in paths.values() for operation in path.values()]
    answers, requests = (
        dict.fromkeys(name for each in operations for name in _resolved(each.get(part)))
        for part in ("responses", "requestBody")
    )
    aside = APIRouter()
    for name in answers:
        aside.add_api_route(f"/{name}", lambda: None, response_model=resolve(name))
    document = get_openapi(
        title="", version="", routes=aside.routes, separate_input_output_schemas=False
    )
    _, bodies = models_json_schema(
        [(resolve(name), "validation") for name in requests], ref_template=_REF
    )
    return {**document["components"]["schemas"], **bodies["$defs"]}


def _resolved(part: Any) -> Iterator[str]:
    """Put the place of its schema where a model is named by reference; yield the references."""
    if isinstance(part, dict):
        named = part.get("$ref")
        if isinstance(named, str) and _REFERENCE.fullmatch(named):
            yield named
            part["$ref"] = _REF.format(model=named.partition(":")[2])
    if isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _resolved(each)


def _lock(paths: dict[str, dict[str, Any]]) -> None:
    """Say which scope a key needs for each operation, and how it is refused."""
    for place, operations in paths.items():
        for method, operation in operations.items():
            scope = scope_of(method.upper(), place)
            operation["security"] = [] if scope is None else [{_SCHEME: [scope]}]
            both = {**operation["responses"], **problems(429)}
            if scope is not None:
                both |= problems(401, 403)
            responses = {str(status): each for status, each in both.items()}
            operation["responses"] = dict(sorted(responses.items()))


def _link(paths: dict[str, dict[str, Any]]) -> None:
    """Say at each answer to a POST what can be asked of the thing that it names."""
    for place, operations in paths.items():
        if "{" in place:
            continue  # what is made there is not named by its id alone
        responses = operations.get("post", {}).get("responses", {})
        for status in responses.keys() & {"201", "202"}:
            home = _IMPORTS if (place, status) == (_GRAPHS, "202") else place
            responses[status]["links"] = {
                operation["operationId"]: {
                    "operationId": operation["operationId"],
                    "parameters": {found[1]: "$response.body#/id"},
                }
                for below, others in paths.items()
                if (found := re.fullmatch(re.escape(home) + r"/\{(\w+)\}(/[^{]+)?", below))
                for operation in others.values()
            }


def _explain_fields(schema: dict[str, Any]) -> None:
    """Let each field say what the docstring of its dataclass does; keep the first paragraph there.

    The solver knows no pydantic and documents its results as numpydoc, once. Of models the sections
    are left out: these say why a model is not the solver's class.
    """
    from docstring_parser import DocstringStyle, parse  # noqa: PLC0415 - for the document alone

    text = schema.get("description", "")
    documented = parse(text, DocstringStyle.NUMPYDOC)
    if documented.params:
        text = _one_line(documented.short_description)
    elif documented.meta:
        text = (documented.description or "").strip()
    if text:
        schema["description"] = _as_markdown(text)
    for attribute in documented.params:
        for name in attribute.arg_name.split(", "):
            field = schema["properties"][name]
            field["description"] = _as_markdown(_one_line(attribute.description))


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _as_markdown(text: str) -> str:
    """Write what reStructuredText quotes as code in Markdown's way."""
    return text.replace("``", "`")
