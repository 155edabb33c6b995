"""What the server tells the process of a job, and what that one tells: through one pipe.

Whoever does a job writes nothing to the database: the server does, when it has heard.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.storage.graphs import NewGraph


@dataclass(frozen=True, slots=True)
class HandIn:
    """Give what is in hand of the job with this lease: its process is ended then."""

    lease: str


class DraftAnswer(NamedTuple):
    """An answer that could be given by now: its JSON text, and what a list shows of it.

    ``kept`` is what an attempt after this one need not do again.
    """

    text: bytes
    summary: dict[str, Any]
    kept: bytes | None = None


@dataclass(frozen=True, slots=True)
class Described:
    """The request was read: the name of the job, and its time limit [s]."""

    name: str
    limit_s: float


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The job is at work: how far it is and a better draft, None where nothing is new.

    ``is_last`` answers :class:`HandIn`: nothing better was told of before.
    """

    progress: dict[str, Any] | None
    draft: DraftAnswer | None = field(repr=False)
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The job is done: its answer as JSON text, what a list shows of it, a graph to be kept.

    ``is_repeated`` lets it answer the same content asked again.
    """

    answer: bytes = field(repr=False)
    summary: dict[str, Any]
    graph: NewGraph | None
    is_repeated: bool = True


@dataclass(frozen=True, slots=True)
class Failed:
    """The job has no answer: why, as its row keeps it, and the state that it ends in."""

    error: dict[str, Any]
    state: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The job was not done to its end, through no fault of its own: why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Waits:
    """The process waits for a job."""


#: What ends a job, or an attempt.
Outcome = Succeeded | Failed | Returned


#: What the process of a job tells.
Message = Described | JobProgress | Outcome | Waits
