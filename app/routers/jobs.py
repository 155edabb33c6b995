"""What every kind of job is asked over HTTP: begin, look, follow, cancel, delete, list."""

import json
import re
import time
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from app import errors
from app.calls.messages import Wanted
from app.http.bodies import HeldBody
from app.http.dependencies import CallerDep, CursorDep, ListedDep, PoolDep, StoreDep, Submitter
from app.http.openapi import answered, problems
from app.http.preferences import Preferences, Tag, WaitDep
from app.http.problems import answer
from app.jobs import table as jobs
from app.jobs.answers import row_of
from app.jobs.kinds import KINDS, MODELS
from app.jobs.pool import Pool
from app.jobs.queue import Receipt, Submission, id_of_key
from app.jobs.requests import job_of
from app.jobs.rows import FAILED, REQUEST, STATES, TIMED_OUT
from app.jobs.table import JobRecord
from app.limits import MAX_CALL_TAGS
from app.operations.tracing import here
from app.schemas.base import OneOf
from app.schemas.lists import JobPage, JobSummary
from app.storage.cursors import cursor_of
from app.storage.idempotency import IdempotencyKey

#: When a client should look again at a job that has not ended [s].
RETRY_AFTER_S = 1


_TEXT = {"type": "string"}


_EVENT = {
    "type": "object",
    "properties": {"data": _TEXT, "event": _TEXT, "id": _TEXT},
    "required": ["data", "event", "id"],
}


#: A stream of events says that it is alive so often [s].
_COMMENT_S = 15.0


_ETAGS = re.compile(r'(?:W/)?("[^"]*")|(\*)')


JobId = Annotated[str, Path(description="Id of the job.", examples=["0123456789abcdef"])]


MatchDep = Annotated[
    str | None, Header(description="`ETag` of an earlier answer: 304 if it is still the same.")
]


StatesDep = Annotated[
    list[Annotated[str, OneOf(STATES)]],
    Query(description="In one of these states; may be repeated."),
]


TagsDep = Annotated[
    list[Tag],
    Query(max_length=MAX_CALL_TAGS, description="With all these tags; may be repeated."),
]


def paged(found: list[JobRecord], limit: int) -> tuple[list[JobRecord], str | None]:
    """Return a page of jobs, of which one more was looked for, and the cursor of the next one."""
    rows = found[:limit]
    return rows, cursor_of(rows[-1]) if len(found) > limit else None


async def submit(kind: str, body: HeldBody, by: Submitter) -> Response:
    """Begin a job about a posted graph, and answer when it ends or the call's wait is over.

    A child checks the body, unless it was found right before.
    """
    if not body.is_small:
        return await submit_large(kind, body, by, "app.calls.submissions:problem", kind)
    preferences, requests = by.preferences, by.pool.requests
    key, receipt = None, None
    if preferences.key is not None:
        key = IdempotencyKey.of(preferences.key, by.store.caller, kind, body, *preferences.tags)
        job_id = await to_thread.run_sync(id_of_key, by.store, key, limiter=by.turns)
        receipt = None if job_id is None else Receipt(job_id)
    if receipt is None:
        checked = requests.known(kind, body)
        if checked is None:
            found = await by.readers.done("app.calls.submissions:checked", kind, body=body)
            if isinstance(found, Response):
                return found
            checked = found
            requests.know(kind, body, checked)
        new = job_of(by.store, kind, body, preferences.tags, by.request_id, checked)
        await body.release()
        receipt = await by.pool.submit(Submission(new, key, preferences.fresh))
    await body.release()
    job = await by.pool.wait(kind, receipt.id, preferences.wait_s, caller=by.store.caller)
    return await answer_to(preferences, job, receipt, by.pool)


async def submit_large(
    kind: str, body: HeldBody, by: Submitter, work: str, *given: Any
) -> Response:
    """Begin a job of a body that a child reads, and answer as :func:`submit` does."""
    begun = await begin_large(kind, body, by, work, *given)
    if isinstance(begun, Response):
        return begun
    return await answer_to(by.preferences, *begun, by.pool)


async def begin_large(
    kind: str, body: HeldBody, by: Submitter, work: str, *given: Any
) -> tuple[JobRecord, Receipt] | Response:
    """Have a child make a job of a body, and wait for its end; an answer when it is refused."""
    preferences = by.preferences
    wanted = Wanted(
        preferences.tags, by.request_id, preferences.key, preferences.fresh, by.pool.room, here()
    )
    receipt = await by.writers.done(work, *given, wanted, body=body)
    await body.release()
    if not isinstance(receipt, Receipt):
        found: Response = receipt
        return found
    by.pool.notice()
    job = await by.pool.wait(kind, receipt.id, preferences.wait_s, caller=by.store.caller)
    return job, receipt


async def answer_to(
    preferences: Preferences, job: JobRecord, receipt: Receipt, pool: Pool
) -> Response:
    """Answer a POST: 201 when the job has ended, 202 until then, its problem when it failed."""
    place = f"{KINDS[job.kind].prefix}/{job.id}"
    headers = {"Location": place, **acknowledged(preferences, receipt)}
    if job.state in {FAILED, TIMED_OUT}:
        assert job.error is not None, "it is said why"
        return answer(job.error, place, headers)
    if not job.has_ended:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    status = HTTPStatus.CREATED if job.has_ended else HTTPStatus.ACCEPTED
    return await _answer(job, pool, status, headers)


def acknowledged(preferences: Preferences, receipt: Receipt) -> dict[str, str]:
    """Say in headers which of a call's preferences were met."""
    headers = {}
    if preferences.preferred:
        headers["Preference-Applied"] = f"wait={preferences.wait_s:g}"
    if receipt.is_stored:
        headers["Cache-Status"] = "interlace; hit"
    return headers


def add_routes(
    router: APIRouter, kind: str, out: str, row: type[JobSummary], page: type[JobPage]
) -> None:
    """Add what every kind of job is asked, but for how one is begun."""
    word = KINDS[kind].word
    one = f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
    plural = next(iter(page.model_fields.keys() - JobPage.model_fields.keys()))

    @router.get(
        "",
        response_model=page,
        summary=f"List {plural}, the newest first",
        responses=problems(422, 503),
    )
    def list_jobs(
        store: StoreDep,
        limit: ListedDep = 20,
        cursor: CursorDep = None,
        state: StatesDep = [],  # noqa: B006 - FastAPI copies it
        tag: TagsDep = [],  # noqa: B006
    ) -> JobPage:
        found = jobs.listed(store, [kind], limit=limit + 1, cursor=cursor, states=state, tags=tag)
        rows, more = paged(found, limit)
        return page.model_validate(
            {plural: [row_of(job, row) for job in rows], "next_cursor": more}
        )

    list_jobs.__doc__ = f"Return {plural} in brief, a page at a time."

    @router.get(
        "/{job_id}",
        summary=f"Find {one}",
        responses={
            **answered(out),
            304: {"description": "It is as it was."},
            **problems(404, 422, 503),
        },
    )
    async def get_job(
        job_id: JobId,
        store: StoreDep,
        pool: PoolDep,
        wait: WaitDep = None,
        if_none_match: MatchDep = None,
    ) -> Response:
        """Return the job; with `wait` when it has ended, or has changed from `If-None-Match`."""
        known = _revision_of(if_none_match, job_id)
        job = await pool.wait(kind, job_id, wait or 0, known, store.caller)
        etag = _etag(job)
        if any(etag in found or found[1] for found in _ETAGS.findall(if_none_match or "")):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": etag})
        return await _answer(job, pool, HTTPStatus.OK)

    @router.get(
        "/{job_id}/events",
        summary=f"Follow {one}",
        response_class=StreamingResponse,
        responses={
            200: {
                "content": {"text/event-stream": {"itemSchema": _EVENT}},
                "description": "An event for each change, named after the state; its data is the "
                "job without its answer. The last one has a state that ends.",
            },
            204: {"description": "It ended at the event that was heard last."},
            **problems(404, 503),
        },
    )
    async def get_events(
        job_id: JobId,
        caller: CallerDep,
        pool: PoolDep,
        last_event_id: Annotated[
            str | None, Header(description="`id` of the event that was heard last.")
        ] = None,
    ) -> Response:
        """Stream server-sent events until the job has ended."""
        text = (last_event_id or "").strip()
        heard = int(text) if re.fullmatch(r"\d{1,18}", text) else None
        job = await pool.wait(kind, job_id, 0, caller=caller)
        if job.has_ended and job.revision == heard:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        stream = _events(kind, job, heard, pool)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    if kind in MODELS:
        _add_request(router, kind)

    @router.post(
        "/{job_id}/cancel",
        summary=f"Cancel {one}",
        responses={**answered(out), **problems(404, 503)},
    )
    async def cancel_job(job_id: JobId, store: StoreDep, pool: PoolDep) -> Response:
        """End it at once, and keep the best so far; what has ended stays as it is.

        What is in hand may take some seconds to be written as an answer.
        """
        job = await pool.cancel(kind, job_id, store.caller)
        return await _answer(job, pool, HTTPStatus.OK)

    @router.delete(
        "/{job_id}", status_code=204, summary=f"Delete {one}", responses=problems(404, 503)
    )
    async def delete_job(job_id: JobId, caller: CallerDep, pool: PoolDep) -> None:
        """End it if it has not ended, and forget it."""
        await to_thread.run_sync(pool.remove, kind, job_id, caller)


def _add_request(router: APIRouter, kind: str) -> None:
    """Add the call for what was posted, where that is all that the job was made of."""
    word = KINDS[kind].word

    @router.get(
        "/{job_id}/request",
        response_model=dict[str, Any],
        summary=f"The request of a {word}",
        responses=problems(404, 503),
    )
    async def get_request(job_id: JobId, store: StoreDep, pool: PoolDep) -> Response:
        """Return what was posted, so that it can be changed and posted again."""
        text = await pool.answers.large.written(
            lambda: jobs.payload_bytes(store, jobs.get(store, kind, job_id).number, REQUEST),
            lambda: jobs.requested(store, kind, job_id).removeprefix(BOM_UTF8),
            store.caller,
        )
        return Response(text, media_type="application/json")


async def _answer(
    job: JobRecord, pool: Pool, status: HTTPStatus, headers: dict[str, str] | None = None
) -> Response:
    """Answer with a job, and its result when it has ended."""
    text = await pool.answers.text_of(job)
    return Response(text, status, {"ETag": _etag(job), **(headers or {})}, "application/json")


async def _events(kind: str, job: JobRecord, heard: int | None, pool: Pool) -> AsyncIterator[bytes]:
    """Yield an event for each revision that is seen, the last one when the job has ended."""
    said_at = time.monotonic()
    while True:
        if job.revision != heard:
            data = json.dumps(job.light())
            yield format_sse_event(data_str=data, event=job.state, id=str(job.revision))
            heard, said_at = job.revision, time.monotonic()
        elif time.monotonic() - said_at >= _COMMENT_S:
            yield format_sse_event(comment="at work")
            said_at = time.monotonic()
        if job.has_ended or pool.is_leaving:
            return
        try:
            job = await pool.wait(kind, job.id, _COMMENT_S, heard)
        except (errors.NotFound, errors.StorageUnavailable):  # deleted, or not to be seen any more
            return


def _etag(job: JobRecord) -> str:
    return f'"{job.id}-{job.revision}"'


def _revision_of(etags: str | None, job_id: str) -> int | None:
    """Return the revision that a client has, None when it does not say."""
    found = re.search(rf'"{re.escape(job_id)}-(\d{{1,18}})"', etags or "")
    return int(found[1]) if found else None
