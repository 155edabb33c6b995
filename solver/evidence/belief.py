"""Belief and truth are two costs: decided with the one, executed with the other.

A policy, or a plan, is decided with the costs that somebody believes, from a calibration or a data
sheet, and runs on a network that costs what it costs. OSF's comparison with MG-WFBP is of this
kind: MG-WFBP merges by a start-up of half or a quarter of the true one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solver.chain import Chain, stretched
from solver.costs import Cluster, Cost, Network, network_of
from solver.evidence.doubts import Doubt, doubted_graph, doubted_network
from solver.graph import Graph
from solver.policies.choice import Choice, bind, resolve
from solver.simulation.engine import Policy, Rule, costs_of
from solver.simulation.factors import lognormal


@dataclass(frozen=True, slots=True)
class Belief:
    """What who decides believes of the costs: factors on those of a cluster.

    Attributes
    ----------
    cluster
        The cluster that is believed; None for the true one.
    startup, bandwidth, compute
        It is believed to have so many times the start-up, the bandwidth, the time of compute.
    startup_spread, bandwidth_spread, compute_spread
        Each factor is drawn: log-normal about it, with this standard deviation as a share of it.
    seed
        Of the draws.
    """

    cluster: Cluster | None = None
    startup: float = 1.0
    bandwidth: float = 1.0
    compute: float = 1.0
    startup_spread: float = 0.0
    bandwidth_spread: float = 0.0
    compute_spread: float = 0.0
    seed: int = 0


def drawn(belief: Belief) -> Doubt:
    """Return the factors of a belief, drawn where it has spreads; the same on every machine."""
    random = np.random.Generator(np.random.PCG64(belief.seed))
    spreads = belief.startup_spread, belief.bandwidth_spread, belief.compute_spread
    times = [float(lognormal(random, spread, 1)[0]) for spread in spreads]
    return Doubt(
        "believed",
        startup=belief.startup * times[0],
        bandwidth=belief.bandwidth * times[1],
        compute=belief.compute * times[2],
    )


def believed_network(belief: Belief, network: Network) -> Network:
    """Return the network that is believed where ``network`` is the true one.

    Raises
    ------
    InvalidCluster
        When the believed cluster is out of range; from the network, when it lacks a lane.
    """
    base = network if belief.cluster is None else network_of(belief.cluster)
    return doubted_network(base, drawn(belief))


def believed_graph(belief: Belief, graph: Graph) -> Graph:
    """Return the graph with compute as long as it is believed to take. O(ops)."""
    return doubted_graph(graph, drawn(belief))


def decided_by(policy: Policy, believed: Network, compute: float = 1.0) -> Policy:
    """Return a policy that decides with believed costs, wherever it is executed.

    ``believed`` says what it takes a launch to cost, ``compute`` how many times as long as in the
    graph that is executed it takes compute to be. It still sees what is released and what ends
    as that happens.
    """

    def decide(chain: Chain, _: Sequence[Cost]) -> Sequence[Rule]:
        return policy(stretched(chain, compute), costs_of(chain, believed))

    return decide


def decided(
    choice: Choice, graph: Graph, network: Network, belief: Belief | None
) -> tuple[Choice, Policy]:
    """Return a choice with all parameters as used, and its policy, which decides as is believed.

    None believes what is true.
    """
    if belief is None:
        choice = resolve(choice, graph, network)
        return choice, bind(choice)
    believed = believed_network(belief, network)
    choice = resolve(choice, believed_graph(belief, graph), believed)
    return choice, decided_by(bind(choice), believed, drawn(belief).compute)
