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
from solver.bounds.beginnings.states import CollectiveWork
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import TRIED
from solver.chain import Chain
from solver.costs import Affine, Cost
from solver.graph import Graph
from solver.units import same, slack

#: Most collectives, and how many beginnings are looked at.
MAX_COLLECTIVES, _LOOKS = 20, 200_000
#: How many are in all below the time to beat, a quarter of what is left at each time and no fewer
#: than a few, until a time that is ruled out is this near to one that is not, relatively.
_LOOKS_BELOW, _FEW, _GRAIN = 100_000, 4_000, 1e-4


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

    Up to that of a plan, where nothing shorter is left. Only of up to :data:`MAX_COLLECTIVES` and
    at affine costs, and as far as there are not too many beginnings.

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
    lines = [cost for cost in costs if isinstance(cost, Affine)]
    if len(lines) < len(costs) or len(chain) > MAX_COLLECTIVES or same(best.value, to_beat):
        return best
    these = _collectives(chain, lines, graph)
    everything = tuple(range(len(chain)))
    most = to_beat - slack(to_beat) / 2
    if not Beginnings(these, most, _LOOKS + more_looks, is_over).some_end():
        return LowerBound(to_beat, TRIED, everything)
    low, high, looks = best.value, to_beat, _LOOKS_BELOW
    while high - low > _GRAIN * high and looks > _FEW and not is_over():
        middle = (low + high) / 2
        search = Beginnings(these, middle, looks // 4, is_over)
        if search.some_end():
            high = middle
        else:
            low = middle
        looks -= looks // 4 - max(0, search.looks)
    return best if low == best.value else LowerBound(low, TRIED, everything)


def _collectives(chain: Chain, costs: Sequence[Affine], graph: Graph | None) -> CollectiveWork:
    """Collect what the beginnings of a chain's collectives depend on."""
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
        [costs[lane].startup for lane in chain.lane],
        [costs[lane].per_byte * size for lane, size in sizes],
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
