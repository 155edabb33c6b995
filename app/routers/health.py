"""Is it alive, is it ready, what is it."""

from fastapi import APIRouter

from app.http.dependencies import ReadinessDep
from app.http.openapi import problems
from app.schemas.service import Health, Version

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the process alive?")
async def get_health() -> Health:
    """Answer as long as the process does."""
    return Health()


@router.get("/readyz", summary="Can it plan and store?", responses=problems(503))
async def get_readiness(readiness: ReadinessDep) -> Health:
    """Answer 200 when the database takes writes, has room, is of this release, and jobs are done.

    Else the detail begins with the check that failed: `database_file`, `database`, `disk`, `writes`
    or `jobs`.
    """
    await readiness.check()
    return Health()


@router.get("/version", summary="What is running?")
def get_version() -> Version:
    """Return the release."""
    return Version()
