"""Launches for graphs whose channels are not problems of their own.

A collective comes after another, or lanes share a channel: then the schedule decides releases, and
the problem is NP-hard in general (MODEL.md section 7). The candidates and several simple rules give
a plan, the best ones are improved by local search.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from solver.buckets import Launch, whole_elements
from solver.chain import Chain, lane_bytes
from solver.costs import Cost, Network
from solver.fusion.general.annealing_rounds import Improvement, improve
from solver.fusion.general.join import without_needless_launches
from solver.fusion.general.judge import ChannelLaunches, GraphJudge, flat
from solver.fusion.search import Budget, Candidate, SearchOptions
from solver.fusion.ties import ceiling, fewest
from solver.graph import Graph
from solver.limits import MAX_JOINT_CHANNELS, MAX_SEARCHED_LAUNCHES
from solver.simulation.engine import Policy, Rule, launches_under
from solver.simulation.kernel.senders import Unit
from solver.simulation.rules import (
    Order,
    first_in_first_out,
    group_tensors,
    most_urgent,
    queues,
    slice_count,
    slice_tensors,
    whole_units,
)
from solver.units import same

#: Most rounds and halvings in joining launches that gain nothing by being apart.
_JOINS = 60


#: Steps of an allowance for each op and launch: of a plan that is simulated, and of one in which
#: launches are joined.
_SIMULATED, _JOINED = 200, 200


#: The search starts from the best plan of at most so many launches a tensor: each change costs as
#: much time as there are launches, and cutting is one of them.
_LIGHT = 3


#: Launches that are few for any number of tensors.
_FEW = 2_000


#: From how many of the plans found the search starts.
_STARTS = 2


#: Policies that send each tensor alone and whole; these plans are looked at in any case.
_ALONE = frozenset({"wfbp", "tictac"})
#: Buckets of at most 1/k of a lane's bytes, for these k, are tried.
_SHARES = (1, 2, 4, 8, 16, 32, 64)


#: About as many parts of a size of least time per byte are tried in a lane: each step of the
#: search looks at all launches.
_PARTS = 1_000


#: Most such sizes of a lane.
_KINDS = 4


def decide(
    graph: Graph, chain: Chain, costs: Sequence[Cost], search: SearchOptions, *, fuse: bool = True
) -> tuple[Launch, ...]:
    """Return launches that no policy beats, each channel's in order.

    Starts with the search's own plans, the candidates, and buckets of several sizes sent by the
    longest path behind them, and improves the best of these. Of plans that take the same time the
    one with the fewest launches is kept, and launches that gain nothing by being apart are joined.
    Without ``fuse`` every tensor is sent alone and whole. On more than :data:`MAX_JOINT_CHANNELS`
    channels the plans are compared, not improved.

    Notes
    -----
    The same seed and effort give the same plan, unless the watchdog cuts the search short.
    """
    allowance = search.allowance
    judge = GraphJudge(graph, chain, costs)
    values: dict[ChannelLaunches, float] = {}
    least = inf
    for lists in _sources(graph, chain, costs, judge, search, values, fuse=fuse):
        if lists not in values:
            value = values[lists] = judge.value(lists)
            if value < least:
                least = value
                search.report(flat(lists), value)
    ranked = sorted(values, key=lambda lists: (values[lists], lists))
    best = _fewest(values, search.bound)
    most = max(_LIGHT * len(chain), _FEW)
    light = [lists for lists in ranked if sum(map(len, lists)) <= _LIGHT * len(chain)]
    others = [lists for lists in [best, *ranked] if sum(map(len, lists)) <= most]
    starts = list(dict.fromkeys([*light[:1], *others]))[:_STARTS] or [best]
    if len(chain.channels) <= MAX_JOINT_CHANNELS and not same(least, search.bound):
        how = Improvement(
            _urgency(graph, chain, judge),
            _pieces(chain, costs),
            search.seed,
            search.effort,
            search.bound,
            fuse,
            allowance,
            search.report,
        )
        better = improve(starts, judge, how)
        least = min(least, values.setdefault(better, judge.value(better)))
    best = _fewest(values, search.bound)
    if fuse:
        launches = sum(map(len, best))
        budget = Budget(_JOINS * search.effort, allowance, _JOINED * (len(graph.ops) + launches))
        best = without_needless_launches(best, judge, budget, ceiling(least, search.bound))
    return flat(best)


def _fewest(values: Mapping[ChannelLaunches, float], bound: float) -> ChannelLaunches:
    """Choose the plan of least time, and of those the one with the fewest launches."""
    return fewest(values, bound, flat)


def _sources(
    graph: Graph,
    chain: Chain,
    costs: Sequence[Cost],
    judge: GraphJudge,
    search: SearchOptions,
    values: dict[ChannelLaunches, float],
    *,
    fuse: bool,
) -> Iterator[ChannelLaunches]:
    """Yield plans; ``values`` has the values of those before [us]."""
    network = Network(lambda lane: costs[chain.lanes.index(lane)])

    def simulated(policy: Policy) -> ChannelLaunches:
        launches = launches_under(graph, network, policy)
        search.allowance.spend(_SIMULATED * (len(graph.ops) + len(launches)))
        return judge.split(launches)

    units = whole_units([(i,) for i in range(len(chain))], chain)
    urgency = _urgency(graph, chain, judge)
    yield simulated(lambda chain, _: queues(units, first_in_first_out, chain))
    yield simulated(lambda chain, _: queues(units, most_urgent(units, chain), chain))
    yield simulated(_by_urgency(units, urgency))
    if not fuse:
        return
    yield from map(judge.split, search.plans)
    for filled in _fillings(chain, costs):
        if search.allowance.is_spent():
            return
        least = min(values.values())
        is_cut = any(len(parts) > 1 for _, parts in filled)
        if _busy(filled, judge) <= least and not (is_cut and same(least, search.bound)):
            yield simulated(_by_urgency(filled, urgency))
    for candidate in search.candidates:
        if search.allowance.is_spent():
            return
        if candidate.name not in _ALONE and _may_win(candidate, chain, judge, values, search.bound):
            yield simulated(candidate.policy)


def _may_win(
    candidate: Candidate,
    chain: Chain,
    judge: GraphJudge,
    values: Mapping[ChannelLaunches, float],
    bound: float,
) -> bool:
    """Tell whether a policy's slices are not too many, nor too long together, and may help."""
    size = candidate.slice_bytes
    if size is None:
        return True
    if slice_count(chain, size) > MAX_SEARCHED_LAUNCHES or same(min(values.values()), bound):
        return False
    return _busy(slice_tensors(chain, size), judge) < min(values.values())


def _busy(units: Sequence[Unit], judge: GraphJudge) -> float:
    """Longest time that a channel is busy with units [us]: no iteration is shorter."""
    busy = [0.0] * (max(judge.channel) + 1)
    for bucket, parts in units:
        time = judge.cost[bucket[0]].time
        busy[judge.channel[bucket[0]]] += time(parts[0]) * (len(parts) - 1) + time(parts[-1])
    return max(busy)


def _by_urgency(units: Sequence[Unit], urgency: Sequence[float]) -> Policy:
    """Send the unit with the longest path behind it first."""
    most = [max(urgency[i] for i in bucket) for bucket, _ in units]

    def policy(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
        return queues(units, Order([-value for value in most]), chain)

    return policy


def _fillings(chain: Chain, costs: Sequence[Cost]) -> Iterator[list[Unit]]:
    """Yield buckets of several sizes, whole and in parts of the size of least time per byte."""
    totals = lane_bytes(chain)
    kinds = _pieces(chain, costs)
    sizes = [[some[min(k, len(some) - 1)] for some in kinds] for k in range(max(map(len, kinds)))]
    caps = [[total // share for total in totals] for share in _SHARES]
    if sizes != [list(totals)]:
        caps += [*sizes, [0] * len(totals)]
    for cap in caps:
        units = whole_units(_fill(chain, cap), chain)
        yield units
        for size in sizes:
            parts = _cut_units(units, chain, size)
            if parts != units:
                yield parts


def _pieces(chain: Chain, costs: Sequence[Cost]) -> list[list[int]]:
    """Sizes of little time per byte in each lane [bytes], the least first."""
    return [
        [
            max(lane.element_bytes, whole_elements(size, lane.element_bytes))
            for size in cost.thrifty(-(-total // _PARTS), total)[:_KINDS]
        ]
        for lane, cost, total in zip(chain.lanes, costs, lane_bytes(chain), strict=True)
    ]


def _fill(chain: Chain, caps: Sequence[int]) -> list[list[int]]:
    """Fill buckets in release order up to so many bytes in each lane."""

    def joins(bucket: list[int], held: int, tensor: int) -> bool:
        return held + int(chain.bytes[tensor]) <= caps[chain.lane[tensor]]

    return group_tensors(chain, joins)


def _cut_units(units: Sequence[Unit], chain: Chain, sizes: Sequence[int]) -> list[Unit]:
    """Send each unit in parts of so many bytes in each lane, the last one short."""
    units_cut = []
    for bucket, (total,) in units:
        size = sizes[chain.lane[bucket[0]]]
        count = (total - 1) // size
        units_cut.append((bucket, (*[size] * count, total - count * size)))
    return units_cut


def _urgency(graph: Graph, chain: Chain, judge: GraphJudge) -> list[float]:
    """Longest path behind each tensor [us], collectives at their own cost, by chain index."""
    weights = list(graph.durations)
    positions = chain.positions.tolist()
    for i, position in enumerate(positions):
        weights[position] = judge.cost[i].time(judge.bytes[i])
    behind = [0.0] * len(weights)
    for op in reversed(graph.order):
        behind[op] = max((weights[j] + behind[j] for j in graph.succs[op]), default=0.0)
    return [behind[position] for position in positions]
