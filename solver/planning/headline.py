"""What a plan gains over what you run: under PyTorch's barrier, and without it."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from solver.bounds.bound import lower_bound
from solver.chain import chain_of
from solver.costs import Network
from solver.errors import InvalidPlan
from solver.evidence.doubts import (
    DOUBTS,
    DoubtedGain,
    doubted_graph,
    doubted_network,
    saved,
    under_doubts,
)
from solver.evidence.evidence import Evidence
from solver.evidence.gain import LEAST_GAIN, NOTHING, Gain, gain_over
from solver.evidence.headline import ComparedPlan, Headline, headline_of
from solver.evidence.what_you_run import what_you_run
from solver.graph import Graph, has_barrier
from solver.planning.options import Options
from solver.planning.plan import compare, plan
from solver.planning.result import Plan
from solver.planning.runtimes import FSDP, runtime_of
from solver.sharded.forms import fastest_form, time_of_form, ungated
from solver.simulation.engine import Policy, costs_of, iteration_time
from solver.simulation.replay import replay

#: The plan for the other barrier may look at so much of what the plan itself may.
BESIDE = 0.25


def headline(graph: Graph, network: Network, options: Options, found: Plan) -> Headline:
    """Return the headline of :func:`comparison`."""
    return comparison(graph, network, options, found).headline


def comparison(graph: Graph, network: Network, options: Options, found: Plan) -> ComparedPlan:
    """Compare with what you run, with a plan for each of both barriers.

    ``found`` is the plan of ``graph``, as it is without the barrier of ``options``, with these; the
    plan for the other barrier is made here, and may look at :data:`BESIDE` of what that one might.
    Both sides of a gain have the same barrier; what its evidence trusts decides on verdicts.

    Notes
    -----
    A plan; and for each barrier a simulation for each cap of DDP, and two for each doubt and each
    of what you run.
    """
    barriers = [True] if has_barrier(graph) else [True, False]
    gains: list[Gain] = []
    own: tuple[DoubtedGain, ...] = ()
    cut = None
    for barrier in barriers:
        planned = found
        if barrier != options.barrier and len(barriers) > 1:
            share = options.share * BESIDE
            other = replace(options, baselines=(), slot_us=None, barrier=barrier, share=share)
            planned = plan(graph, network, other)
            cut = planned.cut
        judged = _judged(planned, network, found.evidence, barrier=barrier)
        gains += [gain for gain, _ in judged]
        own = judged[0][1] if planned is found else own
    return ComparedPlan(headline_of(gains, cut), own)


class _AsRun(NamedTuple):
    """A plan as what it needs runs it.

    Attributes
    ----------
    time_us, lower_bound_us
        Simulated, and what nothing is faster than under the same rules [us].
    bounded
        The graph that the bound is of.
    simulated
        Given a graph of the same ops and a network, the time [us].
    """

    time_us: float
    lower_bound_us: float
    bounded: Graph
    simulated: Callable[[Graph, Network], float]


def _judged(
    planned: Plan, network: Network, evidence: Evidence, *, barrier: bool
) -> list[tuple[Gain, tuple[DoubtedGain, ...]]]:
    """Compare a plan with each of what you run, on its graph; with what its interval is from."""
    graph = planned.graph
    needs = runtime_of(graph, barrier=barrier)
    ours = (needs.name == FSDP and _by_fsdp(planned, network)) or _by_itself(planned)
    judged = []
    for today in what_you_run(graph, network):
        theirs = today.policy(graph, network)
        time = iteration_time(graph, network, theirs)
        doubted = under_doubts(graph, network, _both(theirs, ours))
        gain = gain_over(
            today.name,
            time,
            ours.time_us,
            ours.lower_bound_us,
            doubted,
            trust_below=evidence.trust_below,
            headroom_high=_headroom_high(graph, ours, network, theirs, time),
            unreachable=needs.why_not,
            unsound=evidence.unsound,
            barrier=barrier,
            runtime=needs.name,
            bucket_cap_mb=today.bucket_cap_mb,
        )
        judged.append((gain, doubted))
    return judged


def _by_itself(planned: Plan) -> _AsRun:
    """Return a plan as it is."""
    policy = replay(planned.launches)
    return _AsRun(
        planned.iteration_time_us,
        planned.lower_bound_us,
        planned.graph,
        lambda graph, network: iteration_time(graph, network, policy),
    )


def _by_fsdp(planned: Plan, network: Network) -> _AsRun | None:
    """Return what FSDP2 makes of a plan, the same that its export writes.

    The bound is on all that FSDP2 can be told. None where it cannot run the graph.
    """
    try:
        found = fastest_form(planned.graph, network, planned.launches)
    except InvalidPlan:
        return None
    bounded = ungated(planned.graph)
    bound, _ = compare(bounded, network, Options(baselines=()))
    return _AsRun(
        found.time_us,
        min(bound, found.time_us),
        bounded,
        lambda graph, other: time_of_form(graph, other, found.form),
    )


def _both(theirs: Policy, ours: _AsRun) -> Callable[[Graph, Network], tuple[float, float]]:
    def times(graph: Graph, network: Network) -> tuple[float, float]:
        return iteration_time(graph, network, theirs), ours.simulated(graph, network)

    return times


def _headroom_high(
    graph: Graph, ours: _AsRun, network: Network, today: Policy, time: float
) -> float | None:
    """Return the most that any schedule saves over what you run, if that is next to nothing.

    The costs are those stated, and those of each doubt; None where under one of them more than
    :data:`NOTHING` may be saved, and where ours saves enough, as no verdict on that asks for it.
    The bound is that of launches which slow nothing down.
    """
    gain, most = saved(time, ours.time_us), saved(time, ours.lower_bound_us)
    if gain is None or most is None or gain >= LEAST_GAIN or most > NOTHING:
        return None
    for doubt in DOUBTS:
        other = doubted_network(network, doubt)
        bounded = doubted_graph(ours.bounded, doubt)
        chain = chain_of(bounded)
        bound = lower_bound(bounded, chain, costs_of(chain, other)).value
        headroom = saved(iteration_time(doubted_graph(graph, doubt), other, today), bound)
        if headroom is not None:
            most = max(most, headroom)
        if most > NOTHING:
            return None
    return most
