"""The error tree: what can go wrong between a launcher and the service.

::

    InterlaceError
        Unreachable         no answer, whatever was tried
        UnexpectedAnswer    an answer, but not of an Interlace service
        WaitTimeout         timeout_s is over; the job goes on, unless it was cancelled
        Cancelled           somebody cancelled the job
        ProblemError        the service says why not; a class for each code in problems.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlace_client.answers import Fault
    from interlace_client.jobs import Job


class InterlaceError(Exception):
    """Anything that this client raises.

    ``job_id`` names the job that it is about, None when there is none or it is not known.
    """

    def __init__(self, detail: str, job_id: str | None = None) -> None:
        super().__init__(detail, job_id)
        self.detail = detail
        self.job_id = job_id

    def __str__(self) -> str:
        """Say it in a sentence."""
        return self.detail


class Unreachable(InterlaceError):
    """The service does not answer; a job that it may have accepted goes on."""


class UnexpectedAnswer(InterlaceError):
    """Something answers, but not as an Interlace service does."""


class WaitTimeout(InterlaceError):
    """The job did not end within ``timeout_s``.

    It goes on, and ``wait(error.job)`` waits again; with ``cancelled`` the client has cancelled
    it, and ``result`` is the best so far, if there is one.
    """

    def __init__(self, detail: str, job: Job[Any], *, cancelled: bool = False) -> None:
        super().__init__(detail, job.id)
        self.job = job
        self.cancelled = cancelled

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the job on the way from one process to another."""
        return _wait_timeout, (self.detail, self.job, self.cancelled)

    @property
    def result(self) -> Any:
        """What there was by then: a plan, or None."""
        return self.job.result


class Cancelled(InterlaceError):
    """The job was cancelled; ``result`` is the best so far, None when there is none."""

    def __init__(self, detail: str, job: Job[Any]) -> None:
        super().__init__(detail, job.id)
        self.job = job
        self.args = (detail, job)

    @property
    def result(self) -> Any:
        """What there was by then: a plan, or None."""
        return self.job.result


class ProblemError(InterlaceError):
    """The service refused, or the job failed: problem details (RFC 9457).

    Attributes
    ----------
    status
        HTTP status.
    code
        Stable word for the reason, such as ``cycle``; see :mod:`interlace_client.problems`.
    detail
        Sentence that names the thing and the rule.
    faults
        Everything that is wrong with the request, each with a JSON pointer to the place.
    instance
        Path of the request or of the job.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        faults: tuple[Fault, ...] = (),
        instance: str | None = None,
        job_id: str | None = None,
    ) -> None:
        super().__init__(detail, job_id)
        self.status = status
        self.code = code
        self.faults = faults
        self.instance = instance
        self.args = (status, code, detail, faults, instance, job_id)

    def __str__(self) -> str:
        """Give the sentence, with the code and the status."""
        return f"{self.detail} ({self.code}, {self.status})"


def _wait_timeout(detail: str, job: Job[Any], cancelled: bool) -> WaitTimeout:  # noqa: FBT001
    return WaitTimeout(detail, job, cancelled=cancelled)
