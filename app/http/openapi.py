"""What OpenAPI cannot see for itself: bodies that are read by a dependency, and the problems."""

import re
from http import HTTPStatus
from typing import Any

from docstring_parser import DocstringStyle, parse
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

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
from app.schemas.cost_models import CostModelRequest
from app.schemas.estimates import EstimateRequest
from app.schemas.parameter_servers import ParameterServerRequest
from app.schemas.placements import PlacementsRequest
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.problem_details import ProblemDetails
from app.schemas.runs import EndRequest, RunPlanRequest, RunRequest, StepsRequest
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
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
            "A form could have sent this: add the header X-Interlace-Request: 1.",
        ),
        (TemporaryCode.REQUEST_TIMEOUT, "The body did not come in time."),
        (RefusalCode.NO_RESULT, "This plan has no result: it is running."),
        (
            TemporaryCode.RATE_LIMITED,
            "Quota jobs queued: at most 100, now 100; try again later.",
        ),
        (RefusalCode.TOO_LARGE, "The body is longer than 268435456 bytes."),
        (RefusalCode.UNSUPPORTED_MEDIA_TYPE, "The body must be sent as application/json."),
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


#: Requests that a dependency reads.
_BODIES = (
    PlanRequest,
    SimulationRequest,
    PredictionRequest,
    PlacementsRequest,
    SweepRequest,
    ParameterServerRequest,
    CostModelRequest,
    EstimateRequest,
    RunRequest,
    StepsRequest,
    RunPlanRequest,
    EndRequest,
)


Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Document refusals with these statuses."""
    schema = {"$ref": _REF.format(model=ProblemDetails.__name__)}
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


def accepted(model: type[BaseModel]) -> Responses:
    """Document the answer to a call whose job has not ended when its wait has."""
    retry = {"description": "When to look again [s].", "schema": {"type": "integer"}}
    place = {"description": "Where the job is.", "schema": {"type": "string"}}
    return {
        202: {
            "model": model,
            "description": "The job has not ended; its answer's fields are null. `Location` says "
            "where to look.",
            "headers": {"Location": place, "Retry-After": retry},
        }
    }


def json_body(model: type[BaseModel], example: dict[str, Any]) -> dict[str, Any]:
    """Document a JSON body that a dependency reads."""
    schema = {"$ref": _REF.format(model=model.__name__)}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
            separate_input_output_schemas=False,
        )
        _, schemas = models_json_schema(
            [(body, "validation") for body in (*_BODIES, ProblemDetails)],
            ref_template=_REF,
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
        components = {**document["components"]["schemas"], **schemas["$defs"]}
        for schema in components.values():
            _explain_fields(schema)
        for unused in ("HTTPValidationError", "ValidationError"):
            components.pop(unused, None)
        document["components"]["schemas"] = dict(sorted(components.items()))
        document["components"]["securitySchemes"] = {_SCHEME: _KEYS}
        app.openapi_schema = document
    return app.openapi_schema


def _lock(paths: dict[str, dict[str, Any]]) -> None:
    """Say which scope a key needs for each operation, and how it is refused."""
    for place, operations in paths.items():
        for method, operation in operations.items():
            scope = scope_of(method.upper(), place)
            operation["security"] = [] if scope is None else [{_SCHEME: [scope]}]
            if scope is not None:
                both = {**operation["responses"], **problems(401, 403, 429)}
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

    The solver knows no pydantic and documents its results as numpydoc, once.
    """
    text = schema.get("description", "")
    documented = parse(text, DocstringStyle.NUMPYDOC)
    if documented.params:
        text = _one_line(documented.short_description)
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
