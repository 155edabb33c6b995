"""What a plan gains over what you run: under PyTorch's barrier, and without it."""

from collections.abc import Callable
from dataclasses import replace

from solver.bounds.bound import lower_bound
from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.doubts import DOUBTS, doubted_graph, doubted_network, saved, under_doubts
from solver.evidence.gain import NOTHING, Gain, gain_over
from solver.evidence.headline import Headline, headline_of
from solver.evidence.what_you_run import what_you_run
from solver.graph import Graph, has_barrier
from solver.planning.plan import Options, plan
from solver.planning.result import Plan
from solver.planning.runtimes import runtime_of
from solver.simulation.engine import Policy, costs_of, iteration_time
from solver.simulation.replay import replay


def headline(
    graph: Graph,
    network: Network,
    options: Options,
    found: Plan,
    trust_below: float | None = None,
) -> Headline:
    """Compare with what you run, with a plan for each of both barriers.

    ``found`` is the plan of ``graph``, as it is without the barrier of ``options``, with these; the
    plan for the other barrier is made here. Both sides of a gain have the same barrier.

    Parameters
    ----------
    trust_below
        The gain below which nothing follows; None where nothing was measured.

    Notes
    -----
    A plan; and for each barrier a simulation for each cap of DDP, and two for each doubt and each
    of what you run.
    """
    barriers = [True] if has_barrier(graph) else [True, False]
    gains: list[Gain] = []
    for barrier in barriers:
        planned = found
        if barrier != options.barrier and len(barriers) > 1:
            other = replace(options, baselines=(), slot_us=None, barrier=barrier)
            planned = plan(graph, network, other)
        gains += _gains(planned, network, trust_below, barrier=barrier)
    return headline_of(gains)


def _gains(
    planned: Plan, network: Network, trust_below: float | None, *, barrier: bool
) -> list[Gain]:
    """Compare a plan with each of what you run, on the graph that it was made for."""
    graph = planned.graph
    ours, needs = replay(planned.launches), runtime_of(graph, barrier=barrier)
    gains = []
    for today in what_you_run(graph, network):
        theirs = today.policy(graph, network)
        time = iteration_time(graph, network, theirs)
        gains.append(
            gain_over(
                today.name,
                time,
                planned.iteration_time_us,
                planned.lower_bound_us,
                under_doubts(graph, network, _both(theirs, ours)),
                trust_below=trust_below,
                headroom_high=_headroom_high(planned, network, theirs, time),
                unreachable=needs.why_not,
                barrier=barrier,
                runtime=needs.name,
                bucket_cap_mb=today.bucket_cap_mb,
            )
        )
    return gains


def _both(theirs: Policy, ours: Policy) -> Callable[[Graph, Network], tuple[float, float]]:
    def times(graph: Graph, network: Network) -> tuple[float, float]:
        return iteration_time(graph, network, theirs), iteration_time(graph, network, ours)

    return times


def _headroom_high(planned: Plan, network: Network, today: Policy, time: float) -> float | None:
    """Return the most that any schedule saves over what you run, if that is next to nothing.

    The costs are those stated, and those of each doubt; None where under one of them more than
    :data:`NOTHING` may be saved. The bound is that of launches which slow nothing down.
    """
    most = saved(time, planned.lower_bound_us)
    if most is None or most > NOTHING:
        return None
    for doubt in DOUBTS:
        graph, other = doubted_graph(planned.graph, doubt), doubted_network(network, doubt)
        chain = chain_of(graph)
        bound = lower_bound(graph, chain, costs_of(chain, other)).value
        headroom = saved(iteration_time(graph, other, today), bound)
        if headroom is not None:
            most = max(most, headroom)
        if most > NOTHING:
            return None
    return most
