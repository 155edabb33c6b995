"""What goes to another machine with a job, and what comes from the machine itself.

Whoever does the job sees no database. What its request names by an id goes with it. Dask and its
workers hand all this on as bytes; the two ends alone read them.
"""

from dataclasses import dataclass, field
from typing import Any

from app.jobs import messages
from app.jobs.leases import Claim
from app.jobs.tasks.work import Inputs
from app.reading.references import Library
from app.schemas.networks import CostModelBody


@dataclass(frozen=True, slots=True)
class Task:
    """A job as it goes to another machine.

    Attributes
    ----------
    job
        As it was claimed.
    memory_bytes
        What its process may take.
    body, files
        Its request, and its uploads.
    models, graphs
        What the request names, by id; what is unknown is left out.
    draft
        Summary of the draft that an attempt before left; empty without one.
    """

    job: Claim
    memory_bytes: int
    body: bytes = field(repr=False)
    files: tuple[bytes, ...] = field(repr=False)
    models: dict[str, CostModelBody]
    graphs: dict[str, str] = field(repr=False)
    draft: dict[str, Any]

    def drafted(self, _job: Claim) -> dict[str, Any]:
        """Return the summary of the draft that an attempt before left."""
        return self.draft

    def inputs(self, job: Claim) -> Inputs:
        """Return what the job is done with."""
        library = Library(self.models.get, self.graphs.get)
        return Inputs(self.body, self.files, library, caller=job.caller)


@dataclass(frozen=True, slots=True)
class Began:
    """A process is at the job."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process of the job ended before the job did: how."""

    reason: str


#: What ends a job, or an attempt.
Outcome = messages.Outcome | Died


#: What is heard of a job.
Message = messages.Message | Began | Died
