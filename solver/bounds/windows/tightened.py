"""A lower bound by contradiction: no iteration is as short as some time.

If an iteration took no longer than D, each bucket would have a window, from its release to D less
its tail, and what channels must carry within windows says when launches start and end, which in
turn moves windows. Where that leads to a window that is too short, no iteration takes D: D is a
bound (MODEL.md section 7.1). The D between a bound and the time of a plan are bisected.
"""

from collections.abc import Sequence

import numpy as np

from solver.bounds.chain import LowerBound
from solver.bounds.kinds import WINDOWS
from solver.bounds.nested import nested_bound
from solver.bounds.windows.crowded import crowd
from solver.bounds.windows.late import is_late
from solver.bounds.windows.links import sides
from solver.bounds.windows.time_windows import ChannelWork, TimeDirection, pass_on
from solver.chain import Chain
from solver.costs import Cost
from solver.graph import Graph
from solver.units import slack

#: What is looked at over all D: launches in windows, and ops.
_STEPS = 1.5e8


#: Of how many ops and tensors at most, multiplied, it is known which precede which.
_BITS = 100_000_000


#: How often at most windows are moved for one D.
_ROUNDS = 6


#: The bisection ends within this share of the time, and this share of the first gap.
_GRAIN, _OF_GAP = 1e-5, 0.02


#: Times are compared within this share of what counts as the same: only sums are rounded.
_ROUNDING = 0.01


def tightened(
    graph: Graph, chain: Chain, costs: Sequence[Cost], bound: LowerBound, to_beat: float
) -> LowerBound:
    """Raise a bound towards the time [us] of a plan, as far as shorter times can be ruled out.

    Notes
    -----
    O(n^2 + n (ops + edges)) for n tensors, for each of a dozen times between the two; it
    ends with that, or when :data:`_STEPS` are done.
    """
    if bound.value + slack(to_beat) >= to_beat or len(graph.ops) * len(chain) > _BITS:
        return bound
    work = _work(graph, chain, costs)
    both = sides(graph, chain, work)
    kept = [side.times() for side in both]
    low, high = bound.value, to_beat
    most = to_beat - slack(to_beat) / 2
    while work.steps < _STEPS:
        for side, times in zip(both, kept, strict=True):
            side.take(times)
        if _is_ruled_out(work, *both, most):
            low = most
        else:
            high = most
            kept = [side.times() for side in both]
        if high - low < max(_GRAIN * high, _OF_GAP * (to_beat - bound.value)):
            break
        most = (low + high) / 2
    if low <= bound.value:
        return bound
    return LowerBound(low, WINDOWS, tuple(range(len(chain))))


def _work(graph: Graph, chain: Chain, costs: Sequence[Cost]) -> ChannelWork:
    """Collect what the channels have to carry, of each lane by one line below its cost."""
    startup, share = [0.0] * len(chain), [0.0] * len(chain)
    least = list(graph.durations)
    lanes = np.array(chain.lane)
    for lane, cost in enumerate(costs):
        members = np.flatnonzero(lanes == lane)
        sizes = chain.bytes[members]
        total = int(sizes.sum())
        alone = cost.least(total)(sizes)
        buckets = len(members) ** 0.5
        a, c = max(cost.minorants(total), key=lambda line: line[0] * buckets + line[1] * total)
        for i, size, time in zip(members.tolist(), sizes.tolist(), alone.tolist(), strict=True):
            startup[i], share[i] = a, c * size
            least[chain.positions[i]] = time
    return ChannelWork(least, chain.positions.tolist(), chain.channel, chain.lane, startup, share)


def _is_ruled_out(
    work: ChannelWork, forward: TimeDirection, backward: TimeDirection, most: float
) -> bool:
    """Tell whether no iteration takes so long or less [us]; starts and ends are raised."""
    rounding = slack(most) * _ROUNDING
    ways = (forward, backward), (backward, forward)
    for k in range(_ROUNDS):
        moved = [pass_on(work, *way, most, rounding, not k) for way in ways]
        for c in range(work.channels):
            if min(moved) >= 0:
                moved += [crowd(work, *way, most, rounding, c) for way in ways]
        if min(moved) < 0:
            return True
        if max(moved) == 0 or work.steps > _STEPS:
            break
    machines = [(c, lane) for c in range(work.channels) for lane in _machines(work, c)]
    return any(
        is_late(work, *way, most, rounding, *machine) for machine in machines for way in ways
    ) or any(
        _from_both_ends(work, forward, backward, *machine, most) > most + rounding
        for machine in machines
    )


def _machines(work: ChannelWork, c: int) -> list[int]:
    """List the lanes of a channel, and -1 for all of them together where they are several."""
    lanes = sorted({work.lane[i] for i in range(work.tensors) if work.channel[i] == c})
    return lanes if len(lanes) == 1 else [*lanes, -1]


def _from_both_ends(
    work: ChannelWork,
    forward: TimeDirection,
    backward: TimeDirection,
    c: int,
    lane: int,
    most: float,
) -> float:
    """Bound an iteration with these windows [us], by a lane or a channel as one machine."""
    members = [i for i in range(work.tensors) if work.channel[i] == c]
    order = np.array([i for i in members if lane in {-1, work.lane[i]}])
    nodes = np.array(work.node)[order]
    start, tail = np.array(forward.start)[nodes], np.array(backward.start)[nodes]
    startup, share = np.array(work.startup)[order].min(), np.array(work.share)[order]
    if start.max() + startup + share.sum() + tail.max() <= most:
        return 0.0  # as one launch in the middle does
    by_start = np.argsort(start, kind="stable")
    chain = Chain(order, start[by_start], tail[by_start], share[by_start], 0.0)
    return nested_bound(chain, float(startup), 1.0)
