"""What routers are given: the store, the pool of jobs, whose turn it is to use a thread."""

from dataclasses import dataclass
from typing import Annotated

from anyio import CapacityLimiter
from fastapi import Depends, Query, Request

from app.http.preferences import Preferences, PreferencesDep
from app.http.work import IntakeDep, Work
from app.jobs.pool import Pool
from app.limits import (
    MAX_LISTED_RESULTS,
)
from app.operations.settings import Settings
from app.storage.database import Store


async def store_of(request: Request) -> Store:
    """Return the store of the running service."""
    store: Store = request.app.state.store
    return store


async def solves_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who plan; the others wait without a thread."""
    turns: CapacityLimiter = request.app.state.solves
    return turns


async def checks_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who ask whether the service is ready."""
    turns: CapacityLimiter = request.app.state.checks
    return turns


StoreDep = Annotated[Store, Depends(store_of)]


SolvesDep = Annotated[CapacityLimiter, Depends(solves_of)]


ChecksDep = Annotated[CapacityLimiter, Depends(checks_of)]


CursorDep = Annotated[
    str | None,
    Query(pattern=r"^[1-9][0-9]{0,17}$", description="`next_cursor` of the page before."),
]


ListedDep = Annotated[int, Query(ge=1, le=MAX_LISTED_RESULTS, description="How many are listed.")]


async def pool_of(request: Request) -> Pool:
    """Return where jobs run."""
    pool: Pool = request.app.state.pool
    return pool


async def request_id_of(request: Request) -> str:
    """Return the id of a call, for the logs."""
    found: str = getattr(request.state, "request_id", "")
    return found


RequestIdDep = Annotated[str, Depends(request_id_of)]


PoolDep = Annotated[Pool, Depends(pool_of)]


async def settings_of(request: Request) -> Settings:
    """Return the settings of the running service."""
    settings: Settings = request.app.state.settings
    return settings


@dataclass(frozen=True, slots=True)
class Submitter:
    """What a call that begins a job brings, and what the service has for it."""

    preferences: Preferences
    request_id: str
    store: Store
    pool: Pool
    turns: CapacityLimiter
    intake: Work
    room: int


async def submitter_of(
    preferences: PreferencesDep,
    request_id: RequestIdDep,
    store: StoreDep,
    pool: PoolDep,
    turns: SolvesDep,
    intake: IntakeDep,
    settings: Annotated[Settings, Depends(settings_of)],
) -> Submitter:
    """Bring together what a call that begins a job needs."""
    return Submitter(preferences, request_id, store, pool, turns, intake, settings.max_queued)


SubmitterDep = Annotated[Submitter, Depends(submitter_of)]
