"""The response bodies of graphs that were read from files of other tools."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from app.body import Answered, ShownAs
from app.requests import GraphBody
from solver.traces import Report


class GraphOut(Answered):
    """A graph, and what its reader did."""

    id: Annotated[
        str | None,
        Field(
            description="Made of the graph's content; `graph_id` of a request. Null without one."
        ),
    ]
    graph: Annotated[
        Annotated[dict[str, Any], ShownAs(GraphBody)] | None,
        Field(description="One iteration; null when the files hold no times to plan with."),
    ]
    report: Report


class ImportAnswer(Answered):
    """What an import made."""

    graph_id: Annotated[
        str | None,
        Field(description="Of the graph, at `/v1/graphs`; null when there is nothing to plan."),
    ]
    report: Report


class GraphSummary(Answered):
    """A stored graph in a list."""

    id: str
    created_at: datetime
    name: str
    format: str
    ops: int


class GraphList(Answered):
    """Stored graphs, the newest first."""

    graphs: list[GraphSummary]
