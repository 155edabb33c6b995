"""What OpenAPI cannot see for itself: the body that the door reads, and the problems."""

import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.errors import title_of
from app.http.problems import MEDIA_TYPE
from app.schemas.cost_models import CostModelRequest
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.problems import ProblemDetails
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest

_ATTRIBUTES = "Attributes\n----------\n"


#: The next section of a docstring.
_SECTION = re.compile(r"\n\n\w+\n-+\n")


_REF = "#/components/schemas/{model}"


_RULES = """Wrong values; all faults are listed. Codes `cycle`, `unknown_op`, `duplicate_id`, \
`self_loop`, `missing_field`, `extra_field`, `wrong_type`, `out_of_range`, `no_compute`, \
`no_collective`, `unknown_channel`, `unknown_cost_model`, `not_measured`, `not_all_reduce`, \
`wrong_format`, `too_few_sizes`, `not_layered`, `unknown_graph`, `mixed_bucket`, `deadlock`, \
`slot_too_small`, `too_many_faults`, `idempotency_key_reused`; of files also `empty`, `truncated`, \
`not_gzip`, `too_large`, `not_text`, `too_many_files`."""


_UNAVAILABLE = """No database: code `storage_unavailable`. The queue is full: `queue_full`. A job \
that failed: `time_limit`, `worker_died`, `out_of_memory`."""


#: Code, when it is used, and an example of the detail.
_MEANINGS = {
    400: (
        "not_json",
        "Not JSON: codes `not_json`, `duplicate_key`; `incomplete_body`, `not_http`.",
        "The body is not JSON: Expecting value at line 1, column 1.",
    ),
    408: (
        "request_timeout",
        "The body did not come, or too slowly: code `request_timeout`.",
        "The body did not come in time.",
    ),
    409: (
        "no_result",
        "The job has no result, or none yet: code `no_result`.",
        "This plan has no result: it is running.",
    ),
    500: (
        "internal_error",
        "The server failed, or a job inside: code `internal_error`.",
        "The server failed; its log says why.",
    ),
    404: ("not_found", "Nothing has that name: code `not_found`.", "No plan has this id."),
    413: (
        "too_large",
        "Longer than the server reads: code `too_large`.",
        "The body is longer than 268435456 bytes.",
    ),
    415: (
        "unsupported_media_type",
        "Not declared as JSON in UTF-8: code `unsupported_media_type`.",
        "The body must be sent as application/json.",
    ),
    422: ("out_of_range", _RULES, "Tensor 'g1': bytes must be 1 to 2^60, got 0."),
    503: (
        "storage_unavailable",
        _UNAVAILABLE,
        "The database cannot be used: unable to open database file.",
    ),
}


_UNPROCESSABLE = 422


#: What is accepted at the one is found at the other until it has ended.
_GRAPHS, _IMPORTS = "/v1/graphs", "/v1/imports"


#: What the door reads.
_BODIES = (PlanRequest, SimulationRequest, PredictionRequest, SweepRequest, CostModelRequest)


Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Document refusals with these statuses."""
    schema = {"$ref": _REF.format(model=ProblemDetails.__name__)}
    documented: Responses = {}
    for status in statuses:
        code, meaning, detail = _MEANINGS[status]
        fault = {"pointer": "/graph/ops/3/bytes", "code": code, "detail": detail}
        example = {
            "type": "about:blank",
            "title": title_of(status),
            "status": status,
            "code": code,
            "detail": detail,
            "instance": "/v1/plans",
            "errors": [fault] if status == _UNPROCESSABLE else [],
        }
        content = {MEDIA_TYPE: {"schema": schema, "example": example}}
        documented[status] = {"description": meaning, "content": content}
    return documented


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
        for operation in (found for path in document["paths"].values() for found in path.values()):
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]  # FastAPI's own; a text in a path is never wrong
        _link(document["paths"])
        components = {**document["components"]["schemas"], **schemas["$defs"]}
        for schema in components.values():
            _explain_fields(schema)
        for unused in ("HTTPValidationError", "ValidationError"):
            components.pop(unused, None)
        document["components"]["schemas"] = dict(sorted(components.items()))
        app.openapi_schema = document
    return app.openapi_schema


def _link(paths: dict[str, dict[str, Any]]) -> None:
    """Say at each answer to a POST what can be asked of the thing that it names."""
    for place, operations in paths.items():
        responses = operations.get("post", {}).get("responses", {})
        for status in responses.keys() & {"201", "202"}:
            home = _IMPORTS if (place, status) == (_GRAPHS, "202") else place
            responses[status]["links"] = {
                operation["operationId"]: {
                    "operationId": operation["operationId"],
                    "parameters": {found[1]: "$response.body#/id"},
                }
                for below, others in paths.items()
                if (found := re.fullmatch(re.escape(home) + r"/\{(\w+)\}(/.+)?", below))
                for operation in others.values()
            }


def _explain_fields(schema: dict[str, Any]) -> None:
    """Move what a docstring says of each attribute to the attribute; keep its first paragraph."""
    text = schema.get("description", "")
    if _ATTRIBUTES not in text:
        schema.update({"description": text.replace("``", "`")} if text else {})
        return
    head, _, rest = text.partition(_ATTRIBUTES)
    schema["description"] = " ".join(head.split("\n\n")[0].split()).replace("``", "`")
    rest = _SECTION.split(rest)[0]
    names: list[str] = []
    for line in rest.splitlines():
        if line and not line.startswith(" "):
            names = line.split(", ")
            continue
        for name in names:
            field = schema["properties"].get(name, {})
            told = f"{field.get('description', '')} {line.strip()}".strip()
            field["description"] = told.replace("``", "`")
