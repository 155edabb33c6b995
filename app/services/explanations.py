"""Why an iteration takes as long as it does, as plans and simulations tell it."""

from typing import Any

from solver.costs import Network
from solver.explanation.advice import Advice, advise
from solver.explanation.explain import Explanation
from solver.graph import Graph
from solver.simulation.engine import Timeline
from solver.simulation.what_if import Rerun


def explained(
    graph: Graph, network: Network, rerun: Rerun, timeline: Timeline, explanation: Explanation
) -> dict[str, Any]:
    """Return the fields of :class:`ExplainedAnswer` for a simulated iteration."""
    advice: Advice = advise(graph, network, rerun, timeline, explanation)
    return {
        "summary": advice.summary,
        "limited_by": advice.limited_by,
        "sensitivities": advice.sensitivities,
        "critical_path": explanation.critical_path,
        "tensors": explanation.tensors,
        "breakdown": explanation.breakdown,
    }
