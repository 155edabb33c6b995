"""What routers are given: the store, the pool of jobs, whose turn it is to use a thread."""

from dataclasses import dataclass
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Query, Request

from app.http.preferences import Preferences, PreferencesDep
from app.http.work import CallWork, ReadersDep, WritersDep
from app.jobs.pool import Pool
from app.jobs.readiness import Readiness
from app.limits import (
    MAX_LISTED_RESULTS,
)
from app.operations.callers import Caller
from app.operations.settings import Settings
from app.storage.cursors import MOST_CHARACTERS
from app.storage.database import Store
from app.storage.quotas import StoredUsage


async def caller_of(request: Request) -> Caller | None:
    """Return who calls, as :mod:`app.http.keys` found; None where keys are off."""
    caller: Caller | None = request.state.caller  # without it nothing is answered
    return caller


async def store_of(request: Request, caller: Annotated[Caller | None, Depends(caller_of)]) -> Store:
    """Return the store of the running service as the caller sees it."""
    store: Store = request.app.state.store
    return store if caller is None else store.seen_by(caller)


async def solves_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who plan; the others wait without a thread."""
    turns: CapacityLimiter = request.app.state.solves
    return turns


async def checks_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who have the jobs counted."""
    turns: CapacityLimiter = request.app.state.checks
    return turns


CallerDep = Annotated[Caller | None, Depends(caller_of)]


StoreDep = Annotated[Store, Depends(store_of)]


SolvesDep = Annotated[CapacityLimiter, Depends(solves_of)]


ChecksDep = Annotated[CapacityLimiter, Depends(checks_of)]


CursorDep = Annotated[
    str | None,
    Query(max_length=MOST_CHARACTERS, description="`next_cursor` of the page before."),
]


ListedDep = Annotated[int, Query(ge=1, le=MAX_LISTED_RESULTS, description="How many are listed.")]


async def pool_of(request: Request) -> Pool:
    """Return where jobs run."""
    pool: Pool = request.app.state.pool
    return pool


async def readiness_of(request: Request) -> Readiness:
    """Return what knows whether the service is ready."""
    readiness: Readiness = request.app.state.readiness
    return readiness


async def request_id_of(request: Request) -> str:
    """Return the id of a call, for the logs."""
    found: str = getattr(request.state, "request_id", "")
    return found


RequestIdDep = Annotated[str, Depends(request_id_of)]


PoolDep = Annotated[Pool, Depends(pool_of)]


ReadinessDep = Annotated[Readiness, Depends(readiness_of)]


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
    writers: CallWork
    readers: CallWork


async def usage_of(request: Request) -> StoredUsage:
    """Return what owners use."""
    usage: StoredUsage = request.app.state.usage
    return usage


async def room_of(
    request: Request, caller: CallerDep, usage: Annotated[StoredUsage, Depends(usage_of)]
) -> None:
    """Let a call go on that keeps something new, or raise QuotaUsedUp."""
    if caller is not None:
        said = request.headers.get("content-length", "")
        await to_thread.run_sync(usage.check, caller, int(said) if said.isdecimal() else None)


#: Of each call that keeps something new.
RoomDep = Annotated[None, Depends(room_of)]


async def submitter_of(
    preferences: PreferencesDep,
    request_id: RequestIdDep,
    store: StoreDep,
    pool: PoolDep,
    turns: SolvesDep,
    _room: RoomDep,
    writers: WritersDep,
    readers: ReadersDep,
) -> Submitter:
    """Bring together what a call that begins a job needs."""
    return Submitter(preferences, request_id, store, pool, turns, writers, readers)


SubmitterDep = Annotated[Submitter, Depends(submitter_of)]
