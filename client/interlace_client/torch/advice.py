"""A plan for all ranks, and whether it is worth its use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from interlace_client.errors import InterlaceError
from interlace_client.torch.calibration.result import ALL_REDUCE
from interlace_client.torch.calibration.table import time_of
from interlace_client.torch.overlap import Overlap
from interlace_client.torch.planner import NoAnswer, Planner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace_client.torch.calibration import Calibration
    from interlace_client.torch.capture import Recording


#: What each verdict of a gain is called.
_VERDICTS = {
    "worth_it": "worth it",
    "too_close": "too close to say, keep that",
    "nothing": "nothing to gain, keep that",
    "unreachable": "not reachable, keep that",
}


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
        The same under DistributedDataParallel with its defaults, which waits as the plan does [us];
        None where the planner did not say.
    tuned_us
        The same with its best ``bucket_cap_mb`` [us].
    tuned_cap_mb
        That cap [MiB]; None where none is better than the default, or that is not known.
    verdict
        The planner's on the gain over DistributedDataParallel, such as ``worth_it``; None where it
        did not say.
    is_worth
        Whether the verdict is ``worth_it``, and the gain what is asked for.
    sentence
        What there is to gain.
    """

    plan: Mapping[str, Any]
    barrier: bool
    plan_us: float
    today_us: float | None
    tuned_us: float | None
    tuned_cap_mb: float | None
    verdict: str | None
    is_worth: bool
    sentence: str

    @property
    def gain(self) -> float | None:
        """The share of DistributedDataParallel's time that is saved; None where not known."""
        return 1 - self.plan_us / self.today_us if self.today_us else None

    def tried(self, sentence: str, *, is_kept: bool) -> PlanAdvice:
        """Return the advice after a trial: worth it if the plan was kept, and why, first."""
        told = f"{sentence} Before the trial: {self.sentence}"
        return replace(self, is_worth=is_kept, sentence=told)


def make_plan(
    recording: Recording,
    calibration: Calibration,
    planner: Planner | None = None,
    *,
    barrier: bool = False,
    least_gain: float = 0.0,
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
        The share of DistributedDataParallel's time that a plan must save to be worth its use,
        besides the planner's verdict.
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
    """Say whether a plan is worth its use, by the planner's verdict.

    It is compared with DistributedDataParallel, by default and at its best, which waits as the plan
    does.
    """
    plan_us = answer["iteration_time_us"]
    every = (answer.get("headline") or {}).get("gains", ())
    gains = {gain["over"]: gain for gain in every if gain["barrier"] is barrier}
    ddp, tuned = gains.get("ddp"), gains.get("ddp_tuned")
    planned = f"The step is planned to take {plan_us / 1e3:.1f} ms"
    if ddp is None:
        sentence = f"{planned}; what DistributedDataParallel takes is not known, keep that."
        return PlanAdvice(
            answer, barrier, plan_us, None, None, None, None, is_worth=False, sentence=sentence
        )
    verdict = ddp["verdict"]
    is_enough = (ddp["gain"] or 0.0) >= least_gain
    said = [f"{planned}, with DistributedDataParallel {ddp['today_us'] / 1e3:.1f} ms: "]
    said += [_less(ddp), ": " if tuned is None else f", {_best(tuned)}: "]
    if verdict == "worth_it" and not is_enough:
        said.append(f"less than the {least_gain:.1%} asked for, keep that.")
    else:
        said.append(f"{_VERDICTS.get(verdict, 'keep that')}. {ddp['why']}")
    return PlanAdvice(
        answer,
        barrier,
        plan_us,
        ddp["today_us"],
        None if tuned is None else tuned["today_us"],
        None if tuned is None else tuned["bucket_cap_mb"],
        verdict,
        verdict == "worth_it" and is_enough,
        "".join(said),
    )


def _less(gain: Mapping[str, Any]) -> str:
    """Say how much less a plan takes."""
    share = gain["gain"] or 0.0
    return f"{abs(share):.1%} {'less' if share >= 0 else 'more'}"


def _best(tuned: Mapping[str, Any]) -> str:
    """Say the same beside DistributedDataParallel at its best."""
    cap = tuned["bucket_cap_mb"]
    how = "which no bucket_cap_mb makes faster" if cap is None else f"bucket_cap_mb={cap:g}"
    return f"{_less(tuned)} than that at its best ({how})"


def _cluster(recording: Recording, calibration: Calibration) -> dict[str, Any]:
    """Return the cluster, with what compute and communication cost each other if it is known."""
    slowdown = recording.compute_slowdown
    if slowdown is not None and recording.launch_slowdown is not None:
        sent = sum(tensor.bytes for tensor in recording.tensors)
        launches_us = time_of(calibration.tables[ALL_REDUCE], sent)
        overlap = Overlap(slowdown, recording.launch_slowdown)
        slowdown = overlap.slowdown(recording.compute_us, launches_us)
    return calibration.cluster | ({} if slowdown is None else {"compute_slowdown": slowdown})
