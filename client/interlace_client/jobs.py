"""Jobs of the service: what they are called, how far they are, what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable, Generic, TypeVar

from interlace_client.answers import (
    Failure,
    Json,
    Plan,
    Progress,
    Ranking,
    Simulation,
    Sweep,
    Throughput,
)
from interlace_client.imported_graph import ImportedGraph

T = TypeVar("T")

#: States that a job does not leave.
ENDED = ("succeeded", "failed", "cancelled", "timed_out")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of job, as the paths of the service call it, and how its answer is read."""

    name: str
    read: Callable[[Json], T | None]
    #: What a list calls them; where it is left out, as the paths do.
    plural: str = ""

    @property
    def path(self) -> str:
        """The path under which its jobs are."""
        return f"/v1/{self.name}"


PLANS: Kind[Plan] = Kind("plans", Plan.of)
SIMULATIONS: Kind[Simulation] = Kind("simulations", Simulation.of)
SWEEPS: Kind[Sweep] = Kind("sweeps", Sweep.of)
PARAMETER_SERVERS: Kind[Throughput] = Kind(
    "predictions/parameter-server", Throughput.of, "predictions"
)
RANKINGS: Kind[Ranking] = Kind("shapes/rankings", Ranking.of, "rankings")
IMPORTS: Kind[ImportedGraph] = Kind("imports", ImportedGraph.of)


@dataclass(frozen=True)
class Job(Generic[T]):
    """A job as the service told it last; times are ISO 8601.

    ``result`` is what it made: the answer of one that succeeded, of a cancelled plan or ranking
    the best so far, else None. ``raw`` is the whole object.
    """

    kind: Kind[T]
    id: str
    state: str
    progress: Progress
    result: T | None
    error: Failure | None
    raw: Json = field(repr=False, compare=False)
    tags: tuple[str, ...] = ()
    attempts: int = 0
    created_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None

    @property
    def path(self) -> str:
        """Where the service has it."""
        return f"{self.kind.path}/{self.id}"

    @property
    def has_ended(self) -> bool:
        """Whether it will not change any more."""
        return self.state in ENDED

    @classmethod
    def of(cls, kind: Kind[T], raw: Json) -> Job[T]:
        """Read a job, whole or as a list has it."""
        error = raw.get("error")
        found = cls(
            kind,
            raw["id"],
            raw["state"],
            Progress.of(raw),
            kind.read(raw),
            Failure.of(error) if error else None,
            raw,
        )
        return replace(
            found,
            tags=tuple(raw.get("tags") or ()),
            attempts=raw.get("attempts") or 0,
            created_at=raw.get("created_at"),
            started_at=raw.get("started_at"),
            finished_at=raw.get("finished_at"),
        )


@dataclass(frozen=True)
class Page(Generic[T]):
    """Jobs of a list, the newest first, and the cursor of the next page; None on the last."""

    jobs: tuple[Job[T], ...]
    next_cursor: str | None

    @classmethod
    def of(cls, kind: Kind[T], raw: Json) -> Page[T]:
        """Read a list."""
        jobs = tuple(Job.of(kind, each) for each in raw[kind.plural or kind.name])
        return cls(jobs, raw.get("next_cursor"))
