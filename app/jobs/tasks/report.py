"""What a job tells while it is done."""

from collections.abc import Callable
from typing import Protocol

from app.services.drafts import Follower


class TaskFollower(Follower, Protocol):
    """Hears of a job from whoever does it."""

    def describe(self, name: str, limit_s: float) -> None:
        """Take note of what the request says of the job: its name, its time limit [s]."""

    def draft(self, text_of: Callable[[], str], kept_of: Callable[[], bytes] | None = None) -> None:
        """Take note of a better answer, as a :class:`Follower` does.

        ``kept_of`` writes what an attempt after this one need not do again.
        """

    def progress(
        self,
        phase: str,
        completed: int | None = None,
        total: int | None = None,
        incumbent_us: float | None = None,
        lower_bound_us: float | None = None,
        incumbent: str | None = None,
    ) -> None:
        """Take note of how far it is, as a :class:`Follower` does.

        ``incumbent`` is what the best so far is called, where that says something.
        """
