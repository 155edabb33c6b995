"""Few launches within a time: each costs a process and a look at it, whatever its cost model says.

Of plans that are fast enough the one with the fewest launches is kept. Where the same compute
follows all tensors of a channel, as after a barrier, these are runs of the release order and no
fewer do. Elsewhere launches are joined, layer chains also parted anew
(:mod:`solver.fusion.chain.groups`), and what comes of it is thinned by random changes, as many on
every machine.
"""

from collections.abc import Sequence

from solver.buckets import Launch
from solver.chain import Chain, by_channel, subchain
from solver.codes import FaultCode
from solver.costs import Cost
from solver.errors import Fault
from solver.fusion import layered
from solver.fusion.chain.fewest import has_equal_tails
from solver.fusion.general.annealing.thin import LaunchThinner
from solver.fusion.general.flat import apart_problem_of, behind, capacities, plan_of, problem_of
from solver.fusion.general.flat import launches_of as launches_in
from solver.fusion.general.join import without_needless_launches
from solver.fusion.general.judge import ChannelLaunches, GraphJudge, flat
from solver.fusion.search import Budget
from solver.graph import Graph
from solver.limits import MAX_LAUNCH_TOLERANCE
from solver.units import slack

#: Most rounds and halvings in joining launches.
_JOINS = 60

#: Changes that are tried for each launch, at most in all, and ops and launches over all of them.
_MOVES_EACH, _MOVES, _STEPS = 1_000, 40_000, 400_000_000

#: From a plan of more launches so many times over a change is tried as often as it needs.
_TEMPERATURES, _HOT, _COLD = 32, 2.0, 0.05


def launch_tolerance_faults(tolerance: float) -> list[Fault]:
    """Return what is wrong with a tolerance."""
    if 0 <= tolerance <= MAX_LAUNCH_TOLERANCE:
        return []
    detail = f"launch_tolerance must be between 0 and {MAX_LAUNCH_TOLERANCE:g}."
    return [Fault("/launch_tolerance", FaultCode.OUT_OF_RANGE, detail)]


def with_few_launches(
    graph: Graph,
    chain: Chain,
    costs: Sequence[Cost],
    plans: Sequence[Sequence[Launch]],
    tolerance: float,
    seed: int = 0,
    effort: int = 1,
) -> tuple[Launch, ...]:
    """Return a plan of few launches that takes little longer than another, each channel's in order.

    Parameters
    ----------
    graph, chain, costs
        What is sent, and what a launch costs in each lane.
    plans
        Plans to begin with. The answer takes at most a share longer than the first one, and has no
        more launches than any of them that does not either.
    tolerance
        That share.
    seed, effort
        Of the random changes, and what multiplies their number.

    Notes
    -----
    The same input gives the same plan: no clock is looked at.
    """
    judge = GraphJudge(graph, chain, costs)
    limit = judge.value(judge.split(plans[0])) * (1 + tolerance)
    limit -= 2 * slack(limit)  # joins take what is above a time by one, and rounding may be
    lists = dict.fromkeys(map(judge.split, plans))
    if chain.is_separable:
        found = [layered.within(flat(each), chain, costs, limit) for each in lists]
        if chain.is_layered and _have_equal_tails(chain):
            return min(found, key=len)
        if chain.is_layered:
            found = [layered.in_groups(each, chain, costs, limit) for each in found]
        lists |= dict.fromkeys(map(judge.split, found))
    values = {each: judge.value(each) for each in lists}
    kept = [each for each in values if values[each] <= limit] or [next(iter(lists))]
    first = min(kept, key=lambda each: (_count(each), values[each]))
    joined = without_needless_launches(first, judge, Budget(_JOINS * effort), limit)
    return flat(_thinned(joined, judge, limit, seed, effort))


def _count(lists: ChannelLaunches) -> int:
    return sum(map(len, lists))


def _have_equal_tails(chain: Chain) -> bool:
    """Tell whether the same compute follows all tensors of each channel."""
    return all(has_equal_tails(subchain(chain, some)) for some in by_channel(chain))


def _thinned(
    lists: ChannelLaunches, judge: GraphJudge, limit: float, seed: int, effort: int
) -> ChannelLaunches:
    """Anneal the number of launches, never above a time [us] where the first plan is not."""
    count = _count(lists)
    if count == len(judge.lane_costs):  # one in each lane
        return lists
    problem = (apart_problem_of if judge.chain.is_layered else problem_of)(judge)
    capacity = capacities(judge, [lists])
    after = behind(judge)
    urgency = [after[node] for node in judge.node]
    thinner = LaunchThinner(problem, urgency, [[] for _ in judge.lane_costs], capacity, seed)
    thinner.begin(plan_of(problem, capacity, lists))
    moves = effort * min(_MOVES, _MOVES_EACH * count, _STEPS // (len(judge.durations) + count))
    for k in range(_TEMPERATURES):
        now = moves * (k + 1) // _TEMPERATURES - moves * k // _TEMPERATURES
        thinner.run(now, _HOT * (_COLD / _HOT) ** (k / _TEMPERATURES), limit)
    return launches_in(thinner.best)
