"""The OpenAPI document is what the service does, and is committed."""

import json
from typing import Any

import pytest

from app.routers.runs import EXAMPLE
from app.schemas.jobs import PlanOut, SimulationOut, SweepOut
from app.write_openapi import document
from solver.bounds.kinds import BOUND_KINDS, kind_sentences
from solver.fusion.layered import FUSIONS
from solver.graph import ALL_REDUCE, COLLECTIVES
from solver.planning.options import Options
from solver.schedule import SCHEDULERS
from tests.app.service import ROOT, Service, two_layers

DOCUMENT: dict[str, Any] = json.loads(document())
#: What answers are, where they are not JSON.
MEDIA = {"html": "text/html", "svg": "image/svg+xml", "csv": "text/csv"}
#: Answers without a body.
EMPTY = {"204", "304"}
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_committed_document_is_fresh() -> None:
    committed = (ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8")
    assert committed == document(), "stale: run make openapi"


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_operation_is_documented(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"], (method, path)
    for status, response in operation["responses"].items():
        assert response["description"]
        if status in EMPTY:
            assert "content" not in response
            continue
        made = MEDIA.get(path.rpartition(".")[2], "application/json")
        if path.endswith("/events"):
            made = "text/event-stream"
        media = made if status < "400" else "application/problem+json"
        assert list(response["content"]) == [media]


def test_example_of_each_post_works(service: Service) -> None:
    posts = [(path, op) for path, method, op in OPERATIONS if "requestBody" in op]
    assert posts
    for path, operation in posts:
        content = operation["requestBody"]["content"]
        if path == "/v1/graphs":  # takes files
            continue
        example = content["application/json"]["example"]
        done = next(status for status in operation["responses"] if status < "400")
        run = service.client.post("/v1/runs", json=EXAMPLE).json()["id"]
        answer = service.client.post(path.replace("{run_id}", run), json=example)
        assert answer.status_code == int(done), answer.text


@pytest.mark.parametrize(("path", "status"), [("/v1/plans", "202"), ("/v1/graphs", "202")])
def test_links_of_what_is_accepted_lead_to_it(service: Service, path: str, status: str) -> None:
    places = {op["operationId"]: (place, method) for place, method, op in OPERATIONS}
    links = DOCUMENT["paths"][path]["post"]["responses"][status]["links"]
    sent: dict[str, Any] = {"json": two_layers()} if path == "/v1/plans" else {"content": b"-"}
    begun = service.client.post(path, params={"wait": 0}, **sent)
    assert begun.status_code == int(status)
    service.client.get(begun.headers["location"], params={"wait": 60})
    found = set()
    for link in links.values():
        place, method = places[link["operationId"]]
        ((name, value),) = link["parameters"].items()
        assert value == "$response.body#/id"
        found.add((method, place.partition("}")[2]))
        if method == "get" and not place.endswith("export"):
            answer = service.client.get(place.replace(f"{{{name}}}", begun.json()["id"]))
            assert answer.status_code == 200, place
    assert {("get", ""), ("get", "/events"), ("post", "/cancel"), ("delete", "")} <= found


def test_every_name_of_the_solver_is_in_the_schema() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    options = schemas["OptionsBody"]["properties"]
    assert set(schemas["CollectiveOp"]["properties"]["kind"]["enum"]) == set(COLLECTIVES)
    tables = schemas["ChannelBody"]["properties"]["tables"]["propertyNames"]["enum"]
    assert {ALL_REDUCE, *tables} == set(COLLECTIVES)
    assert options["fusion"]["enum"] == list(FUSIONS)
    assert options["schedule"]["enum"] == list(SCHEDULERS)
    kind = schemas["BoundOut"]["properties"]["kind"]
    assert kind["enum"] == list(BOUND_KINDS)
    assert all(f"`{name}`: {why}" in kind["description"] for name, why in kind_sentences())
    defaults = Options()
    for field in ("fusion", "schedule", "slot_us", "barrier", "seed", "time_limit_s"):
        assert options[field].get("default") == getattr(defaults, field)


def test_what_may_be_left_out_is_not_required() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    seen = 0
    for model in (PlanOut, SimulationOut, SweepOut):
        left_out = {name for name, info in model.model_fields.items() if info.exclude_if}
        required = set(schemas[model.__name__]["required"])
        assert required == model.model_fields.keys() - left_out
        seen += len(left_out)
    assert seen


def test_references_lead_somewhere() -> None:
    text = document()
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in DOCUMENT["components"]["schemas"]
    assert "HTTPValidationError" not in text


def test_served_document_is_the_same(service: Service) -> None:
    served = service.client.get("/openapi.json").json()
    served["info"]["version"] = DOCUMENT["info"]["version"]
    assert served == DOCUMENT
