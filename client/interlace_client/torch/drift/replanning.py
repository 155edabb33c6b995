"""Planning anew with fresh figures, and whether another plan is worth taking over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from interlace_client.torch.plans import GRADIENT, BucketPlan, check_parameters, read_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace_client.torch.drift.figures import TypicalStep


class PlanMaker(Protocol):
    """Makes plans, as :class:`interlace_client.torch.planner.PlanMaker` does."""

    def plan(
        self, graph: Mapping[str, Any], cluster: Mapping[str, Any], *, barrier: bool
    ) -> dict[str, Any]:
        """Return the answer of ``POST /v1/plans``."""

    def simulate(
        self,
        graph: Mapping[str, Any],
        cluster: Mapping[str, Any],
        plan: Mapping[str, Any],
        *,
        barrier: bool,
    ) -> float:
        """Return how long an iteration takes under a plan [us]."""


@dataclass(frozen=True)
class Question:
    """What a plan is made of: fresh figures, and the plan in use."""

    figures: TypicalStep
    graph: Mapping[str, Any]
    cluster: Mapping[str, Any]
    plan: Mapping[str, Any]


@dataclass(frozen=True)
class Proposal:
    """A plan made anew, and both plans' simulated steps.

    Attributes
    ----------
    question
        What it was made of.
    plan
        The answer of the planner.
    digest
        Of the plan.
    current_us
        The step that the plan in use should take with the fresh figures.
    planned_us
        The step that the new one should take.
    """

    question: Question
    plan: Mapping[str, Any]
    digest: str
    current_us: float
    planned_us: float

    @property
    def gain(self) -> float:
        """Share of the step that the new plan saves."""
        return 1 - self.planned_us / self.current_us


def propose(planner: PlanMaker, question: Question, parameters: Mapping[str, int]) -> Proposal:
    """Make a plan anew, and simulate it beside the one in use.

    Parameters
    ----------
    planner
        Who is asked.
    question
        With fresh figures.
    parameters
        Bytes of those that the model trains, by name.

    Raises
    ------
    UnusablePlan
        When the answer is not of this model, with all differences.
    Exception
        Whatever the planner raises.
    """
    made_of, barrier = (question.graph, question.cluster), question.figures.barrier
    current_us = planner.simulate(*made_of, question.plan, barrier=barrier)
    answer = planner.plan(*made_of, barrier=barrier)
    plan = read_plan(answer)
    check_parameters(plan, parameters)
    return Proposal(question, answer, plan.digest, current_us, float(answer["iteration_time_us"]))


def written(plan: BucketPlan, parameters: Mapping[str, int]) -> dict[str, Any]:
    """Write a plan as the service reads it, with the bytes of the parameters."""
    return {
        "buckets": [
            {
                "id": bucket.id,
                "tensors": [f"{GRADIENT}{name}" for name in bucket.parameters],
                "bytes": sum(parameters[name] for name in bucket.parameters),
            }
            for bucket in plan.buckets
        ],
        "schedule": {
            "parts": [
                {
                    "bucket": plan.buckets[launch.bucket].id,
                    "offset_bytes": launch.offset,
                    "bytes": launch.bytes,
                }
                for launch in plan.launches
            ]
        },
    }
