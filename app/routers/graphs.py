"""Graphs: read from files of other tools, found, listed."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from app.http.bodies import FilesDep
from app.http.dependencies import ListedDep, PoolDep, StoreDep, SubmitterDep
from app.http.openapi import accepted, answered, problems
from app.jobs.kinds import IMPORT
from app.jobs.removal import remove
from app.jobs.rows import SUCCEEDED
from app.limits import MAX_NAME_CHARACTERS
from app.names import DEVICES, READERS
from app.routers.jobs import acknowledged, add_routes, answer_to, begin_large
from app.schemas.base import PLAIN, OneOf
from app.schemas.lists import GraphList, ImportList, ImportSummary
from app.storage import graphs
from app.storage.tables import GraphRow

router = APIRouter(prefix="/v1/graphs", tags=["graphs"])
imports = APIRouter(prefix="/v1/imports", tags=["graphs"])
GraphId = Annotated[str, Path(description="Id of a graph.", examples=["0123456789abcdef"])]
Format = Annotated[
    Annotated[str, OneOf(READERS)] | None,
    Query(description="What the files are; left out, it is found out."),
]
Step = Annotated[
    int | None,
    Query(ge=0, description="Which step of a trace, from 0; left out, that of median length."),
]
Rank = Annotated[
    int | None,
    Query(
        ge=0,
        description="Which of several files of a trace, from 0; left out, that of the slowest "
        "rank, which the others wait for.",
    ),
]
Device = Annotated[
    str | None,
    Query(
        max_length=MAX_NAME_CHARACTERS,
        description="What runs a program that is HLO text, where no times of its instructions are "
        f"given: one of {', '.join(DEVICES)}, `tflops=...,memory_gbs=...`, or `h100:tflops=600`.",
    ),
]
Parameters = Annotated[
    str | None,
    Query(
        description="Gradients of the model as a JSON list of [name, bytes] in the order of "
        "registration, to split the buckets of a trace. A form may have it as a field."
    ),
]
GraphName = Annotated[
    str,
    Query(max_length=MAX_NAME_CHARACTERS, pattern=PLAIN, description="What the graph is called."),
]
_FILES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                        },
                        "parameters": {"type": "string"},
                    },
                }
            },
        },
    }
}


@router.post(
    "",
    status_code=201,
    summary="Read a trace of another tool",
    response_description="The graph; `Location` says where it stays, and `id` names it in "
    "requests. 200 without `Location` when there is nothing to plan.",
    openapi_extra=_FILES,
    responses={
        **answered("app.schemas.imports:GraphOut", 201),
        200: {
            **answered("app.schemas.imports:GraphOut")[200],
            "description": "There is nothing to plan: report, no graph.",
        },
        **accepted("app.schemas.jobs:ImportOut"),
        **problems(400, 408, 413, 422, 500, 503),
    },
)
async def create_graph(
    request: Request,
    upload: FilesDep,
    by: SubmitterDep,
    format: Format = None,  # noqa: A002 - the name on the wire
    step: Step = None,
    rank: Rank = None,
    device: Device = None,
    parameters: Parameters = None,
    name: GraphName = "",
) -> Response:
    """Read a file (plain, gzipped or an archive), or several of a recording as a multipart form.

    The report says what was dropped, repaired and assumed. The same content has the same id.
    """
    header = request.headers.get("content-type", "")
    how = {"format": format, "step": step, "rank": rank, "parameters": parameters, "name": name}
    how |= {} if device is None else {"device": device}
    begun = await begin_large(IMPORT, upload, by, "app.calls.submissions:upload", header, how)
    if isinstance(begun, Response):
        return begun
    preferences, (job, receipt) = by.preferences, begun
    if job.state != SUCCEEDED:
        return await answer_to(preferences, job, receipt, by.pool)
    said = acknowledged(preferences, receipt)
    return await by.readers.answer("app.calls.lookups:made", job.id, router.prefix, said)


@router.get("", summary="List graphs, the newest first", responses=problems(422, 503))
def list_graphs(store: StoreDep, limit: ListedDep = 20) -> GraphList:
    """Return the newest graphs in brief."""
    return graphs.newest(store, limit)


@router.get(
    "/{graph_id}",
    summary="Find a graph",
    responses={**answered("app.schemas.imports:GraphOut"), **problems(404, 503)},
)
async def get_graph(graph_id: GraphId, store: StoreDep, pool: PoolDep) -> Response:
    """Return the graph, and the report of the newest upload that made it."""
    text = await pool.answers.large.written(
        lambda: store.row_bytes(GraphRow, graph_id),
        lambda: graphs.find(store, graph_id),
        store.caller,
    )
    return Response(text, media_type="application/json")


@router.delete(
    "/{graph_id}", status_code=204, summary="Delete a graph", responses=problems(404, 409, 503)
)
def delete_graph(graph_id: GraphId, store: StoreDep) -> None:
    """Forget it, unless a job that has not ended names it. What was made with it stays."""
    remove(store, GraphRow, graph_id)


add_routes(imports, IMPORT, "app.schemas.jobs:ImportOut", ImportSummary, ImportList)
