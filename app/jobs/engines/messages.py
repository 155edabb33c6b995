"""What a job on another machine is told, and what it tells: all of it can be pickled.

Whoever does the job sees no database. What its request names by an id goes with it. Dask and its
workers hand all this on as bytes; the two ends alone read them.
"""

from dataclasses import dataclass, field
from typing import Any

from app.operations.callers import Caller
from app.reading.references import Library
from app.schemas.networks import CostModelBody
from app.storage.graphs import NewGraph


@dataclass(frozen=True, slots=True)
class Task:
    """A job as it goes to another machine.

    Attributes
    ----------
    id, kind, request_id
        As of its row.
    body, files
        Its request, and its uploads.
    models, graphs
        What the request names, by id; what is unknown is left out.
    caller
        Who it is done for.
    best_us
        Iteration time of the draft that an attempt before left; None without one.
    """

    id: str
    kind: str
    request_id: str
    body: bytes = field(repr=False)
    files: tuple[bytes, ...] = field(repr=False)
    models: dict[str, CostModelBody]
    graphs: dict[str, str] = field(repr=False)
    caller: Caller | None
    best_us: float | None

    def library(self) -> Library:
        """Return what may be named by an id."""
        return Library(self.models.get, self.graphs.get)


@dataclass(frozen=True, slots=True)
class Began:
    """A process is at the job."""


@dataclass(frozen=True, slots=True)
class Described:
    """The request was read: the name of the job, and its time limit [s]."""

    name: str
    limit_s: float


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far the job is, as its row tells it."""

    progress: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drafted:
    """A better answer is in hand: its JSON text, and what a list shows of it."""

    text: bytes = field(repr=False)
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The job is done."""

    answer: bytes = field(repr=False)
    summary: dict[str, Any]
    graph: NewGraph | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The job has no answer: why, as its row keeps it, and the state that it ends in."""

    error: dict[str, Any]
    state: str


@dataclass(frozen=True, slots=True)
class Died:
    """The process of the job ended before the job did: how."""

    reason: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The job was not begun, or not to its end, through no fault of its own: why."""

    reason: str


#: What ends a job, or an attempt.
Outcome = Succeeded | Failed | Died | Returned


#: What a job tells.
Message = Began | Described | Progressed | Drafted | Outcome
