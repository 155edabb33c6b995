"""Prove a plan, or find a better one: take plans apart, or try every beginning of one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from solver.bounds.bound import sharpened
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import NESTED
from solver.bounds.tried import tried, tried_longer
from solver.bounds.windows.tightened import tightened
from solver.buckets import Launches
from solver.chain import Chain, by_channel, chain_of, subchain
from solver.costs import Cost, Network
from solver.fusion import layered
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.two_sided.branches import Branching
from solver.fusion.chain.two_sided.search import bound_and_plan
from solver.fusion.search import Reporter
from solver.graph import Graph
from solver.limits import MAX_JOINT_CHANNELS
from solver.simulation.contention import is_contended
from solver.simulation.engine import costs_of, iteration_time
from solver.simulation.replay import replay
from solver.units import same, slack

#: Labels compared where nothing more is asked for, and for each second that is.
_LOOKS, _LOOKS_A_SECOND = 80_000_000, 100_000_000
#: Beginnings that are tried for each second that is asked for (:mod:`solver.bounds.tried`).
_BEGINNINGS_A_SECOND = 300_000


class ProofOptions(NamedTuple):
    """How long to prove, who is told of a better plan or a higher bound, and when to stop.

    ``may_replace`` tells whether a better plan is the answer.
    """

    prove_s: float
    share: float
    offer: Reporter
    raise_bound: Callable[[LowerBound], None]
    is_over: Callable[[], bool]
    may_replace: bool = True

    @property
    def beginnings(self) -> int:
        """How many more beginnings are tried than by default."""
        return round(_BEGINNINGS_A_SECOND * self.prove_s)

    @property
    def looks(self) -> int:
        """How many labels are compared: as many on every machine."""
        return round(_LOOKS * self.share + _LOOKS_A_SECOND * self.prove_s)


def proven(
    chain: Chain,
    costs: Sequence[Cost],
    launches: Launches,
    bound: LowerBound,
    options: ProofOptions | None,
) -> tuple[Launches, LowerBound]:
    """Raise the bound of a plan, and return the best launches that come of it.

    First by what only the plan's time rules out (:func:`solver.bounds.bound.sharpened`), then, with
    ``options``, by branch and bound of each channel that decides the time; where more is asked for,
    by all plans of a few tensors.

    Parameters
    ----------
    chain, costs
        A layered chain, and the cost of each channel.
    launches, bound
        A plan, and what no plan is known to be below.
    options
        How long; None keeps the launches.

    Returns
    -------
    tuple of Launch
        The launches, or better ones of the channels that decide the time.
    LowerBound
        The bound, or a higher one.
    """
    time = layered.value(launches, chain, costs)
    if not same(time, bound.value):
        bound = sharpened(chain, costs, bound, time)
    if options is None:
        return launches, bound
    for tensors, cost in zip(by_channel(chain), costs, strict=True):
        some = subchain(chain, tensors)
        judge = ChainJudge(some, cost)
        own = layered.launches_on(launches, tensors)
        value = judge.value(own)
        if value <= bound.value or same(value, bound.value):
            continue
        branching = Branching(options.looks, options.is_over, _raiser(bound, tensors, options))
        outcome = bound_and_plan(some, cost, value, branching=branching)
        own = min((own, *outcome.plans), key=judge.value)
        launches = layered.instead_on(launches, tensors, own)
        time = layered.value(launches, chain, costs)
        bound = _higher(bound, min(outcome.bound, time), tensors)
        value = judge.value(own)
        if options.prove_s and value > bound.value:
            looks, is_over = options.beginnings, options.is_over
            last = tried(some, [cost], bound, value, more_looks=looks, is_over=is_over)
            members = tuple(tensors[i] for i in last.members)
            bound = bound if last is bound else replace(last, members=members)
        options.offer(launches, time)
        options.raise_bound(bound)
    return launches, bound


def proven_of_graph(
    graph: Graph,
    network: Network,
    launches: Launches,
    bound: LowerBound,
    options: ProofOptions,
) -> tuple[Launches, LowerBound]:
    """Raise the bound of a plan of any graph, and return the best launches that come of it.

    Times below the plan's are ruled out by windows and by beginnings of launches; where more is
    asked for, by more of them. Launches that come to an end by the plan's time are simulated, and
    are the plan where they take less.

    Parameters
    ----------
    graph, network
        What is planned; under contention no beginnings are tried.
    launches, bound
        A plan, and what no plan is known to be below.
    options
        How long.

    Returns
    -------
    tuple of Launch
        The launches, or better ones.
    LowerBound
        The bound, or a higher one.
    """
    chain, known = chain_of(graph), bound
    costs = costs_of(chain, network)
    time = iteration_time(graph, network, replay(launches))
    if len(chain.channels) <= MAX_JOINT_CHANNELS:
        bound = tightened(graph, chain, costs, bound, time)
    is_tried = not is_contended(graph, network)  # else this time is above what is tried
    if is_tried:
        bound = tried(chain, costs, bound, time, graph, is_over=options.is_over)
    if bound is not known:
        options.raise_bound(bound)
    looks = options.beginnings if is_tried else 0
    while looks:
        bound, ended, looks = tried_longer(
            chain, costs, bound, time, graph, looks, options.is_over, options.raise_bound
        )
        value = iteration_time(graph, network, replay(ended)) if ended else time
        if value + slack(time) >= time or not options.may_replace:
            break
        launches, time = ended, value
        options.offer(launches, time)
    return launches, bound


def _higher(bound: LowerBound, value: float, tensors: Sequence[int]) -> LowerBound:
    """Return a bound on the plans of some tensors [us] where it is above a known one."""
    if value <= bound.value or same(value, bound.value):
        return bound
    return LowerBound(value, NESTED, tuple(tensors))


def _raiser(
    bound: LowerBound, tensors: Sequence[int], options: ProofOptions
) -> Callable[[float], None]:
    """Return what is called with each higher bound on the plans of some tensors [us]."""
    known = bound

    def raise_bound(value: float) -> None:
        nonlocal known
        higher = _higher(known, value, tensors)
        if higher is not known:
            known = higher
            options.raise_bound(higher)

    return raise_bound
