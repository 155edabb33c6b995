"""What a job is done with, what comes of it, and which function does it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.jobs.kinds import IMPORT, PARAMETER_SERVER, PLAN, RANKING, SIMULATION, SWEEP
from app.operations.callers import Caller
from app.reading.references import Library
from app.services.sweeps.parallel import Each, each
from app.storage.graphs import NewGraph


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a job is done with: no more, so that it can be done on another machine.

    Attributes
    ----------
    body
        Its request: JSON text.
    files
        Uploads.
    library
        What may be named by an id.
    each
        Does the cells of a sweep.
    caller
        Who it is done for.
    kept
        What an attempt before has kept of a sweep.
    """

    body: bytes
    files: Sequence[bytes]
    library: Library
    each: Each = each
    caller: Caller | None = None
    kept: bytes | None = None


class Done(NamedTuple):
    """The answer of a job as JSON text, what a list shows of it, and a graph that is to be kept.

    ``is_repeated`` lets it answer the same content asked again.
    """

    answer: str
    summary: dict[str, Any]
    graph: NewGraph | None = None
    is_repeated: bool = True


#: What does a job of a kind, by reference (:mod:`app.references`): a child imports what it does.
#: Each is ``run(inputs, report) -> Done``.
WORK = {
    PLAN: "app.jobs.tasks.plan:run",
    SIMULATION: "app.jobs.tasks.simulation:run",
    SWEEP: "app.jobs.tasks.sweep:run",
    PARAMETER_SERVER: "app.jobs.tasks.parameter_server:run",
    RANKING: "app.jobs.tasks.ranking:run",
    IMPORT: "app.jobs.tasks.imports:run",
}
