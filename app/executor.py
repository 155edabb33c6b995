"""Where jobs run. The server knows no more of it than this."""

from typing import Protocol

from app.intake import Added, Key, New
from app.jobs import Job


class Executor(Protocol):
    """Takes jobs, and sees to it that each of them ends."""

    def submit(self, new: New, key: Key | None, *, fresh: bool) -> Added:
        """Take a job, or find the one that answers already; see :func:`app.intake.add`."""

    async def wait(
        self, kind: str, job_id: str, seconds: float, revision: int | None = None
    ) -> Job:
        """Return a job when it has ended, has left a revision, or after so long [s]."""

    def cancel(self, kind: str, job_id: str) -> Job:
        """End a job that has not ended; its processor is free within a second."""

    def recover(self) -> int:
        """Take up again what a server that died had at work; count these jobs."""
