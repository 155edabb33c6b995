"""A plan tried in the run itself, beside DistributedDataParallel."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Callable

import torch
import torch.distributed as dist

from interlace_client.torch.plans import BucketPlan
from interlace_client.torch.runtime.start_phase import refuse_held
from interlace_client.torch.trial.outcome import ArmTimes, TrialOutcome
from interlace_client.torch.trial.turns import Turns

if TYPE_CHECKING:
    from interlace_client.torch.advice import PlanAdvice
    from interlace_client.torch.runtime.planned import PlannedDDP

_logger = logging.getLogger("interlace_client.torch.trial")

#: Launches that may be under way at once where the run has one at a time (gloo).
_WINDOW = 4


@dataclass(frozen=True)
class TrialArm:
    """What makes steps in a trial: the plan, or DistributedDataParallel.

    Attributes
    ----------
    name
        In words.
    plan
        The plan; None is DistributedDataParallel.
    window
        Of the plan's launches; None leaves that of the run.
    bucket_cap_mb
        Of DistributedDataParallel; None is its default.
    """

    name: str
    plan: BucketPlan | None = None
    window: int | None = None
    bucket_cap_mb: float | None = None


class Trial:
    """Tries a plan in the run beside DistributedDataParallel, and keeps what measured steps favour.

    Made on all ranks between two steps; the loop stays as it is::

        trial = Trial(model, advice)  # in the place of model.install(advice.plan)
        for batch in loader: ...

    The next steps, up to ten for each arm, are made by DistributedDataParallel with its default,
    the same with its best ``bucket_cap_mb`` where that is another one, the plan, and on gloo the
    plan in another window: one launch at a time, or four where that is the run's. All train alike:
    the gradients are the same averages. Then the plan stays if the paired interval of its steps
    beats the best of DistributedDataParallel by 1 %; else that goes on, inside ``model``. Where
    these steps do not tell and 40 in all allow it, the best of both make more of them first
    (:class:`~interlace_client.torch.trial.turns.Turns`). While it makes
    steps a DistributedDataParallel holds buckets as large as the gradients. ``install()``,
    ``hand_over()`` and ``detach()`` of the run end a trial, without an outcome.

    Parameters
    ----------
    planned
        The run. Its steps begin with a forward pass of it.
    advice
        What ``make_plan`` says of the plan.
    clock
        Tells the time [s].

    Attributes
    ----------
    outcome
        What was kept and why; None before the trial is over. It is logged by the first rank.
    advice
        As it was given; after the trial with what that said.

    Raises
    ------
    ValueError
        When something else watches the steps of the run, such as Steering; begin that afterwards.
        When the run has no optimizer, so that nobody knows when a step ends; when its steps are
        held to a phase.
    UnusablePlan
        When the plan is not of this model.
    RuntimeError
        When the ranks' advice differs.
    """

    def __init__(
        self,
        planned: PlannedDDP,
        advice: PlanAdvice,
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        if planned.observer is not None or planned.between_steps is not None:
            raise ValueError("Another trial or Steering watches this run: begin after its end.")
        refuse_held(planned.phase)
        if not planned.optimizers:
            raise ValueError("This run was given no optimizer, whose steps a trial would measure.")
        self.outcome: TrialOutcome | None = None
        self.advice = self._advice = advice
        self._planned, self._clock, self._barrier = planned, clock, advice.barrier
        self._promised = _promised(advice)
        self._arms = _arms(planned, advice)
        told = [ArmTimes(arm.name, arm.plan is not None, ()) for arm in self._arms]
        self._turns = Turns(told, self._promised)
        self._arm, self._began = -1, 0.0
        self._is_cuda = any(p.is_cuda for p in planned.module.parameters())
        planned.between_steps = self._between

    def _between(self) -> None:
        """End a step and begin the next, by the arm whose turn it is."""
        if self._is_cuda:
            torch.cuda.synchronize()
        if self._arm >= 0 and self._turns.note((self._clock() - self._began) * 1e6):
            self._look()
        if self.outcome is not None:
            return
        if self._turns.arm != self._arm:
            self._use(self._turns.arm)
            self._planned.between_steps = self._between
        self._began = self._clock()

    def _use(self, k: int) -> None:
        """Have an arm make the steps from here on."""
        arm, self._arm = self._arms[k], k
        if arm.plan is not None:
            self._planned.install(arm.plan, barrier=self._barrier, window=arm.window)
        else:
            self._planned.hand_over(arm.bucket_cap_mb)

    def _look(self) -> None:
        """Keep what the steps of all ranks favour, if they are enough."""
        times = self._turns.times
        ranks: list[Any] = [times]
        if self._planned.ranks > 1:
            ranks = [None] * self._planned.ranks
            dist.all_gather_object(ranks, times, group=self._planned.process_group)
        slowest = [[max(steps) for steps in zip(*arm)] for arm in zip(*ranks)]
        self.outcome = self._turns.look(slowest)
        if self.outcome is None:
            return
        self._use(self.outcome.kept)
        self.advice = self._advice.tried(self.outcome.sentence, is_kept=self.outcome.is_planned)
        if not dist.is_initialized() or dist.get_rank(self._planned.process_group) == 0:
            _logger.info("After %d steps: %s", self._turns.steps, self.outcome.sentence)


def _promised(advice: PlanAdvice) -> float | None:
    """Return the gain over the best of DistributedDataParallel that was planned."""
    known = [time for time in (advice.today_us, advice.tuned_us) if time is not None]
    return min(known) / advice.plan_us if known else None


def _arms(planned: PlannedDDP, advice: PlanAdvice) -> list[TrialArm]:
    """Say what is tried, when all ranks have the same advice."""
    plan = planned.agreed(advice.plan, advice.barrier, advice.tuned_cap_mb)
    arms = [TrialArm("DistributedDataParallel")]
    if advice.tuned_cap_mb is not None:
        cap = advice.tuned_cap_mb
        name = f"DistributedDataParallel with bucket_cap_mb={cap:g}"
        arms.append(TrialArm(name, bucket_cap_mb=cap))
    windows = [planned.window]
    if planned.has_window:
        windows.append(1 if planned.window > 1 else _WINDOW)
    for window in windows:
        name = "The plan" if window == 1 else f"The plan with {window} launches at once"
        arms.append(TrialArm(name, plan, window))
    return arms
