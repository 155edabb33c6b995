"""The Chrome trace of a plan beside FIFO, which Perfetto opens."""

import json

from solver.costs import Network
from solver.exports.files import Export, Planned, replayed
from solver.graph import Graph
from solver.policies.wfbp import wfbp
from solver.simulation.engine import simulate
from solver.simulation.timeline import chrome_trace

FORMAT = "chrome"


def export(graph: Graph, network: Network, planned: Planned) -> Export:
    """Write ``trace.json``; nothing is lost.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives.
    """
    _, plan = replayed(graph, network, planned)
    fifo = simulate(graph, network, wfbp)
    times = {
        "iteration_time_us": plan.iteration_time,
        "fifo_iteration_time_us": fifo.iteration_time,
    }
    trace = chrome_trace(graph, {"plan": plan, "fifo": fifo}, times)
    return Export(
        format=FORMAT,
        files={"trace.json": json.dumps(trace, separators=(",", ":")) + "\n"},
        media_type="application/json",
        notes=(),
        iteration_time_us=plan.iteration_time,
        plan_time_us=plan.iteration_time,
    )
