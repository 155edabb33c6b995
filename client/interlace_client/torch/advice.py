"""A plan for all ranks, and whether it is worth its use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from interlace_client.errors import InterlaceError
from interlace_client.torch.planner import NoAnswer, Planner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace_client.torch.calibration import Calibration
    from interlace_client.torch.capture import Recording


@dataclass(frozen=True)
class PlanAdvice:
    """A plan, and whether it is worth its use.

    Attributes
    ----------
    plan
        The planner's answer.
    barrier
        Whether it was made for a step that waits for all buckets.
    plan_us
        Simulated iteration time under the plan [us].
    today_us
        The same under DistributedDataParallel [us]; None where the planner did not say.
    is_worth
        Whether the plan takes less by more than a simulation can tell; where that is not known
        it is taken to.
    sentence
        What there is to gain.
    """

    plan: Mapping[str, Any]
    barrier: bool
    plan_us: float
    today_us: float | None
    is_worth: bool
    sentence: str

    @property
    def gain(self) -> float | None:
        """The share of DistributedDataParallel's time that is saved; None where not known."""
        return 1 - self.plan_us / self.today_us if self.today_us else None


def make_plan(
    recording: Recording,
    calibration: Calibration,
    planner: Planner | None = None,
    *,
    barrier: bool = False,
    least_gain: float = 0.02,
    process_group: Any = None,
) -> PlanAdvice:
    """Have the first rank ask for a plan, and hand the answer to all ranks.

    Parameters
    ----------
    recording
        Of the training step.
    calibration
        Of the group that will carry the launches.
    planner
        Who makes the plan; the command when left out. Only the first rank's is asked.
    barrier
        Whether the optimizer's step will wait for all buckets.
    least_gain
        The share of DistributedDataParallel's time that a plan must save to be worth its use; a
        simulation is a percent or two off.
    process_group
        The ranks; None is the default group.

    Raises
    ------
    NoAnswer
        On all ranks, with the first rank's reason.
    """
    told: list[Any] = [None, None]
    if dist.get_rank(process_group) == 0:
        try:
            told[0] = (planner or Planner()).plan(
                recording.graph, _cluster(recording, calibration), barrier=barrier
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the others wait for a word
            told[1] = str(error) if isinstance(error, InterlaceError) else repr(error)
    group = process_group if process_group is not None else dist.group.WORLD
    first = dist.get_process_group_ranks(group)[0]
    dist.broadcast_object_list(told, src=first, group=group)
    answer, reason = told
    if answer is None:
        raise NoAnswer(reason)
    return advice_of(answer, barrier=barrier, least_gain=least_gain)


def advice_of(answer: Mapping[str, Any], *, barrier: bool, least_gain: float) -> PlanAdvice:
    """Say whether a plan is worth its use.

    It is compared with DistributedDataParallel under its own barrier, as that runs.
    """
    plan_us = answer["iteration_time_us"]
    gains = (answer.get("headline") or {}).get("gains", ())
    today_us = next((gain["today_us"] for gain in gains if gain["barrier"]), None)
    planned = f"The step is planned to take {plan_us / 1e3:.1f} ms"
    if today_us is None:
        sentence = f"{planned}; what DistributedDataParallel takes is not known."
        return PlanAdvice(answer, barrier, plan_us, None, is_worth=True, sentence=sentence)
    gain = 1 - plan_us / today_us if today_us > 0 else 0.0
    sentence = f"{planned}, with DistributedDataParallel {today_us / 1e3:.1f} ms: "
    is_worth = gain > least_gain
    sentence += f"{gain:.1%} less." if is_worth else "too little to gain, keep that."
    return PlanAdvice(answer, barrier, plan_us, today_us, is_worth, sentence)


def _cluster(recording: Recording, calibration: Calibration) -> dict[str, Any]:
    """Return the cluster, with what communication costs the compute beside it if it is known."""
    slowdown = recording.compute_slowdown
    return calibration.cluster | ({} if slowdown is None else {"compute_slowdown": slowdown})
