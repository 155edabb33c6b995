"""Whether a few collectives can be sent in less than a time, by trying every beginning.

Suppose a plan takes T or less, at affine costs a + c n: each bucket starts when its members are
released and ends its tail before T, or earlier. A beginning is the collectives that are sent, the
buckets that are begun, when each channel is free, and *credits*. The next launch is

- a bucket of collectives not yet sent, whole;
- the first part of such a bucket: it pays a, and has no bytes so far;
- the last part of a bucket begun: it pays a and the bucket's work, less what credit has of it.

While a bucket is begun the time for which its channel waits is credit: bytes of a begun bucket
might have gone there, at no further start-up and in no whole elements. That can only favour the
plan, so where no beginning comes to an end, no plan with any buckets, parts and order takes T
(MODEL.md section 5).
"""

from collections.abc import Callable, Sequence
from math import inf

from solver.bounds.beginnings.follow import Beginnings
from solver.bounds.beginnings.launched import launches_of
from solver.bounds.beginnings.states import MOST_COLLECTIVES, CollectiveWork
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import TRIED
from solver.buckets import Launches
from solver.chain import Chain
from solver.costs import Affine, Cost
from solver.graph import Graph
from solver.units import same, slack

#: How many beginnings are looked at.
_LOOKS = 200_000
#: How many are in all below the time to beat, a quarter of what is left at each time and no fewer
#: than a few, until a time that is ruled out is this near to one that is not, relatively.
_LOOKS_BELOW, _FEW, _GRAIN = 100_000, 4_000, 1e-4
#: Share of more looks with which the time of a plan is tried first.
_FIRST = 1 / 16


def tried(
    chain: Chain,
    costs: Sequence[Cost],
    best: LowerBound,
    to_beat: float,
    graph: Graph | None = None,
    more_looks: int = 0,
    is_over: Callable[[], bool] = lambda: False,
) -> LowerBound:
    """Raise a bound by all times [us] at which no beginning of launches comes to an end.

    Up to that of a plan, where nothing shorter is left. Only of as many collectives as a mask
    holds, at affine costs, and as far as there are not too many beginnings. :func:`tried_longer`
    goes on.

    Parameters
    ----------
    chain, costs
        The collectives, and the cost of each lane.
    best, to_beat
        The known bound, and the time [us] of a plan.
    graph
        What the chain is of; None where no collective precedes another.
    more_looks, is_over
        How many more beginnings are looked at, and whether to stop before.
    """
    if why_not(chain, costs) or same(best.value, to_beat):
        return best
    these = _collectives(chain, costs, graph)
    if not Beginnings(these, _below(to_beat), _LOOKS + more_looks, is_over).some_end():
        return LowerBound(to_beat, TRIED, tuple(range(len(chain))))
    return _raised(these, best, to_beat, _LOOKS_BELOW, is_over)


def tried_longer(
    chain: Chain,
    costs: Sequence[Cost],
    best: LowerBound,
    to_beat: float,
    graph: Graph,
    looks: int,
    is_over: Callable[[], bool],
    raise_bound: Callable[[LowerBound], None],
) -> tuple[LowerBound, Launches, int]:
    """Raise a bound as :func:`tried` does, by so many looks.

    First the plan's time by a few of the looks, then times below it, each of which raises the
    bound, then the plan's time by all the others.

    Parameters
    ----------
    chain, costs, best, to_beat, graph, looks, is_over
        As of :func:`tried`.
    raise_bound
        Called with each higher bound.

    Returns
    -------
    LowerBound
        The bound, or a higher one.
    tuple of Launch
        Those of a beginning that came to an end by the plan's time. Its credits may be more than a
        plan has, so they may take longer. None where no beginning did, or nothing is tried.
    int
        How many looks are left.
    """
    if why_not(chain, costs) or same(best.value, to_beat):
        return best, (), 0
    these = _collectives(chain, costs, graph)
    for share in (_FIRST, 1.0):
        search = Beginnings(these, _below(to_beat), round(share * looks), is_over)
        ends = search.some_end()
        looks -= round(share * looks) - max(0, search.looks)
        if not ends:
            bound = LowerBound(to_beat, TRIED, tuple(range(len(chain))))
            raise_bound(bound)
            return bound, (), looks
        is_end = search.looks >= 0
        if is_end or share < 1:
            best = _raised(these, best, to_beat, looks // 2, is_over, raise_bound)
            looks -= looks // 2
        if is_end:
            return best, launches_of(search, chain, _lines(costs)), looks
    return best, (), 0


def why_not(chain: Chain, costs: Sequence[Cost]) -> str | None:
    """Say why beginnings of these collectives are not tried; None where they are."""
    if len(_lines(costs)) < len(costs):
        return "costs of launches are no straight line of their bytes"
    if len(chain) > (most := MOST_COLLECTIVES):
        return f"there are {len(chain):,} collectives, and of {most} at most they are tried"
    return None


def why_not_anew(
    chain: Chain, costs: Sequence[Cost], graph: Graph | None, time: float, most: int
) -> str | None:
    """Say why beginnings do not rule out a time [us] within so many looks; None where they do.

    A look is at a beginning, or at a bucket that may be next.
    """
    if why := why_not(chain, costs):
        return why
    search = Beginnings(_collectives(chain, costs, graph), time, most, lambda: False)
    all_buckets = search.buckets
    ends = search.some_end()
    if search.looks < 0 or most - search.looks + all_buckets - search.buckets > most:
        return f"more than {most:,} beginnings of launches would have to be tried"
    return "some beginning of launches comes to an end by then" if ends else None


def _lines(costs: Sequence[Cost]) -> list[Affine]:
    return [cost for cost in costs if isinstance(cost, Affine)]


def _below(time: float) -> float:
    """Return what a shorter plan than one of this time takes at most [us]."""
    return time - slack(time) / 2


def _raised(
    these: CollectiveWork,
    best: LowerBound,
    to_beat: float,
    looks: int,
    is_over: Callable[[], bool],
    raise_bound: Callable[[LowerBound], None] = lambda _: None,
) -> LowerBound:
    """Raise a bound by times below that of a plan [us], in bisection."""
    high = to_beat
    while high - best.value > _GRAIN * high and looks > _FEW and not is_over():
        middle = (best.value + high) / 2
        search = Beginnings(these, middle, looks // 4, is_over)
        if search.some_end():
            high = middle
        else:
            best = LowerBound(middle, TRIED, tuple(range(len(these.work))))
            raise_bound(best)
        looks -= looks // 4 - max(0, search.looks)
    return best


def _collectives(chain: Chain, costs: Sequence[Cost], graph: Graph | None) -> CollectiveWork:
    """Collect what the beginnings of a chain's collectives depend on, at affine costs."""
    lines = _lines(costs)
    release, tail = chain.release.tolist(), chain.tail.tolist()
    between = [[-inf] * len(chain) for _ in release]
    if graph is not None:
        positions = chain.positions.tolist()
        starts = _paths(graph, [0.0] * len(graph.ops), set(positions))
        release = [starts[position] for position in positions]
        for i, position in enumerate(positions):
            begins = [-inf] * len(graph.ops)
            for follower in graph.succs[position]:
                begins[follower] = 0.0
            starts = _paths(graph, begins, set(positions))
            between[i] = [starts[other] for other in positions]
            tail[i] = max(0.0, *map(float.__add__, starts, graph.durations))
    sizes = zip(chain.lane, chain.bytes.tolist(), strict=True)
    return CollectiveWork(
        release,
        tail,
        between,
        [lines[lane].startup for lane in chain.lane],
        [lines[lane].per_byte * size for lane, size in sizes],
        list(chain.channel),
        list(chain.lane),
    )


def _paths(graph: Graph, begins: Sequence[float], positions: set[int]) -> list[float]:
    """Longest path into each op [us] from where some begin, none through a collective."""
    starts = list(begins)
    for op in graph.order:
        if op not in positions:
            end = starts[op] + graph.durations[op]
            for follower in graph.succs[op]:
                starts[follower] = max(starts[follower], end)
    return starts
