"""What if the calibration is off: a plan and what runs today, under each doubt of the costs."""

from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.doubts import DoubtedGain, under_doubts
from solver.graph import Graph
from solver.planning.result import Plan
from solver.planning.under_contention import renumbered
from solver.simulation.engine import Policy, iteration_time
from solver.simulation.replay import replay


def off_calibration(network: Network, found: Plan, today: Policy) -> tuple[DoubtedGain, ...]:
    """Simulate a plan as it is beside a policy, where start-up, bandwidth or compute are off.

    Parameters
    ----------
    network
        For which the plan was made.
    found
        The plan; both run on its graph, a barrier included.
    today
        What it is compared with.

    Notes
    -----
    Two simulations for each of :data:`solver.evidence.doubts.DOUBTS`.
    """
    chain = chain_of(found.graph)

    def simulated(graph: Graph, costs: Network) -> tuple[float, float]:
        launches = renumbered(found.launches, chain, chain_of(graph))
        return iteration_time(graph, costs, today), iteration_time(graph, costs, replay(launches))

    return under_doubts(found.graph, network, simulated)
