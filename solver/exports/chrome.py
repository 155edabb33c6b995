"""The Chrome trace of a plan beside what you run, which Perfetto opens."""

import json

from solver.costs import Network
from solver.evidence.what_you_run import what_you_run
from solver.exports.explicit_plan import ExplicitPlan, Export, replay_plan
from solver.graph import Graph
from solver.simulation.engine import simulate
from solver.simulation.timeline import chrome_trace

FORMAT = "chrome"


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``trace.json``; nothing is lost.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives.
    """
    _, timeline = replay_plan(graph, network, plan)
    today = what_you_run(graph, network)[0]
    ran = simulate(graph, network, today.policy(graph, network))
    times = {
        "iteration_time_us": timeline.iteration_time,
        f"{today.name}_iteration_time_us": ran.iteration_time,
    }
    trace = chrome_trace(graph, {"plan": timeline, today.name: ran}, times)
    return Export(
        format=FORMAT,
        files={"trace.json": json.dumps(trace, separators=(",", ":")) + "\n"},
        media_type="application/json",
        notes=(),
        iteration_time_us=timeline.iteration_time,
        plan_time_us=timeline.iteration_time,
    )
