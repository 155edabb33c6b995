"""The plan that is returned: the fewest launches within a tolerance of the best time found."""

from collections.abc import Iterator
from typing import NamedTuple

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.fusion.few_launches import with_few_launches
from solver.fusion.search import SearchOptions
from solver.graph import Graph
from solver.planning.under_contention import as_it_ran, costs_as_they_were, renumbered
from solver.simulation.contention import is_contended
from solver.simulation.engine import costs_of, iteration_time, simulate
from solver.simulation.replay import replay

#: Shares of the tolerance that are tried under contention, where a search has fixed times and only
#: the simulation tells how much of it was used.
_SHARES = (1.0, 0.5, 0.25, 0.125)

Launches = tuple[Launch, ...]


class Fewest(NamedTuple):
    """The launches of a plan, and the best time [us], which they may take a tolerance longer."""

    launches: Launches
    best_time: float


def fewest(
    graph: Graph, network: Network, best: Launches, search: SearchOptions, tolerance: float
) -> Fewest:
    """Choose a plan of few launches that takes at most a share longer than the best one.

    Parameters
    ----------
    graph, network
        What is simulated; a barrier is part of the graph.
    best
        The best plan found.
    search
        How that was searched for; its plans are begun with, too.
    tolerance
        Share of the best plan's time that the answer may take longer; 0 keeps the best plan.

    Notes
    -----
    What is chosen was simulated, slowdowns and shared cards included; of plans with as few launches
    it is the fastest, and it is ``best`` itself where none has fewer.
    """
    time = iteration_time(graph, network, replay(best))
    chosen = best
    if tolerance and len(best) > len(chain_of(graph).lanes):  # else one launch in each lane
        limit, least = time * (1 + tolerance), (len(best), 0.0)
        for plan in _found(graph, network, best, search, tolerance):
            if len(plan) <= least[0]:
                value = iteration_time(graph, network, replay(plan))
                if value <= limit and (len(plan), value) < least:
                    chosen, least = plan, (len(plan), value)
    return Fewest(chosen, time)


def _found(
    graph: Graph, network: Network, best: Launches, search: SearchOptions, tolerance: float
) -> Iterator[Launches]:
    """Yield plans of few launches, by what the best plan takes."""
    chain, plans, how = chain_of(graph), (best, *search.plans), (search.seed, search.effort)
    if not is_contended(graph, network):
        costs = costs_of(chain, network)
        yield with_few_launches(graph, chain, costs, plans, tolerance, *how)
        return
    yield from search.plans
    timeline = simulate(graph, network, replay(best))
    ran = as_it_ran(graph, timeline)
    other = chain_of(ran)
    costs = costs_as_they_were(graph, network, timeline)
    known = [renumbered(best, chain, other)]
    for share in _SHARES:
        found = with_few_launches(ran, other, costs, known, share * tolerance, *how)
        yield renumbered(found, other, chain)
