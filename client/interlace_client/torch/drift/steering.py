"""Steering: a run's figures are watched, and all ranks take a better plan at the same step."""

from __future__ import annotations

import atexit
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable

from interlace_client import Step
from interlace_client.torch.calibration.table import time_of
from interlace_client.torch.drift.agreement import Agreement, Alone, RankAgreement, Rows
from interlace_client.torch.drift.figures import TypicalStep, figures_of, row_of
from interlace_client.torch.drift.history import START, History, Taken, history_at
from interlace_client.torch.drift.history_writer import HistoryWriter
from interlace_client.torch.drift.judge import DriftJudge, OfferedPlan
from interlace_client.torch.drift.plan_trial import PlanTrial, is_new
from interlace_client.torch.drift.recorder import Recorder, host_clock
from interlace_client.torch.drift.refreshed import table_of
from interlace_client.torch.drift.replanning import PlanMaker, written
from interlace_client.torch.plans import GRADIENT, some
from interlace_client.torch.runtime.start_phase import refuse_held
from interlace_client.torch.runtime.wrapping import known_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from interlace_client.torch.runtime.planned import PlannedDDP
    from interlace_client.torch.trial.outcome import TrialOutcome

_logger = logging.getLogger("interlace_client.torch.drift")


class Steering:
    """Keeps a run on its best plan: measures it, plans anew, and has all ranks take the plan.

    Made on all ranks, at the same time, around the loop, which stays as it is::

        with Steering(model, Planner(), recording.graph, calibration.cluster):
            for batch in loader: ...

    Every few steps the ranks put their figures together: what the step took, when gradients were
    ready, what launches took. Where these leave what was planned for, the first rank has the plan
    in use simulated and another one made with fresh figures, while training goes on. One that
    should win is tried by all ranks from the same step on, in turns with the one in use, for at
    most 40 steps (:class:`~interlace_client.torch.trial.turns.Turns`), and kept if the interval of
    its measured gain is above 1 %. A planner that fails, is slow, or answers with a
    plan of another model changes nothing but the log.

    Parameters
    ----------
    planned
        The run. One launch under way at a time, on CPUs: the times of GPUs are not the host's.
    planner
        Who makes plans, such as ``PlanMaker()``. This and the next two are the first rank's.
    graph
        Of an iteration, as capture makes it.
    cluster
        Of the ranks, with the table that calibration measures.
    history
        Where the first rank tells of plans and steps: URL of a service, path of a file of JSON
        lines, or an object with the methods of
        :class:`~interlace_client.torch.drift.history.History`.
    check_every
        After how many steps the ranks put their figures together: medians over so many count.
    threshold
        Share by which step, compute or launches must leave what was planned for before another
        plan is made.
    margin
        Share of the step that another plan must win by simulation before it is tried.
    predicted_us
        What a step should take under the plan in use [us], such as ``advice.plan_us``, for the
        history; a service finds it out by itself.
    trial
        What a trial before it came to, for the history: ``trial.outcome.report()``.
    clock
        Tells the time [us].

    Attributes
    ----------
    taken
        The plans of the run, in order.
    trials
        What became of each plan that was tried, in order.
    figures
        The latest, on the first rank; None before there are some.

    Raises
    ------
    ValueError
        When the cluster has no table, the graph is not of this model, the run does not go by a
        plan, its steps are held to a phase, or the model is on a GPU; on all ranks.
    """

    def __init__(
        self,
        planned: PlannedDDP,
        planner: PlanMaker,
        graph: Mapping[str, Any],
        cluster: Mapping[str, Any],
        *,
        history: str | Path | History | None = None,
        check_every: int = 5,
        threshold: float = 0.05,
        margin: float = 0.02,
        predicted_us: float | None = None,
        trial: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = host_clock,
    ) -> None:
        refuse_held(planned.phase)
        sizes = {
            name: p.numel() * p.element_size()
            for name, p in known_parameters(planned.module).items()
        }
        self._planned, self._parameters, self._every = planned, list(sizes), check_every
        self._agreement: Agreement = (
            Alone() if planned.ranks == 1 else RankAgreement(planned.process_group)
        )
        is_first = self._agreement.is_first
        told = _costs(planned, graph, cluster, list(sizes)) if is_first else None
        told = self._agreement.share(told)
        fault, self._table, self._slowdown = told
        if fault is not None:
            raise ValueError(fault)
        self._judge = (
            DriftJudge(planner, graph, cluster, sizes, threshold=threshold, margin=margin)
            if is_first
            else None
        )
        workers = cluster.get("workers") if is_first else None
        if planned.ranks > 1 and workers not in {None, planned.ranks}:
            _logger.warning(
                "The cluster was measured with %s workers, and there are %d ranks.",
                workers,
                planned.ranks,
            )
        if planned.window > 1:
            _logger.warning(
                "%d launches under way at once: what each takes is rough.", planned.window
            )
        self._telling = HistoryWriter(history_at(history) if is_first else None)
        self._recorder = Recorder(check_every, self._stepped, clock)
        self._asked: Callable[[], Rows] | None = None
        self._offer: OfferedPlan | None = None
        self._trial: PlanTrial | None = None
        self._is_warm = False
        self.figures: TypicalStep | None = None
        self.taken: list[Taken] = []
        self.trials: list[TrialOutcome] = []
        plan = written(planned.plan, sizes)
        begin = "the run begins"
        self._note(Taken(0, START, begin, plan, predicted_us, graph, cluster, planned.barrier))
        if trial is not None:
            self._telling.tell(lambda history: history.tried(trial))
        planned.observer = self._recorder
        atexit.register(self.close)

    def __enter__(self) -> Self:
        """Steer until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the history, and say whether the run failed."""
        self.close("finished" if kind is None else "failed")

    def close(self, why: str = "finished") -> None:
        """Stop watching, and tell the history that the run is over; the plan in use stays."""
        if self._planned.observer is not self._recorder:
            return
        self._planned.observer = None
        atexit.unregister(self.close)
        self._report()
        self._telling.close(why)

    def _stepped(self) -> None:
        """Hear what was asked for at the step before; ask anew every few steps."""
        if self._trial is None:
            asked, self._asked = self._asked, None
            if asked is not None:
                self._hear(asked())
        else:
            self._try(self._trial)
        if self._trial is None and self._recorder.number % self._every == 0:
            self._ask()

    def _ask(self) -> None:
        """Begin to put figures together; nobody waits for that before the next step."""
        steps, rows = self._recorder.steps, []
        if not self._is_warm:
            steps.clear()  # in the first steps memory is allocated, and uses are looked for
            self._is_warm = True
        if 2 * len(steps) > self._every:
            expected = [time_of(self._table, x.bytes) for x in self._planned.plan.launches]
            rows = [row_of(step, self._parameters, expected, self._slowdown) for step in steps]
            steps.clear()
        self._report()
        if self._judge is not None:
            self._offer = self._judge.offer(self.taken[-1])
        self._asked = self._agreement.start([*rows, [float(self._offer is not None)]])

    def _hear(self, answer: Rows) -> None:
        """Learn the figures of all ranks, and whether a plan is to be tried."""
        *rows, (is_offered,) = answer
        if rows:
            plan = self._planned.plan
            sizes = [launch.bytes for launch in plan.launches]
            self.figures = figures_of(rows, self._parameters, sizes, len(plan.buckets))
            if self._judge is not None and not is_offered:
                self._judge.consider(self.figures, self.taken[-1])
        if is_offered:
            self._begin_trial()

    def _begin_trial(self) -> None:
        """Try the first rank's plan, on all ranks."""
        offered: OfferedPlan = self._agreement.share(self._offer)
        self._report()
        _logger.info("A new plan is tried: %s.", offered.taken.sentence)
        self._trial = PlanTrial(self.taken[-1], offered, self._agreement, self._install)

    def _try(self, trial: PlanTrial) -> None:
        """Count a step of a trial; end it when it has come to something."""
        ((_, time_us),) = self._recorder.times()
        outcome = trial.note(time_us)
        if outcome is None:
            return
        self._trial = None
        self.trials.append(outcome)
        number, is_kept = self._recorder.number, is_new(outcome)
        self._recorder.reset()
        _logger.info("After %d steps: %s", trial.steps, outcome.sentence)
        if is_kept:
            sentence = f"{trial.offered.taken.sentence}. {outcome.sentence}"
            self._note(replace(trial.offered.taken, from_step=number, sentence=sentence))
        told = outcome.report(number)
        self._telling.tell(lambda history: history.tried(told))
        if self._judge is not None:
            step_us = outcome.arms[outcome.kept].median_us
            self._judge.settle(trial.offered, step_us, is_kept=is_kept)

    def _install(self, taken: Taken) -> None:
        """Take a plan from the next step on; what was measured under another is forgotten."""
        self._planned.observer = None  # whose runs nobody else changes
        try:
            self._planned.install(taken.plan)
        finally:
            self._planned.observer = self._recorder
        self._recorder.reset()

    def _note(self, taken: Taken) -> None:
        """Keep and tell which plan is in use from here on."""
        _logger.info("A plan from step %d on: %s", taken.from_step, taken.sentence)
        self.taken.append(taken)
        self._telling.tell(lambda history: history.take(taken))

    def _report(self) -> None:
        """Tell what steps took since the last report."""
        plan, predicted = len(self.taken) - 1, self.taken[-1].predicted_us
        told = [Step(number, plan, time, predicted) for number, time in self._recorder.times()]
        if told:
            self._telling.tell(lambda history: history.report(told))


def _costs(
    planned: PlannedDDP,
    graph: Mapping[str, Any],
    cluster: Mapping[str, Any],
    parameters: list[str],
) -> tuple[str | None, list[tuple[int, float]], float]:
    """Return what is wrong with a run, the table of launches and the slowdown of compute."""
    fault, table = None, []
    ids = {op["id"] for op in graph["ops"]}
    missing = [name for name in parameters if GRADIENT + name not in ids]
    if missing:
        fault = (
            f"The graph is not of this model: it has no op '{GRADIENT}NAME' for {len(missing)} of "
            f"{len(parameters)} parameters: {some(missing)}."
        )
    elif not planned.is_planned:
        fault = "DistributedDataParallel sends the gradients of this run: install a plan first."
    elif planned.between_steps is not None:
        fault = "A trial of this run is under way: begin after its end."
    elif any(p.is_cuda for p in planned.module.parameters()):
        fault = "Steering measures with the clock of the host, which knows no times of a GPU."
    try:
        table = table_of(cluster)
    except ValueError as error:
        fault = f"{fault} {error}" if fault else str(error)
    return fault, table, float(cluster.get("compute_slowdown") or 1)
