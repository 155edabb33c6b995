"""Figures for Prometheus."""

from anyio import move_on_after, to_thread
from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from app.errors import StorageUnavailable
from app.http.dependencies import ChecksDep, StoreDep
from app.jobs import table as jobs

#: The database may take so long to count jobs [s].
_PATIENCE_S = 2

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
async def get_metrics(request: Request, store: StoreDep, turns: ChecksDep) -> Response:
    """Return all figures; without those of jobs while the database cannot be used."""
    counted: list[tuple[str, str, int]] | None = None
    with move_on_after(_PATIENCE_S):
        try:
            counted = await to_thread.run_sync(
                jobs.counts, store, limiter=turns, abandon_on_cancel=True
            )
        except StorageUnavailable:
            counted = None
    text: bytes = request.app.state.metrics.render(counted)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
