"""Why an iteration takes as long as it does, as plans and simulations answer it."""

from app.schemas.explanations import ExplainedAnswer
from solver.costs import Network
from solver.explanation.advice import advise
from solver.explanation.explain import Explanation
from solver.graph import Graph
from solver.simulation.engine import Timeline
from solver.simulation.what_if import Rerun


def explained(
    graph: Graph, network: Network, rerun: Rerun, timeline: Timeline, explanation: Explanation
) -> ExplainedAnswer:
    """Say what limits a simulated iteration."""
    return ExplainedAnswer.of(advise(graph, network, rerun, timeline, explanation), explanation)
