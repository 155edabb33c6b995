"""Plans: solved, kept, drawn."""

import json
import time
from dataclasses import replace
from typing import Any

from app.answers import Answer, PlanList
from app.baselines import launch_faults
from app.detail import is_large, lightened
from app.door import problem_of, read_parsed, within
from app.errors import InvalidRequest
from app.explained import UNEXPLAINED, explained
from app.jobs import keep, now
from app.problem import Problem
from app.requests import PlanRequest
from app.simulation_request import GivenPlanBody
from app.storage import PlanRow, Store, Stored
from app.what_if import what_if
from solver.chain import chain_of
from solver.costs import Network, network_of
from solver.errors import InvalidGraph, InvalidOptions
from solver.explanation.explain import explain
from solver.given import sends_of
from solver.graph import COMPUTE, with_barrier
from solver.plan import plan
from solver.policies import wfbp
from solver.policies.plan import replay
from solver.result import Plan
from solver.scaling import osf_of
from solver.simulate import simulate
from solver.timeline import chrome_trace
from solver.whatif import carried


def solve(problem: Problem[PlanRequest]) -> Answer:
    """Plan one training iteration, say why it takes as long, and plan the what-if.

    Raises
    ------
    InvalidRequest
        When the solver finds that options, graph or changes cannot be met.
    """
    began, request = time.perf_counter(), problem.request
    network = network_of(request.cluster.to_cluster())
    options = request.options.to_options()
    sizes = [op.bytes or 0 for op in problem.graph.ops if op.kind != COMPUTE]
    if faults := launch_faults(options.baselines, sizes):
        raise InvalidRequest(within("options", faults))
    graph, other = lightened(problem.graph), what_if(problem.graph, request.what_if)
    try:
        found = plan(graph, network, options)
        alone = replace(options, baselines=(), slot_us=None)  # that slot may be too short
        changed = plan(lightened(other), network, alone) if other else None
    except InvalidOptions as error:
        raise InvalidRequest(within("options", error.faults)) from error
    except InvalidGraph as error:
        raise InvalidRequest(within("graph", error.faults)) from error
    why = _why(network, found)
    osf = osf_of(graph, network)
    runtime = round(time.perf_counter() - began, 6)
    return Answer.of(problem, found, why, changed, osf, runtime)


def _why(network: Network, found: Plan) -> dict[str, Any]:
    """Explain a plan, by simulating it again with changes."""
    graph, timeline = found.graph, found.timeline
    if is_large(graph):
        return UNEXPLAINED
    explanation = explain(graph, network, timeline)
    return explained(graph, network, carried(found.sends, graph), timeline, explanation)


def create(store: Store, problem: Problem[PlanRequest]) -> Stored:
    """Solve a problem and keep the plan."""
    began = now()
    answer = solve(problem)
    light = {
        "name": problem.graph.name,
        "status": answer.status,
        "iteration_time_us": answer.iteration_time_us,
    }
    return keep(store, PlanRow, began, light, problem.to_text(), answer.model_dump_json())


def newest(store: Store, limit: int) -> PlanList:
    """Return the newest plans, in brief."""
    return PlanList.model_validate({"plans": store.newest(PlanRow, limit)})


def timeline(store: Store, plan_id: str) -> dict[str, Any]:
    """Draw a plan that was kept as a Chrome trace, beside FIFO."""
    stored = store.get(PlanRow, plan_id)
    problem = problem_of(read_parsed(json.loads(stored.request), PlanRequest))
    graph = lightened(problem.graph)
    graph = with_barrier(graph) if problem.request.has_barrier else graph
    network = network_of(problem.request.cluster.to_cluster())
    answer = json.loads(stored.result)
    sends = sends_of(graph, chain_of(graph), *GivenPlanBody.model_validate(answer).given())
    timelines = {
        "plan": simulate(graph, network, replay(sends)),
        "fifo": simulate(graph, network, wfbp),
    }
    other = {
        "graph": graph.name,
        "iteration_time_us": answer["iteration_time_us"],
        "fifo_iteration_time_us": timelines["fifo"].iteration_time,
        "lower_bound_us": answer["lower_bound_us"],
    }
    return chrome_trace(graph, timelines, other)
