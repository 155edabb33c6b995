"""What if the costs are off: an iteration again under each of a table of other costs.

A plan is made for stated costs. What it gains is believed only as far as it gains under costs
that are as wrong as calibrations are: a start-up off by a factor of two, a bandwidth by a fifth.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from solver.costs import Network
from solver.graph import Graph
from solver.limits import MAX_DURATION_US


@dataclass(frozen=True, slots=True)
class Doubt:
    """One way in which costs may be off: factors on what was stated.

    Attributes
    ----------
    name
        In words.
    startup, bandwidth, launches, compute
        So many times the start-up, the bandwidth, the time of each launch, the time of each
        compute op.
    """

    name: str
    startup: float = 1.0
    bandwidth: float = 1.0
    launches: float = 1.0
    compute: float = 1.0


#: Each figure of a calibration off by as much as calibrations are.
DOUBTS: tuple[Doubt, ...] = (
    Doubt("half the start-up", startup=0.5),
    Doubt("twice the start-up", startup=2.0),
    Doubt("bandwidth x 0.8", bandwidth=0.8),
    Doubt("bandwidth x 1.25", bandwidth=1.25),
    Doubt("launches x 1.3", launches=1.3),
    Doubt("compute x 0.9", compute=0.9),
    Doubt("compute x 1.1", compute=1.1),
)


@dataclass(frozen=True, slots=True)
class DoubtedGain:
    """What a plan gains where costs are off as a doubt says.

    Attributes
    ----------
    name
        Of the doubt.
    today_us, plan_us
        What you run, and the plan as it is, simulated [us].
    gain
        1 - ``plan_us`` / ``today_us``; None where today takes no time.
    """

    name: str
    today_us: float
    plan_us: float
    gain: float | None


def doubted_network(network: Network, doubt: Doubt) -> Network:
    """Return a network whose launches cost what a doubt says."""
    bandwidth, startup = doubt.bandwidth / doubt.launches, doubt.startup * doubt.launches
    return network.faster(bandwidth, startup)


def doubted_graph(graph: Graph, doubt: Doubt) -> Graph:
    """Return a graph whose compute takes what a doubt says. O(ops)."""
    if doubt.compute == 1.0:
        return graph
    ops = tuple(
        op
        if op.duration_us is None
        else op._replace(duration_us=min(op.duration_us * doubt.compute, MAX_DURATION_US))
        for op in graph.ops
    )
    return replace(graph, ops=ops, durations=tuple(op.duration_us or 0.0 for op in ops))


def under_doubts(
    graph: Graph, network: Network, simulated: Callable[[Graph, Network], tuple[float, float]]
) -> tuple[DoubtedGain, ...]:
    """Simulate what you run and the plan under each doubt.

    Parameters
    ----------
    graph, network
        As they are stated.
    simulated
        Given a graph of the same ops and a network, the times of what you run and of the plan [us].

    Notes
    -----
    Two simulations for each of :data:`DOUBTS`.
    """
    rows = []
    for doubt in DOUBTS:
        today, planned = simulated(doubted_graph(graph, doubt), doubted_network(network, doubt))
        rows.append(DoubtedGain(doubt.name, today, planned, saved(today, planned)))
    return tuple(rows)


def saved(today_us: float, plan_us: float) -> float | None:
    """Return the share of a time that another one saves; None where there is none to save."""
    return 1 - plan_us / today_us if 0 < today_us < inf else None
