"""Requests ready to POST."""

from typing import Annotated

from fastapi import APIRouter, Path

from app.http.openapi import problems
from app.schemas.plans import PlanRequest
from app.schemas.service import ExampleList
from app.services import examples

router = APIRouter(prefix="/v1/examples", tags=["examples"])


@router.get("", summary="List the examples")
def list_examples() -> ExampleList:
    """Return the names of requests ready to POST to `/v1/plans`."""
    return examples.names()


@router.get(
    "/{name}",
    summary="Get a request ready to POST",
    responses=problems(404),
    response_model_exclude_unset=True,
)
def get_example(
    name: Annotated[str, Path(description="Name of an example.", examples=["two_layers"])],
) -> PlanRequest:
    """Return a request that `/v1/plans` takes as it is."""
    return examples.example(name)
