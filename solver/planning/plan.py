"""From a graph and a network to a plan with its evidence: the table of contents of the solver."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from solver.bounds.bound import lower_bound
from solver.bounds.chain import LowerBound
from solver.bounds.shared import with_cards
from solver.bounds.slowed import with_slowdown
from solver.bounds.status import FEASIBLE
from solver.buckets import Launch
from solver.chain import Chain, by_channel, chain_of, lane_bytes, without_keys
from solver.costs import Cluster, Cost, Network, as_network
from solver.evidence.belief import believed_graph, believed_network, decided
from solver.fusion import layered
from solver.fusion.general.search import decide
from solver.fusion.search import STEPS, Allowance, Candidate, SearchOptions, unreported
from solver.graph import Graph, with_barrier
from solver.planning.certify import PolicyRun, plan_of
from solver.planning.fewest import fewest
from solver.planning.ideal import ideal_of
from solver.planning.options import Options, check_options
from solver.planning.progress import BOUND, POLICIES, SEARCH, SILENT, SLOTS, Incumbent, PlanProgress
from solver.planning.prove import ProofOptions, proven, proven_of_graph
from solver.planning.result import Plan
from solver.planning.robust import most_robust
from solver.planning.under_contention import as_it_ran, costs_as_they_were, renumbered
from solver.policies import pace
from solver.policies.choice import Choice, applies, candidates
from solver.simulation.contention import is_contended, without_slowdowns
from solver.simulation.engine import Policy, costs_of, iteration_time, simulate
from solver.simulation.replay import replay
from solver.units import same, slack
from solver.watchdog import Watchdog

#: A layered chain is searched as a general graph too where other launches save more than this
#: share of a launch's time. Below it that gained at most 0.05 %, for six times the time.
_ODD = 0.05

#: How often at most ``joint`` searches again under contention: the third time gained 0.2 % at most.
_ROUNDS = 3

#: Share of what a search may look at that each plan for costs that are off has, on the way to a
#: robust one.
_DOUBTED = 0.25


def plan(
    graph: Graph,
    network: Network | Cluster,
    options: Options = Options(),
    progress: PlanProgress = SILENT,
) -> Plan:
    """Fuse, schedule, simulate, bound and compare.

    A graph that :func:`solver.simulation.what_if.changed` left without collectives takes its
    compute time. ``progress`` is kept, and changes nothing of it.

    Raises
    ------
    InvalidCluster
        When a cluster is out of range, or has no cost for what the graph sends.
    InvalidOptions
        When a name is unknown, a policy's parameter is out of range or makes too many launches,
        ``slot_us`` needs too many slots, or an option is for layered chains and this is none.
    """
    network = as_network(network)
    stated = with_barrier(graph) if options.barrier and graph.collectives else graph
    check_options(options, chain_of(stated), stated, network)
    if options.believed is not None:
        return _as_believed(stated, network, options, progress)
    if options.robust is not None:
        return _robust(stated, network, options, progress)
    return _planned(stated, network, options, progress)


def _as_believed(graph: Graph, network: Network, options: Options, progress: PlanProgress) -> Plan:
    """Decide with the costs that are believed, execute with the true ones."""
    assert options.believed is not None, "a belief"
    other = believed_graph(options.believed, graph)
    alone = replace(options, believed=None, baselines=(), slot_us=None, barrier=False)
    best = plan(other, believed_network(options.believed, network), alone)
    launches = renumbered(best.launches, chain_of(other), chain_of(graph))
    found = _planned(graph, network, options, progress, launches)
    return replace(_ended(found, best.cut), robust=best.robust)


def _robust(graph: Graph, network: Network, options: Options, progress: PlanProgress) -> Plan:
    """Plan for the stated costs, and choose by the times over draws of them."""
    assert options.robust is not None, "how to choose"
    nominal = _planned(graph, network, options, progress)
    share = options.share * _DOUBTED
    alone = replace(options, baselines=(), slot_us=None, share=share, prove_s=0.0)

    def planned(other: Graph, costs: Network) -> Sequence[Launch]:
        return _planned(other, costs, alone, SILENT).launches

    launches, robustness = most_robust(
        graph, network, nominal.launches, _rivals(graph), planned, options.robust
    )
    found = nominal
    if launches != nominal.launches:
        found = _planned(graph, network, options, SILENT, launches)
    return replace(_ended(found, nominal.cut), robust=robustness)


def _planned(
    graph: Graph,
    network: Network,
    options: Options,
    progress: PlanProgress,
    chosen: tuple[Launch, ...] | None = None,
) -> Plan:
    """Plan a graph, its barrier included; ``chosen`` launches are not searched for."""
    chain = chain_of(graph)
    incumbent = Incumbent(graph, network, options.fusion, progress)
    baselines = _baselines(graph, network, options, incumbent, progress)
    progress.phase(BOUND)
    costs = costs_of(chain, network)
    alone = lower_bound(graph, chain, costs)
    bound = _with_contention(alone, graph, network)
    incumbent.raise_bound(bound)
    if not graph.collectives:
        return plan_of(graph, network, (), bound, baselines)
    progress.phase(SEARCH)
    watchdog = Watchdog(options.time_limit_s + 2 * options.prove_s)
    allowance = Allowance(STEPS * options.effort * options.share, watchdog)
    contended = is_contended(graph, network)
    is_repeated = contended and options.fusion == "joint"
    search = SearchOptions(
        options.seed,
        options.effort,
        allowance.part(1 / (1 + _ROUNDS)) if is_repeated else allowance,
        alone.value,  # the search knows no contention
        tuple(policy.launches for policy in baselines if policy.launches),
        candidates(),
        incumbent.offer_searched,
    )
    incumbent.offer_policies(search.candidates)
    launches = chosen
    if launches is None:
        launches = _decide(without_slowdowns(graph), chain, costs, options, search)
        launches = incumbent.best_of(launches)
    if is_repeated and chosen is None:
        next_search = replace(search, allowance=allowance)
        launches = _decide_again(graph, network, options, next_search, incumbent, launches)
    is_thinned = options.fusion == "joint" and chosen is None
    tolerance = options.launch_tolerance if is_thinned else 0.0
    proof = ProofOptions(
        options.prove_s,
        options.share,
        incumbent.offer_searched,
        incumbent.raise_bound,
        watchdog.is_over,
        may_replace=is_thinned,
    )
    if not chain.is_layered:
        launches, bound = proven_of_graph(graph, network, launches, bound, proof)
    if not chain.is_layered or contended:  # releases depend on the schedule
        few = fewest(graph, network, launches, search, tolerance)
        found = plan_of(graph, network, few.launches, bound, baselines, None, few.best_time)
        return _ended(found, watchdog.cut)
    launches, bound = proven(chain, costs, launches, bound, proof if is_thinned else None)
    incumbent.raise_bound(bound)
    progress.phase(SLOTS)
    few = fewest(graph, network, launches, search, tolerance)
    ideal = ideal_of(chain, costs, few.launches, options.schedule, options.slot_us)
    found = plan_of(graph, network, few.launches, bound, baselines, ideal, few.best_time)
    return _ended(found, watchdog.cut)


def _ended(found: Plan, cut: str | None) -> Plan:
    """Say in a plan what ended its search; what is proven needs no more of it."""
    if cut is None or found.status != FEASIBLE:
        return found
    return replace(found, evidence=replace(found.evidence, cut=cut))


def compare(
    graph: Graph, network: Network, options: Options
) -> tuple[float, tuple[float | None, ...]]:
    """Bound all plans and simulate the baselines, without a plan.

    Returns
    -------
    float
        Lower bound [us], without what only a plan's time rules out.
    tuple of float or None
        Iteration time of each baseline [us]; None where PACE is not defined.

    Raises
    ------
    InvalidOptions
        As :func:`plan` does.
    """
    if options.barrier and graph.collectives:
        graph = with_barrier(graph)
    chain = chain_of(graph)
    check_options(options, chain, graph, network)
    prepared = (_prepared(graph, network, choice, options) for choice in options.baselines)
    times = tuple(policy and iteration_time(ran, network, policy) for ran, _, policy in prepared)
    costs = costs_of(chain, network)
    alone = lower_bound(graph, chain, costs)
    bound = _with_contention(alone, graph, network).value
    least = min((time for time in times if time is not None), default=bound)
    return min(bound, least) if same(bound, least) else bound, times


def _with_contention(alone: LowerBound, graph: Graph, network: Network) -> LowerBound:
    """Raise a bound that knows no contention."""
    return with_cards(with_slowdown(alone, graph, network), graph, network)


def _decide(
    graph: Graph, chain: Chain, costs: Sequence[Cost], options: Options, search: SearchOptions
) -> tuple[Launch, ...]:
    """Choose buckets and launches."""
    fuse = options.fusion != "none"
    if not chain.is_layered and not (fuse and chain.is_separable):
        return decide(graph, chain, costs, search, fuse=fuse)
    if not chain.is_layered:
        plans = (*search.plans, _as_if_without_keys(chain, costs, search))
        launches = decide(graph, chain, costs, replace(search, plans=plans))
        return layered.with_fewest(launches, chain, costs, search.bound)
    how = (options.fusion, options.schedule, options.slot_us)
    launches = layered.decide(chain, costs, *how, search)
    if options.fusion == "joint" and (
        _are_odd(chain, costs) or _is_open(chain, costs, launches, search)
    ):
        launches = decide(graph, chain, costs, replace(search, plans=(*search.plans, launches)))
        launches = layered.with_fewest(launches, chain, costs, search.bound)
    return launches


def _as_if_without_keys(
    chain: Chain, costs: Sequence[Cost], search: SearchOptions
) -> tuple[Launch, ...]:
    """Plan each channel as if all its tensors might be fused, and part what may not be."""
    free = without_keys(chain)
    shared = [costs[chain.lane[free.lane.index(k)]] for k in range(len(free.lanes))]
    search = replace(search, plans=(), report=unreported)
    launches = layered.decide(free, shared, "joint", "jackson", None, search)
    return layered.by_lane(launches, chain)


def _decide_again(
    graph: Graph,
    network: Network,
    options: Options,
    search: SearchOptions,
    incumbent: Incumbent,
    launches: tuple[Launch, ...],
) -> tuple[Launch, ...]:
    """Search with ops and launches as long as they took in the best plan, while that helps."""
    chain, time = chain_of(graph), inf
    for done in range(_ROUNDS):
        timeline = simulate(graph, network, replay(launches))
        if timeline.iteration_time + slack(timeline.iteration_time) >= time:
            break
        time = timeline.iteration_time
        ran = as_it_ran(graph, timeline)
        other = chain_of(ran)
        costs = costs_as_they_were(graph, network, timeline)

        def report(found: Sequence[Launch], value: float, other: Chain = other) -> None:
            incumbent.offer_searched(renumbered(found, other, chain), value)

        next_search = replace(
            search,
            bound=lower_bound(ran, other, costs).value,
            plans=tuple(renumbered(each, chain, other) for each in (launches, *search.plans)),
            report=report,
            allowance=search.allowance.part(1 / (_ROUNDS - done)),
        )
        found = _decide(ran, other, costs, options, next_search)
        launches = incumbent.best_of(renumbered(found, other, chain))
    return launches


def _is_open(
    chain: Chain, costs: Sequence[Cost], launches: Sequence[Launch], search: SearchOptions
) -> bool:
    """Tell whether a plan of no layer chain is above the bound: tails do not ascend in it."""
    if all(np.all(np.diff(chain.tail[list(some)]) >= 0) for some in by_channel(chain)):
        return False
    return not same(layered.value(tuple(launches), chain, costs), search.bound)


def _are_odd(chain: Chain, costs: Sequence[Cost]) -> bool:
    """Tell whether some cost rewards what no affine cost does, such as many small launches."""
    totals = lane_bytes(chain)
    return any(cost.oddness(total) > _ODD for cost, total in zip(costs, totals, strict=True))


def _rivals(graph: Graph) -> tuple[Candidate, ...]:
    """Return every policy with its defaults that is defined for a graph."""
    return (
        *candidates(),
        *([Candidate("pace", pace)] if applies(Choice("pace"), chain_of(graph)) else []),
    )


def _baselines(
    graph: Graph, network: Network, options: Options, incumbent: Incumbent, progress: PlanProgress
) -> list[PolicyRun]:
    """Simulate the baselines."""
    progress.phase(POLICIES, 0, len(options.baselines))
    incumbent.offer_fifo()
    baselines = []
    for choice in options.baselines:
        baselines.append(_baseline(graph, network, choice, options))
        incumbent.offer_baseline(baselines[-1])
        progress.phase(POLICIES, len(baselines), len(options.baselines))
    return baselines


def _baseline(graph: Graph, network: Network, choice: Choice, options: Options) -> PolicyRun:
    """Simulate a policy."""
    ran, choice, policy = _prepared(graph, network, choice, options)
    if policy is None:
        return PolicyRun(choice, None, ())
    timeline = simulate(ran, network, policy)
    return PolicyRun(choice, timeline.iteration_time, timeline.plan)


def _prepared(
    graph: Graph, network: Network, choice: Choice, options: Options
) -> tuple[Graph, Choice, Policy | None]:
    """Return what a policy runs on, its choice as it is used, and the policy; None: not defined."""
    if choice.barrier and not options.barrier:
        graph = with_barrier(graph)
    choice = replace(choice, barrier=choice.barrier or options.barrier)
    if not applies(choice, chain_of(graph)):
        return graph, choice, None
    return graph, *decided(choice, graph, network, options.believed)
