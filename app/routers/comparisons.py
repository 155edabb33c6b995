"""Two answers side by side."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.http.openapi import answered, problems
from app.http.work import AnswersDep

router = APIRouter(prefix="/v1/comparisons", tags=["plans"])

_Compared = Annotated[
    str,
    Query(
        pattern=r"^(plans|simulations)/[\w-]{1,64}$",
        description="A plan or a simulation: `plans/ID` or `simulations/ID`.",
        examples=["plans/0123456789abcdef"],
    ),
]


@router.get(
    "",
    summary="Compare two answers",
    responses={
        **answered("app.schemas.comparisons:AnswerComparison"),
        **problems(404, 409, 422, 503),
    },
)
async def get_comparison(first: _Compared, second: _Compared, answers: AnswersDep) -> Response:
    """Return the figures of both, in what they differ, and which buckets changed."""
    return await answers.answer("app.calls.drawings:comparison", first, second)


_Sweep = Annotated[
    str,
    Query(pattern=r"^[\w-]{1,64}$", description="Id of a sweep.", examples=["0123456789abcdef"]),
]


@router.get(
    "/sweeps",
    summary="Compare two sweeps",
    responses={
        **answered("app.schemas.comparisons:SweepComparison"),
        **problems(404, 409, 422, 503),
    },
)
async def get_sweep_comparison(first: _Sweep, second: _Sweep, answers: AnswersDep) -> Response:
    """Return the fastest of both on each cluster of either, and how far they are apart."""
    return await answers.answer("app.calls.drawings:sweep_comparison", first, second)
