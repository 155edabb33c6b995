"""Joint fusion: buckets, parts and order chosen together against the real cost."""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf

import numpy as np

from solver.buckets import Launch, Launches, contiguous
from solver.chain import Chain
from solver.costs import Affine, Cost, alike
from solver.fusion.chain.exhaust import MAX_TENSORS, best_of_all
from solver.fusion.chain.fewest import has_equal_tails, with_fewest_launches
from solver.fusion.chain.fifo import chain_cuts, fewest_cuts
from solver.fusion.chain.improve import improve
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.maxmin import max_min_below
from solver.fusion.chain.nested import from_both_ends
from solver.fusion.chain.two_sided.search import MOST_EFFORT, MinorantSearch, bound_and_plan
from solver.fusion.search import Allowance, Budget, Candidate, Order, Reporter, SearchOptions
from solver.fusion.ties import ceiling, fewest
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.limits import MAX_SEARCHED_LAUNCHES
from solver.schedule.execute import cut_at_releases
from solver.simulation.engine import launches_under
from solver.simulation.rules import slice_count
from solver.units import same

#: Plans looked at by the local search, and launches over all of them; the smaller limit counts.
_MOVES, _LAUNCHES = 2_000, 600_000
#: Takes the time to beat [us], and returns plans, and a bound or 0.
_Source = Callable[[float], MinorantSearch]


#: Plans looked at by the search over all plans of a few tensors.
_PLANS = 60_000


#: Steps of an allowance: of a plan of the local search, some and for each tensor; of one of the
#: search over all plans; for each op and launch of a policy; of the labels from the core outwards.
_MOVE, _MOVE_EACH, _PLAN, _SIMULATED, _LABELLED = 400, 5, 300, 100, 1_000_000


#: How often at most the best plan is improved, and asked what labels come to that beat it; how much
#: that multiplies the labels.
_ROUNDS, _SHARP = 4, 2


#: Share of what is left that PACE's fusion may take: it looks at as many cuts as there are tensors.
_MAX_MIN = 0.4


def joint(chain: Chain, cost: Cost, order: Order, search: SearchOptions) -> Launches:
    """Return a plan that no candidate beats, with start-up paid by every part.

    ``order`` is not used: the order is part of what is searched.

    First the search's own plans and the best launches in release order, then the recursion from
    both ends (:mod:`solver.fusion.chain.nested`), which knows the form of the best plans of a layer
    chain; on other graphs also with the tensors in the order of their tails. Then the labels from
    the core outwards (:mod:`solver.fusion.chain.two_sided.search`), whose bound ends the search
    where it proves the best plan so far, or their own, optimal. Then every candidate,
    unless it needs so many launches that it cannot win, or more than
    :data:`solver.limits.MAX_SEARCHED_LAUNCHES`. The best is improved by local search, for up to
    seven tensors by looking at all plans; then more labels are made against its time, and while one
    of them leads to a better plan, that is improved in its turn. Of plans that take the same time
    the one with the fewest launches is kept; parts, and buckets sent one after the other, that gain
    nothing by being apart are joined. A plan that reaches the lower bound ends the search.

    Notes
    -----
    The same seed and effort give the same plan, unless the watchdog cuts the search short.
    """
    judge = ChainJudge(chain, cost)
    offers = _Offers(judge, search.report)
    for plan in (*search.plans, _in_release_order(chain, cost)):
        offers.add(plan)
    bound = search.bound
    for source in _sources(chain, cost, search):
        if same(offers.least, bound) or search.allowance.is_spent():
            break
        bound = max(bound, offers.add_all(source(offers.least)))
    offers.add(judge.alone())  # the allowance may have been too small
    bound = _improve(chain, cost, judge, offers, search, bound)
    limit = ceiling(offers.least, bound)
    return with_fewest_launches(offers.best(bound), chain, judge, limit, search.allowance)


class _Offers:
    """Plans, and how long each takes [us]; what is better than all before is reported."""

    def __init__(self, judge: ChainJudge, report: Reporter) -> None:
        self._judge = judge
        self._report = report
        self._values: dict[Launches, float] = {}
        self.least = inf

    def add(self, plan: Launches) -> None:
        value = self._judge.value(plan)
        if value < self.least:
            self.least = value
            self._report(plan, value)
        self._values.setdefault(plan, value)

    def add_all(self, outcome: MinorantSearch) -> float:
        """Add the plans of a search, and return its bound [us]."""
        for plan in outcome.plans:
            self.add(plan)
        return outcome.bound

    def best(self, bound: float) -> Launches:
        """Return the plan with the fewest launches of those that count as the best."""
        return fewest(self._values, bound, tuple)


def _improve(
    chain: Chain,
    cost: Cost,
    judge: ChainJudge,
    offers: _Offers,
    search: SearchOptions,
    bound: float,
) -> float:
    """Offer what local search makes of the best plan, and what labels come to that beat that."""
    for _ in range(_ROUNDS):
        if same(offers.least, bound):
            break
        offers.add(_search(chain, cost, judge, offers.best(bound), search))
        least = offers.least
        if same(least, bound) or search.allowance.is_spent():
            break
        bound = max(bound, offers.add_all(_labelled(chain, cost, search, _SHARP, least)))
        if same(offers.least, least):
            break
    return bound


def _moves(plan: Launches, search: SearchOptions) -> int:
    return min(_MOVES, _LAUNCHES // len(plan)) * search.effort


def _search(
    chain: Chain,
    cost: Cost,
    judge: ChainJudge,
    best: Launches,
    search: SearchOptions,
) -> Launches:
    steps = _MOVE + _MOVE_EACH * len(chain)
    budget = Budget(_moves(best, search), search.allowance, steps)
    best = improve(best, judge, budget, search.seed, search.report)
    if len(chain) <= MAX_TENSORS:
        budget = Budget(_PLANS * search.effort, search.allowance, _PLAN)
        best = best_of_all(chain, cost, best, budget, search.report)
    return best


def _sources(chain: Chain, cost: Cost, search: SearchOptions) -> Iterator[_Source]:
    """Yield where plans come from, the most promising first."""
    allowance = search.allowance
    how = search.effort, allowance, search.bound
    yield lambda _: _found(from_both_ends(chain, cost, *how))
    if np.any(np.diff(chain.tail) < 0):
        yield lambda _: _found(_by_tail(chain, cost, *how))
    yield partial(_labelled, chain, cost, search, 1)
    graph = _star(chain)
    for candidate in search.candidates:
        allowance.spend(_SIMULATED * len(graph.ops))
        yield partial(_simulated, chain, cost, graph, candidate)
    yield lambda to_beat: _found(_max_min(chain, cost, allowance.part(_MAX_MIN), to_beat))


def _labelled(
    chain: Chain, cost: Cost, search: SearchOptions, factor: int, to_beat: float
) -> MinorantSearch:
    """Bound and plan by the labels from the core outwards."""
    effort = min(factor * search.effort, MOST_EFFORT)
    search.allowance.spend(_LABELLED * effort**2)
    return bound_and_plan(chain, cost, to_beat, effort)


def _found(plan: Launches | None) -> MinorantSearch:
    return MinorantSearch(0.0, (plan,) if plan else ())


def _simulated(
    chain: Chain, cost: Cost, graph: Graph, candidate: Candidate, to_beat: float
) -> MinorantSearch:
    """Return a policy's plan, unless its slices are too many to beat a time [us]."""
    size = candidate.slice_bytes
    count = slice_count(chain, size) if size else 1
    total = int(chain.bytes.sum())
    busy = max(count * a + c * total for a, c in cost.minorants(total))
    free = float(chain.release.min() + chain.tail.min())
    if count > MAX_SEARCHED_LAUNCHES or free + busy >= to_beat:
        return _found(None)
    return _found(launches_under(graph, alike(cost), candidate.policy))


def _max_min(chain: Chain, cost: Cost, allowance: Allowance, to_beat: float) -> Launches | None:
    """Return PACE's plan when it beats a time [us]."""
    return max_min_below(chain, cost, partial(cut_at_releases, cost=cost), to_beat, allowance)


def _in_release_order(chain: Chain, cost: Cost) -> Launches:
    """Send contiguous buckets first in, first out: the optimum with a barrier and affine cost."""
    cuts = None
    if has_equal_tails(chain) and not isinstance(cost, Affine):
        cuts = fewest_cuts(chain.release, chain.bytes, cost)
    if cuts is None:
        line = cost.minorants(int(chain.bytes.sum()))[0]
        cuts = chain_cuts(chain.release, chain.bytes, *line)
    buckets = contiguous(chain, cuts)
    return tuple(map(Launch, buckets.members, buckets.bytes.tolist()))


def _by_tail(
    chain: Chain, cost: Cost, effort: int, allowance: Allowance, bound: float
) -> Launches | None:
    """Run the recursion with the tensors in the order of their tails, releases raised."""
    order = np.lexsort((chain.release, chain.tail))
    turned = Chain(
        chain.positions[order],
        np.maximum.accumulate(chain.release[order]),
        chain.tail[order],
        chain.bytes[order],
        chain.compute_time,
        chain.lanes,
    )
    names = order.tolist()
    plan = from_both_ends(turned, cost, effort, allowance, bound)
    return plan and tuple(Launch(tuple(sorted(names[i] for i in b)), n) for b, n in plan)


def _star(chain: Chain) -> Graph:
    """Build the least graph with these releases and tails: compute, tensor, compute, for each."""
    ops: list[Op] = []
    gradient = Op("", ALL_REDUCE, element_bytes=chain.element_bytes(0))
    for i in range(len(chain)):
        ops += [
            Op(f"r{i}", COMPUTE, float(chain.release[i])),
            gradient._replace(id=f"g{i}", bytes=int(chain.bytes[i]), after=(f"r{i}",)),
            Op(f"q{i}", COMPUTE, float(chain.tail[i]), None, (f"g{i}",)),
        ]
    return build("star", ops)
