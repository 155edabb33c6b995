"""A new plan tried beside the one in use, in the steps of a run that is steered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from interlace_client.torch.trial.outcome import ArmTimes, TrialOutcome
from interlace_client.torch.trial.turns import Turns

if TYPE_CHECKING:
    from interlace_client.torch.drift.agreement import Agreement
    from interlace_client.torch.drift.history import Taken
    from interlace_client.torch.drift.judge import OfferedPlan

#: The arms: the plan of before goes on unless the new one beats it.
_BEFORE, _NEW = 0, 1


class PlanTrial:
    """Goes through a trial of two plans on all ranks, a step at a time.

    Parameters
    ----------
    before
        The plan in use.
    offered
        The new one.
    agreement
        Of the ranks, which all make the same calls.
    install
        Takes a plan, before the next step.

    Attributes
    ----------
    offered
        As given.
    """

    def __init__(
        self,
        before: Taken,
        offered: OfferedPlan,
        agreement: Agreement,
        install: Callable[[Taken], None],
    ) -> None:
        self.offered, self._agreement, self._install = offered, agreement, install
        self._plans = [before, offered.taken]
        names = "The plan of before", "The new plan"
        arms = [ArmTimes(name, is_plan=True, steps_us=()) for name in names]
        self._turns = Turns(arms, offered.promised, rival=_BEFORE)
        self._arm = _BEFORE

    @property
    def steps(self) -> int:
        """How many steps have been made."""
        return self._turns.steps

    def note(self, time_us: float) -> TrialOutcome | None:
        """Hear what a step took, and have the next made by its arm; return what it came to.

        The plan that is kept is in use then.
        """
        outcome = None
        if self._turns.note(time_us):
            outcome = self._turns.look(self._agreement.start(self._turns.times)())
        arm = self._turns.arm if outcome is None else outcome.kept
        if arm != self._arm:
            self._arm = arm
            self._install(self._plans[arm])
        return outcome


def is_new(outcome: TrialOutcome) -> bool:
    """Tell whether the new plan was kept."""
    return outcome.kept == _NEW
