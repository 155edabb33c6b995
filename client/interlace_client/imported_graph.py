"""A graph that was read from files of another tool: its own answer, and that of its job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlace_client.answers import Json


@dataclass(frozen=True)
class ImportedGraph:
    """A graph that was read from files of another tool.

    ``id`` stands for the graph in requests; it is None when the files hold nothing to plan.
    ``graph`` is None then, and where only the job of the import was asked for. ``cluster`` is what
    the files tell of workers, channels and costs, ready for a request; ``costs`` says what these
    were fitted to, and how well. ``steps`` are those of
    :meth:`Client.predict_parameter_server` where the files are of training through parameter
    servers, else None.
    """

    id: str | None
    graph: Json | None
    report: Json
    raw: Json = field(repr=False, compare=False)
    cluster: Json | None = None
    costs: tuple[Json, ...] = ()
    steps: tuple[Json, ...] | None = None

    @classmethod
    def of(cls, raw: Json) -> ImportedGraph | None:
        """Read a graph, or the job that imported it; None when that has not read it yet."""
        if raw.get("report") is None:
            return None
        name = raw["graph_id"] if "state" in raw else raw["id"]
        steps = raw.get("steps")
        told = (
            raw.get("cluster"),
            tuple(raw.get("costs") or ()),
            None if steps is None else tuple(steps),
        )
        return cls(name, raw.get("graph"), raw["report"], raw, *told)
