"""Jobs of all kinds, as one list."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.http.dependencies import CursorDep, ListedDep, StoreDep
from app.http.openapi import problems
from app.jobs import table
from app.jobs.answers import row_of
from app.jobs.kinds import KINDS
from app.limits import MAX_NAME_CHARACTERS
from app.routers.jobs import StatesDep, TagsDep, paged
from app.schemas.base import PLAIN, OneOf
from app.schemas.lists import JobEntry, JobList

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
KindsDep = Annotated[
    list[Annotated[str, OneOf(tuple(KINDS))]],
    Query(description="Of one of these kinds; may be repeated."),
]
TextDep = Annotated[
    str,
    Query(
        max_length=MAX_NAME_CHARACTERS,
        pattern=PLAIN,
        description="With this in the name; the case of Latin letters does not count.",
    ),
]


@router.get("", summary="List jobs of all kinds, the newest first", responses=problems(422, 503))
def list_jobs(
    store: StoreDep,
    limit: ListedDep = 20,
    cursor: CursorDep = None,
    kind: KindsDep = [],  # noqa: B006 - FastAPI copies it
    state: StatesDep = [],  # noqa: B006
    tag: TagsDep = [],  # noqa: B006
    text: TextDep = "",
) -> JobList:
    """Return jobs in brief, a page at a time; each is found where the jobs of its kind are."""
    found = table.listed(
        store, kind, limit=limit + 1, cursor=cursor, states=state, tags=tag, text=text
    )
    rows, more = paged(found, limit)
    entries = [JobEntry.model_validate(row_of(job, JobEntry)) for job in rows]
    return JobList(jobs=entries, next_cursor=more)
