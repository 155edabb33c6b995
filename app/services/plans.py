"""Plans: solved, kept, drawn."""

import time
from dataclasses import replace
from typing import Any

from app.errors import InvalidRequest, within
from app.reading.program_faults import is_program
from app.schemas.explanations import UNEXPLAINED, ExplainedAnswer
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.problem import CheckedRequest
from app.schemas.schedules import PlanBody
from app.services.drafts import EXPLANATION, WHAT_IF, Follower, Following
from app.services.explanations import explained
from app.services.graphs import is_large, lightened, what_if
from app.services.launch_counts import launch_faults
from app.services.plan_answer import plan_answer
from solver.chain import chain_of
from solver.costs import Network, network_of
from solver.errors import InvalidGraph, InvalidOptions
from solver.explanation.explain import explain
from solver.graph import COMPUTE, with_barrier
from solver.planning.explicit import explicit_launches
from solver.planning.headline import comparison
from solver.planning.plan import plan
from solver.planning.progress import SILENT
from solver.planning.result import Plan
from solver.prediction.osf import osf_of
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.simulation.timeline import chrome_trace
from solver.simulation.what_if import carry_over

#: The watchdog of the plan for the other barrier has what is left of the limit, at least so much.
_LEAST = 0.1


def solve(problem: CheckedRequest[PlanRequest], watch: Follower | None = None) -> PlanAnswer:
    """Plan one training iteration, with and without a barrier; say why; plan the what-if.

    ``watch`` is told how it goes, and changes nothing of the answer unless the watchdog cuts the
    search short.

    Raises
    ------
    InvalidRequest
        When the solver finds that options, graph or changes cannot be met.
    """
    if is_program(problem.graph, problem.request):
        from app.services.programs import solve_program  # noqa: PLC0415 - takes time

        return solve_program(problem, watch)
    began, spent, request = time.perf_counter(), time.thread_time(), problem.request
    network = network_of(request.cluster.to_cluster())
    options = replace(request.options.to_options(), believed=request.belief())
    sizes = [op.bytes or 0 for op in problem.graph.ops if op.kind != COMPUTE]
    if faults := launch_faults(options.baselines, sizes):
        raise InvalidRequest(within("options", faults))
    graph, other = lightened(problem.graph), what_if(problem.graph, request.what_if)
    progress = Following(problem, began, watch) if watch else SILENT
    try:
        found = plan(graph, network, options, progress)
        progress.incumbent(found.iteration_time_us, lambda: found)
        if other:
            progress.phase(WHAT_IF)
        limit_s = options.time_limit_s
        left_s = max(limit_s - (time.thread_time() - spent), _LEAST * limit_s)
        rest = replace(options, time_limit_s=left_s, prove_s=0.0)
        beside = None if is_large(graph) else comparison(graph, network, rest, found)
        # that slot may be too short
        alone = replace(options, baselines=(), slot_us=None, prove_s=0.0)
        changed = plan(lightened(other), network, alone) if other else None
    except InvalidOptions as error:
        raise InvalidRequest(within("options", error.faults)) from error
    except InvalidGraph as error:
        raise InvalidRequest(within("graph", error.faults)) from error
    progress.phase(EXPLANATION)
    why = explained_plan(network, found)
    osf = osf_of(graph, network)
    runtime = round(time.perf_counter() - began, 6)
    return plan_answer(problem, found, why, changed, osf, runtime, beside)


def explained_plan(network: Network, found: Plan) -> ExplainedAnswer:
    """Explain a plan, by simulating it again with changes."""
    graph, timeline = found.graph, found.timeline
    if is_large(graph):
        return UNEXPLAINED
    explanation = explain(graph, network, timeline)
    return explained(graph, network, carry_over(found.launches, graph), timeline, explanation)


def timeline(
    problem: CheckedRequest[PlanRequest], answer: Any, beside: str | None = None
) -> dict[str, Any]:
    """Draw a plan as a Chrome trace, beside one of :data:`app.names.RIVALS`.

    ``answer`` is what planning gave. A program is drawn with its memory. None stands for what you
    run.

    Raises
    ------
    InvalidRequest
        When there is no such rival of this plan.
    """
    from app.services import rivals  # noqa: PLC0415 - of programs, too: takes time

    if is_program(problem.graph, problem.request):
        from app.services.program_traces import program_timeline  # noqa: PLC0415

        return program_timeline(problem, answer, rivals.of_program(beside))
    graph = lightened(problem.graph)
    graph = with_barrier(graph) if problem.request.has_barrier else graph
    network = network_of(problem.request.cluster.to_cluster())
    sends = explicit_launches(graph, chain_of(graph), *PlanBody.model_validate(answer).by_name())
    rival, other_graph, other_timeline = (
        rivals.run_today(graph, network)
        if beside is None
        else (beside, *rivals.ran(problem, graph, network, beside))
    )
    timelines = {"plan": simulate(graph, network, replay(sends)), rival: other_timeline}
    other = {
        "graph": graph.name,
        "iteration_time_us": answer["iteration_time_us"],
        f"{rival}_iteration_time_us": other_timeline.iteration_time,
        "lower_bound_us": answer["lower_bound_us"],
    }
    return chrome_trace(graph, timelines, other, {rival: other_graph})
