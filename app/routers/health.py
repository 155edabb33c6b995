"""Is it alive, is it ready, what is it."""

from anyio import to_thread
from fastapi import APIRouter

from app.http.dependencies import ChecksDep, PoolDep, StoreDep
from app.http.openapi import problems
from app.schemas.service import Health, Version

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the process alive?")
async def get_health() -> Health:
    """Answer as long as the process does."""
    return Health()


@router.get("/readyz", summary="Can it plan and store?", responses=problems(503))
async def get_readiness(store: StoreDep, pool: PoolDep, turns: ChecksDep) -> Health:
    """Answer 200 when the database is usable and of the newest revision, and jobs are done."""
    await to_thread.run_sync(store.check, limiter=turns)
    pool.check()
    return Health()


@router.get("/version", summary="What is running?")
def get_version() -> Version:
    """Return the release."""
    return Version()
