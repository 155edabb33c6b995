"""The first rank's judgement: when to plan anew, and which plan the run takes next."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from interlace_client.torch.drift.background import Background
from interlace_client.torch.drift.figures import Conditions
from interlace_client.torch.drift.history import BETTER, DRIFT, Taken
from interlace_client.torch.drift.refreshed import fresh_cluster, fresh_graph
from interlace_client.torch.drift.replanning import PlanMaker, Proposal, Question, propose
from interlace_client.torch.plans import read_plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from interlace_client.torch.drift.figures import TypicalStep

_logger = logging.getLogger("interlace_client.torch.drift")
#: After failures of the planner it rests for 2, 4, ... checks, and no more than these.
_LONGEST_REST = 64
#: Figures that have changed by so many thresholds since make a plan late: less is noise.
_LATE = 3


@dataclass(frozen=True)
class OfferedPlan:
    """A plan that a run tries in the place of the one in use.

    Attributes
    ----------
    taken
        The plan, if it is kept.
    promised
        How many times as long as under it a step should take under the one in use.
    """

    taken: Taken
    promised: float


class DriftJudge:
    """Compares what a run measures with what it was planned for; has another plan made.

    Parameters
    ----------
    planner
        Who makes plans.
    graph, cluster
        What was captured and calibrated before the run.
    parameters
        Bytes of those that the model trains, by name.
    threshold
        Share by which step, compute or launches must leave what was planned for.
    margin
        Share of the step that another plan must win.
    """

    def __init__(
        self,
        planner: PlanMaker,
        graph: Mapping[str, Any],
        cluster: Mapping[str, Any],
        parameters: Mapping[str, int],
        *,
        threshold: float,
        margin: float,
    ) -> None:
        self._planner, self._graph, self._cluster = planner, graph, cluster
        self._parameters, self._threshold, self._margin = parameters, threshold, margin
        self.planning = Background("planner")
        self._proposal: Future[Proposal] | None = None
        self._failures = self._defeats = self._rest = 0
        compute = sum(op["duration_us"] for op in graph["ops"] if op["kind"] == "compute")
        self._planned_for = Conditions(None, compute, 1.0)
        self._is_planned = False
        self._latest: Conditions | None = None
        self._refused: set[str] = set()

    def consider(self, figures: TypicalStep, taken: Taken) -> None:
        """Hear fresh figures of the plan in use; have another one made if they ask for it."""
        now, before = figures.conditions, self._planned_for
        self._latest = now
        self._rest -= 1
        if self._is_planned and not now.has_left(before, self._threshold):
            return
        if self._rest > 0 or not self.planning.is_idle or self._proposal is not None:
            return
        if now.changes(before, self._threshold):
            self._refused.clear()
        graph = fresh_graph(self._graph, figures)
        cluster = fresh_cluster(self._cluster, figures.launches)
        question = Question(figures, graph, cluster, taken.plan)
        self._proposal = self.planning.submit(
            lambda: propose(self._planner, question, self._parameters)
        )

    def offer(self, taken: Taken) -> OfferedPlan | None:
        """Return the plan to try beside the one in use, if there is one by now."""
        if self._proposal is None or not self._proposal.done():
            return None
        proposal, self._proposal = self._proposal, None
        try:
            return self._weigh(proposal.result(), taken)
        except Exception as error:  # noqa: BLE001 - training goes on without
            self._failures += 1
            self._rest = min(2**self._failures, _LONGEST_REST)
            _logger.warning("No new plan, the one in use stays: %s", error)
            return None

    def settle(self, offered: OfferedPlan, step_us: float, *, is_kept: bool) -> None:
        """Hear what came of a trial, and compare with what steps took in it from here on.

        A plan that lost is not tried again until something changes, and after each that loses the
        judge rests for 2, 4, ... checks: a trial has its price.

        Parameters
        ----------
        offered
            What was tried.
        step_us
            The median step under the plan that is kept.
        is_kept
            Whether that is the one that was tried.
        """
        self._planned_for = replace(self._planned_for, step_us=step_us)
        if is_kept:
            self._defeats = 0
            return
        self._defeats += 1
        self._rest = min(2**self._defeats, _LONGEST_REST)
        self._refused.add(read_plan(offered.taken.plan).digest)

    def _weigh(self, found: Proposal, taken: Taken) -> OfferedPlan | None:
        """Return a plan that was made anew, if it should win."""
        self._failures = 0
        question, now = found.question, found.question.figures.conditions
        changes = now.changes(self._planned_for, self._threshold)
        self._planned_for, self._is_planned = now, True
        gain = f"a step should take {found.planned_us:.0f} us instead of {found.current_us:.0f} us"
        if self._is_late(question, taken) or found.digest in self._refused:
            _logger.info("A new plan has come too late, or lost a trial before: %s.", gain)
            return None
        if found.gain <= self._margin:
            _logger.info("A new plan wins too little: %s.", gain)
            return None
        new = replace(
            taken,
            why=DRIFT if changes else BETTER,
            sentence="; ".join([*changes, gain]),
            plan={field: found.plan[field] for field in ("buckets", "schedule")},
            predicted_us=found.planned_us,
            graph=question.graph,
            cluster=question.cluster,
            barrier=question.figures.barrier,
        )
        return OfferedPlan(new, found.current_us / found.planned_us)

    def _is_late(self, question: Question, taken: Taken) -> bool:
        """Tell whether another plan has been taken since, or what it was made of has changed."""
        latest, then = self._latest, question.figures.conditions
        is_changed = latest is not None and latest.changes(then, _LATE * self._threshold)
        return bool(is_changed) or question.plan != taken.plan
