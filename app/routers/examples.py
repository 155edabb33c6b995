"""Requests ready to POST."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from app.http.openapi import answered, problems
from app.http.work import ReadersDep

router = APIRouter(prefix="/v1/examples", tags=["examples"])


@router.get("", summary="List the examples", responses=answered("app.schemas.service:ExampleList"))
async def list_examples(readers: ReadersDep) -> Response:
    """Return the names of requests ready to POST to `/v1/plans`."""
    return await readers.answer("app.calls.lookups:example_names")


@router.get(
    "/{name}",
    summary="Get a request ready to POST",
    responses={**answered("app.schemas.plans:PlanRequest"), **problems(404)},
)
async def get_example(
    name: Annotated[str, Path(description="Name of an example.", examples=["two_layers"])],
    readers: ReadersDep,
) -> Response:
    """Return a request that `/v1/plans` takes as it is."""
    return await readers.answer("app.calls.lookups:example", name)
