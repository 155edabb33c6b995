"""Work that the command does itself: followed, and when interrupted not lost."""

from collections.abc import Callable

from app.cli.failures import CommandFailure
from app.cli.interrupts import INTERRUPTED, interruptible
from app.cli.progress import Stage, following, stage_of
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.problem import CheckedRequest
from app.services.plans import solve


def plan(problem: CheckedRequest[PlanRequest], *, in_lines: bool) -> tuple[PlanAnswer, bool]:
    """Plan one training iteration; when interrupted, answer with the best plan so far.

    Parameters
    ----------
    problem
        What to plan.
    in_lines
        Whether to say how far it is where there is no terminal.

    Returns
    -------
    tuple of PlanAnswer and bool
        The plan, and whether it was interrupted.

    Raises
    ------
    Failure
        When it was interrupted before there was a plan.
    """
    watch = _Watch()
    with interruptible():
        try:
            with following(in_lines=in_lines) as watch.show:
                return solve(problem, watch), False
        except KeyboardInterrupt:
            pass
    if watch.text_of is None:  # from here on another interrupt ends the command at once
        raise CommandFailure("interrupted", code=INTERRUPTED)
    return PlanAnswer.model_validate_json(watch.text_of()), True


class _Watch:
    """Shows how far a plan is, and keeps what makes the best one so far."""

    def __init__(self) -> None:
        self.show: Callable[[Stage], None] = lambda _stage: None
        self.text_of: Callable[[], str] | None = None

    def progress(
        self,
        phase: str,
        completed: int | None,
        total: int | None,
        incumbent_us: float | None,
        lower_bound_us: float | None,
    ) -> None:
        """Show it."""
        self.show(stage_of(phase, completed, total, incumbent_us, lower_bound_us))

    def draft(self, text_of: Callable[[], str]) -> None:
        """Keep it."""
        self.text_of = text_of
