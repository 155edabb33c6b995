"""Runs: what a plan predicts of a step, and how far that was from what was measured."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.errors import InvalidRequest
from app.limits import MAX_HISTORY_STEPS
from app.reading.runs import Planned
from app.schemas.problem import CheckedRequest, graph_text
from app.schemas.runs import PredictionError
from app.schemas.simulations import SimulationRequest
from app.services.simulations import iteration_time_us
from solver.errors import Fault


class MeasuredSteps(NamedTuple):
    """Steps of a run in ascending order, a number of each: step, place of its plan, times [us]."""

    steps: np.ndarray
    plans: np.ndarray
    measured_us: np.ndarray
    predicted_us: np.ndarray


class PlanOutcome(NamedTuple):
    """How the steps under a plan went: how many, their median [us], how far off predictions were.

    The last two are None without steps.
    """

    steps: int
    measured_us: float | None
    error: PredictionError | None


def predicted_us(planned: Planned, *, barrier: bool) -> float:
    """Return what a step should take under a plan [us]: as it is said, else as it is simulated.

    Simulated it is in any case: so a plan that is not one of its graph is found.

    Raises
    ------
    InvalidRequest
        When the plan is not one of the graph.
    """
    request = planned.request
    asked = SimulationRequest(
        graph=request.graph, cluster=request.cluster, plan=request.plan, barrier=barrier
    )
    try:
        simulated = iteration_time_us(CheckedRequest(planned.graph, asked))
    except InvalidRequest as error:
        if planned.plan_id is None:
            raise
        raise InvalidRequest(
            [
                Fault("/plan_id", fault.code, f"The plan of this id: {fault.detail}")
                if fault.pointer.startswith("/plan/")
                else fault
                for fault in error.faults
            ]
        ) from error
    return simulated if request.predicted_us is None else float(request.predicted_us)


def request_text(planned: Planned, *, barrier: bool) -> str:
    """Write what to simulate a plan with: JSON that ``POST /v1/simulations`` takes."""
    cluster = planned.request.cluster.model_dump_json()
    plan = planned.request.plan.model_dump_json()
    graph = graph_text(planned.graph)
    flag = "true" if barrier else "false"
    return f'{{"graph":{graph},"cluster":{cluster},"plan":{plan},"barrier":{flag}}}'


def outcome(run: MeasuredSteps, plan: int | None = None) -> PlanOutcome:
    """Tell how the steps under a plan went, or all of them."""
    which = slice(None) if plan is None else run.plans == plan
    measured, predicted = run.measured_us[which], run.predicted_us[which]
    if not measured.size:
        return PlanOutcome(0, None, None)
    median, p95 = np.quantile(np.abs(predicted / measured - 1), [0.5, 0.95])
    error = PredictionError(median=float(median), p95=float(p95))
    return PlanOutcome(measured.size, float(np.median(measured)), error)


def thinned(steps: np.ndarray) -> tuple[int, Sequence[int]]:
    """Choose steps for a history, every so many of them: of few all, else the newest and before.

    Returns
    -------
    tuple
        1 when all are chosen, 2 for every second one, and so on; and those, in ascending order.
    """
    every = max(1, -(-steps.size // MAX_HISTORY_STEPS))
    first = (steps.size - 1) % every
    return every, steps[first::every].astype(int).tolist()
