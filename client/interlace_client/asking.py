"""What the methods of both clients do, as steps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

from interlace_client.answers import Json, Placements, Ranking, Throughput
from interlace_client.bodies import (
    Content,
    Files,
    Graph,
    about,
    files_content,
    graph_field,
    json_content,
)
from interlace_client.errors import UnexpectedAnswer
from interlace_client.imported_graph import ImportedGraph
from interlace_client.jobs import IMPORTS, PARAMETER_SERVERS, RANKINGS, Job, Kind, Page
from interlace_client.options import How, split
from interlace_client.sending import Deadline, ServiceCall, Steps, Tries, done, sent, shaped
from interlace_client.waiting import answered, job_of, patience, stopped, waited

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")
_NEVER = Deadline(None)
_NO_CONTENT, _NOT_FOUND = 204, 404


def make(
    kind: Kind[T],
    graph: Graph,
    cluster: Mapping[str, Any],
    keywords: Mapping[str, Any],
    tries: Tries,
) -> Steps[T]:
    """Write a request about a graph, submit it and wait for its result."""
    how, fields = split(keywords)
    return run(kind, about(graph, cluster, fields), how, tries)


def predict_parameter_server(keywords: Mapping[str, Any], tries: Tries) -> Steps[Throughput]:
    """Write a request about steps or a graph, submit it and wait for its result."""
    how, fields = split(keywords)
    graph = fields.pop("graph", None)
    given = {} if graph is None else graph_field(graph)
    return run(PARAMETER_SERVERS, {**given, **fields}, how, tries)


def rank_shapes(keywords: Mapping[str, Any], tries: Tries) -> Steps[Ranking]:
    """Write a request for shapes, submit it and wait for its result."""
    how, fields = split(keywords)
    return run(RANKINGS, fields, how, tries)


def run(kind: Kind[T], request: Mapping[str, Any], how: How, tries: Tries) -> Steps[T]:
    """Submit a request and wait for its result."""
    deadline = Deadline.after(how.timeout_s)
    call = posted(kind.path, json_content(request), how, patience(how))
    job = job_of(kind, (yield from answered(call, tries, deadline)))
    return (yield from waited(job, how, tries, deadline))


def submit(kind: Kind[T], request: Mapping[str, Any], how: How, tries: Tries) -> Steps[Job[T]]:
    """Submit a request; do not wait for its result."""
    call = posted(kind.path, json_content(request), how, 0)
    return job_of(kind, (yield from answered(call, tries, _NEVER)))


def import_graph(files: Files, keywords: Mapping[str, Any], tries: Tries) -> Steps[ImportedGraph]:
    """Submit files, wait, and get the graph that they hold."""
    how, params = split(keywords)
    deadline = Deadline.after(how.timeout_s)
    content = files_content(files, params.pop("parameters", None))
    call = posted("/v1/graphs", content, how, patience(how), params)
    raw = yield from answered(call, tries, deadline)
    if "state" in raw:  # a job; else what it would have made
        found = yield from waited(job_of(IMPORTS, raw), how, tries, deadline)
        if found.id is None:
            return found
        path = f"/v1/graphs/{quote(found.id, safe='')}"
        raw = yield from answered(ServiceCall("GET", path), tries, deadline)
    graph = shaped(ImportedGraph.of, raw)
    if graph is None:
        raise UnexpectedAnswer("The graph has no report.")
    return graph


def wait(job: Job[T], how: How, tries: Tries) -> Steps[T]:
    """Wait for the result of a job."""
    return (yield from waited(job, how, tries, Deadline.after(how.timeout_s)))


def get(kind: Kind[T], name: str, tries: Tries) -> Steps[Job[T]]:
    """Get a job by its id."""
    call = ServiceCall("GET", f"{kind.path}/{quote(name, safe='')}")
    return job_of(kind, (yield from answered(call, tries, _NEVER)))


def cancel(job: Job[T], tries: Tries) -> Steps[Job[T]]:
    """Cancel a job; return what it is then."""
    return (yield from stopped(job, tries, _NEVER))


def delete(job: Job[Any], tries: Tries) -> Steps[None]:
    """Delete a job and its result."""
    return (yield from deleted(job.path, tries))


def deleted(path: str, tries: Tries) -> Steps[None]:
    """Delete what is at a path."""
    answer = yield from sent(ServiceCall("DELETE", path), tries, _NEVER)
    was_first = answer.attempt == 0  # else the answer to an earlier try may have been lost
    if answer.status != _NO_CONTENT and (was_first or answer.status != _NOT_FOUND):
        done(answer)


def deleted_one(collection: str, name: str, tries: Tries) -> Steps[None]:
    """Delete one of a collection by its id."""
    return (yield from deleted(f"/v1/{collection}/{quote(name, safe='')}", tries))


def page(
    kind: Kind[T],
    limit: int | None,
    cursor: str | None,
    states: Sequence[str],
    tag: str | None,
    tries: Tries,
) -> Steps[Page[T]]:
    """List jobs."""
    params = {"limit": limit, "cursor": cursor, "state": list(states), "tag": tag}
    return shaped(partial(Page.of, kind), (yield from page_of(kind.path, params, tries)))


def page_of(path: str, params: Mapping[str, Any], tries: Tries) -> Steps[Json]:
    """Get a list, of which what is None or empty says nothing."""
    given = {name: value for name, value in params.items() if value not in (None, [])}
    return (yield from answered(ServiceCall("GET", path, given), tries, _NEVER))


def read(path: str, tries: Tries) -> Steps[Json]:
    """Get a JSON object of the service."""
    return (yield from answered(ServiceCall("GET", path), tries, _NEVER))


def post(path: str, request: Mapping[str, Any], tries: Tries) -> Steps[Json]:
    """Post what makes no job."""
    call = posted(path, json_content(request), How(), None)
    return (yield from answered(call, tries, _NEVER))


def placements(graph: Graph | None, keywords: Mapping[str, Any], tries: Tries) -> Steps[Placements]:
    """Compare placements of parameter servers."""
    fields = {name: value for name, value in keywords.items() if value is not None}
    request = fields if graph is None else {**graph_field(graph), **fields}
    raw = yield from post("/v1/predictions/placements", request, tries)
    return shaped(Placements.of, raw)


def posted(
    path: str,
    content: Content,
    how: How,
    wait_s: float | None,
    params: Mapping[str, Any] | None = None,
) -> ServiceCall:
    """Return a request that may be sent again: with its key it is the same job."""
    body, media = content
    headers = {
        "Content-Type": media,
        "Idempotency-Key": how.idempotency_key or str(uuid4()),
    }
    if not how.use_stored:
        headers["Cache-Control"] = "no-store"
    given = dict(params or {})
    if how.tags:
        given["tag"] = list(how.tags)
    return ServiceCall("POST", path, given, headers, body, wait_s)
