"""Graphs: read from files of other tools, found, listed."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Response

from app import graphs
from app.apidoc import problems
from app.body import PLAIN, OneOf
from app.faults import MAX_NAME
from app.graph_answer import GraphList, GraphOut
from app.routers.deps import FilesDep, ListedDep, SolvesDep, StoreDep
from solver.traces import READERS, Asked

router = APIRouter(prefix="/v1/graphs", tags=["graphs"])
GraphId = Annotated[str, Path(description="Id of a graph.", examples=["0123456789abcdef"])]
Format = Annotated[
    Annotated[str, OneOf(tuple(READERS))] | None,
    Query(description="What the files are; left out, it is found out."),
]
Step = Annotated[
    int | None,
    Query(ge=0, description="Which step of a trace, from 0; left out, that of median length."),
]
Parameters = Annotated[
    str | None,
    Query(
        description="Gradients of the model as a JSON list of [name, bytes] in the order of "
        "registration, to split the buckets of a trace. A form may have it as a field."
    ),
]
Called = Annotated[
    str, Query(max_length=MAX_NAME, pattern=PLAIN, description="What the graph is called.")
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
    response_model=GraphOut,
    summary="Read a trace of another tool",
    response_description="The graph; `Location` says where it stays, and `id` names it in "
    "requests. 200 without `Location` when there is nothing to plan.",
    openapi_extra=_FILES,
    responses=problems(400, 413, 422, 503),
)
async def create_graph(
    upload: FilesDep,
    store: StoreDep,
    turns: SolvesDep,
    format: Format = None,  # noqa: A002 - the name on the wire
    step: Step = None,
    parameters: Parameters = None,
    name: Called = "",
) -> Response:
    """Read a file, plain or gzipped, or several of one recording as a multipart form.

    The report says what was dropped, repaired and assumed. The same content has the same id.
    """

    def answer() -> Response:
        asked = Asked(name, step, graphs.parameters_of(upload.parameters or parameters))
        made = graphs.create(store, graphs.read(upload.files, format, asked))
        where = {"Location": f"{router.prefix}/{made.id}"} if made.id else {}
        return Response(made.model_dump_json(), 201 if made.id else 200, where, "application/json")

    return await to_thread.run_sync(answer, limiter=turns)


@router.get("", summary="List graphs, the newest first", responses=problems(422, 503))
def list_graphs(store: StoreDep, limit: ListedDep = 20) -> GraphList:
    """Return the newest graphs in brief."""
    return graphs.newest(store, limit)


@router.get(
    "/{graph_id}", response_model=GraphOut, summary="Find a graph", responses=problems(404, 503)
)
def get_graph(graph_id: GraphId, store: StoreDep) -> Response:
    """Return the graph, and the report of the newest upload that made it."""
    return Response(graphs.find(store, graph_id), media_type="application/json")
