"""Plans: solved, kept, found again."""

import secrets
import time
from datetime import UTC, datetime
from typing import Any

from app.answers import Answer, PlanList, PlanOut
from app.baselines import launch_faults
from app.door import read_problem, within
from app.errors import InvalidRequest
from app.problem import Problem
from app.storage import Store, StoredPlan
from solver.costs import cost_of
from solver.errors import InvalidGraph, InvalidOptions
from solver.graph import COMPUTE, with_barrier
from solver.plan import plan
from solver.timeline import chrome_trace


def solve(problem: Problem) -> Answer:
    """Plan one training iteration.

    Raises
    ------
    InvalidRequest
        When the solver finds that the options or the graph cannot be met.
    """
    began = time.perf_counter()
    cost = cost_of(problem.cluster.to_cluster())
    options = problem.options.to_options()
    sizes = [op.bytes or 0 for op in problem.graph.ops if op.kind != COMPUTE]
    if faults := launch_faults(options.baselines, sizes):
        raise InvalidRequest(within("options", faults))
    try:
        found = plan(problem.graph, cost, options)
    except InvalidOptions as error:
        raise InvalidRequest(within("options", error.faults)) from error
    except InvalidGraph as error:
        raise InvalidRequest(within("graph", error.faults)) from error
    return Answer.of(problem, found, round(time.perf_counter() - began, 6))


def create(store: Store, problem: Problem) -> PlanOut:
    """Solve a problem and keep the plan."""
    job = {"id": secrets.token_hex(8), "state": "succeeded", "created_at": _now()}
    result = solve(problem).model_dump(mode="json")
    job["finished_at"] = _now()
    store.add(StoredPlan(job, problem.graph.name, problem.to_json(), result))
    return PlanOut.model_validate({**job, **result})


def find(store: Store, plan_id: str) -> PlanOut:
    """Return a plan that was kept."""
    stored = store.get(plan_id)
    return PlanOut.model_validate({**stored.job, **stored.result})


def newest(store: Store, limit: int) -> PlanList:
    """Return the newest plans, in brief."""
    return PlanList.model_validate({"plans": store.newest(limit)})


def timeline(store: Store, plan_id: str) -> dict[str, Any]:
    """Draw a plan that was kept as a Chrome trace."""
    stored = store.get(plan_id)
    problem = read_problem(stored.request)
    graph = with_barrier(problem.graph) if problem.options.barrier else problem.graph
    found = Answer.model_validate(stored.result).to_plan()
    return chrome_trace(graph, cost_of(problem.cluster.to_cluster()), found)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
