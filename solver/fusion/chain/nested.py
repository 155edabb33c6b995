r"""Buckets, parts and order of a layer chain, found from both ends towards the last release.

On a chain whose releases and tails both ascend, the windows [release, D - tail] of the tensors are
nested, the last tensor's inside all others. The launch that carries it is the core; every other
launch lies before it, where only releases matter, or after it, where only tails do. Exchanging
neighbours shows that launches before the core may run in ascending and those after it in
descending order of their last tensor, at most one on either side for each bucket.

So groups of neighbouring tensors, taken in chain order, are sent before the core, after it, or in
two parts. With X the least time by which all groups so far sent before can be done, and Y the
mirror image (the least time, counted back from the end of the iteration, that the groups sent
after need), a group of time T with last tensor k does

    before: X <- max(X, r_k) + T        after: Y <- max(Y, q_k) + T

or both with its two parts, and the last group closes with D = max(X, r_n) + T + max(Y, q_n).
Labels (X, Y) are kept where no other is better in both, one for each cell of a grid on X.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from solver.buckets import Launch, largest_part
from solver.chain import Chain
from solver.costs import Affine, Cost
from solver.fusion.chain.loops.recursion import BEFORE, BOTH, Recursion
from solver.fusion.search import Allowance
from solver.units import FloatArray, IntArray, same

#: Most places to cut, cells of the grid, and rounds of refinement.
_CUTS, _CELLS, _ROUNDS = 96, 64, 3


#: How many of the last tensors may always be cut apart.
_ENDS = 12


class _NestedGroup(NamedTuple):
    """Tensors low..high-1, where they are sent, and the X that was reached."""

    low: int
    high: int
    side: int
    reached: float


class _Ends(NamedTuple):
    """The chain as the recursion sees it; tails raised so that they ascend."""

    release: FloatArray
    tail: FloatArray
    prefix: IntArray
    cost: Cost
    line: Affine
    element: int


def from_both_ends(
    chain: Chain,
    cost: Cost,
    effort: int = 1,
    allowance: Allowance | None = None,
    bound: float = 0.0,
) -> tuple[Launch, ...] | None:
    """Return the launches of the best plan found by the recursion, None when nothing was allowed.

    Parameters
    ----------
    chain
        The tensors. Tails that do not ascend are raised to the largest so far, so that the plan
        holds but may not be the best.
    cost
        Any cost; where a bucket is sent in two parts a line through it is used.
    effort
        Multiplies the places to cut and the cells.
    allowance
        What may be looked at: once it is spent, the best so far is the answer. None is for all.
    bound
        A lower bound: what comes to it ends the rounds [us].

    Notes
    -----
    O(rounds cuts^2 cells log(cells)). The first round cuts at evenly spread places, the next
    ones near the best cuts found, with a grid around the times they reach.
    """
    ends = _Ends(
        chain.release,
        np.maximum.accumulate(chain.tail),
        np.concatenate([[0], np.cumsum(chain.bytes)]),
        cost,
        _line(cost, int(chain.bytes.sum())),
        chain.element_bytes(0),
    )
    allowance = allowance or Allowance()
    cells = _spread(ends, _CELLS * effort)
    cuts = _even(ends, _CUTS * effort)
    best: tuple[float, list[_NestedGroup]] | None = None
    to_beat = np.inf
    for _ in range(_ROUNDS):
        attempt = _recursion(ends, cuts, cells, to_beat, allowance)
        if attempt is None:
            break
        best = attempt
        to_beat = best[0]
        if same(to_beat, bound):
            break
        cuts = _near(ends, best[1], _CUTS * effort)
        cells = _around(ends, best[1], _CELLS * effort)
    return _launches(ends, best[1]) if best else None


def _line(cost: Cost, total: int) -> Affine:
    """Return the cost itself when affine, else a line through it."""
    if isinstance(cost, Affine):
        return cost
    low, high = max(1, total // 16), total + 1
    slope = max(0.0, (cost.time(high) - cost.time(low)) / (high - low))
    return Affine(max(0.0, cost.time(low) - slope * low), slope)


def _spread(ends: _Ends, cells: int) -> FloatArray:
    """Spread cells over the releases, and ever wider ones beyond the last."""
    first, last = ends.release[0], ends.release[-1]
    a = ends.line.startup
    work = a + ends.line.per_byte * int(ends.prefix[-1])
    some = ends.release[:: max(1, 2 * len(ends.release) // cells)]
    beyond = last + np.geomspace(max(a, 1e-3), max(4 * a, work, 1e-2), cells // 4)
    return np.unique(
        np.concatenate([[0.0, last], np.linspace(first, last + 2 * a, cells), some, beyond])
    )


def _even(ends: _Ends, most: int) -> IntArray:
    """Spread cuts evenly over tensors and bytes together."""
    count = len(ends.release)
    if count <= most:
        return np.arange(count + 1)
    weight = np.arange(count + 1) / count + ends.prefix / ends.prefix[-1]
    found = np.searchsorted(weight, np.linspace(0, weight[-1], most - _ENDS))
    close = np.arange(max(0, count - _ENDS), count + 1)
    return np.unique(np.concatenate([[0], np.clip(found, 0, count), close]))


def _near(ends: _Ends, groups: Sequence[_NestedGroup], most: int) -> IntArray:
    """Cut near the groups' ends, the rest evenly."""
    count = len(ends.release)
    at = np.array([group.high for group in groups])
    choices = [
        np.unique((at[:, None] + np.arange(-reach, reach + 1)).clip(0, count))
        for reach in (3, 2, 1, 0)
    ]
    near = next((places for places in choices if len(places) <= most), choices[-1])
    even = _even(ends, most - len(near)) if most - len(near) > 2 * _ENDS else [0, count]
    return np.unique(np.concatenate([near, even, [0, count]]))


def _around(ends: _Ends, groups: Sequence[_NestedGroup], cells: int) -> FloatArray:
    """Put cells around the times that the groups reach, and at their releases."""
    reached = np.array([group.reached for group in groups])
    step = (ends.release[-1] - ends.release[0] + ends.line.startup) / cells
    close = reached[:, None] + step * np.array([-0.5, -0.1, 0.0, 0.1, 0.5])
    tops = ends.release[[group.high - 1 for group in groups]]
    return np.unique(np.concatenate([close[close >= 0], tops, _spread(ends, max(4, cells // 2))]))


def _recursion(
    ends: _Ends, cuts: IntArray, cells: FloatArray, to_beat: float, allowance: Allowance
) -> tuple[float, list[_NestedGroup]] | None:
    """Extend labels group by group; return the least D and its groups, the core last.

    None when the allowance is spent first, or nothing beats the time to beat.
    """
    a, c = ends.line.startup, ends.line.per_byte
    labels = Recursion(cells.tolist(), len(cuts), a, to_beat)
    lines = ends.cost.minorants(int(ends.prefix[-1]))
    for m in range(1, len(cuts)):
        if allowance.is_spent():
            return None
        allowance.spend(m * len(cells))
        release, tail = float(ends.release[cuts[m] - 1]), float(ends.tail[cuts[m] - 1])
        sizes = ends.prefix[cuts[m]] - ends.prefix[cuts[:m]]
        times = ends.cost.times(sizes).tolist()
        if m < len(cuts) - 1:
            left = int(ends.prefix[-1] - ends.prefix[cuts[m]])
            rest = max(fixed + slope * left for fixed, slope in lines)
            labels.extend(release, tail, times, (c * sizes).tolist(), rest)
    value, label = labels.close(release, tail, times)
    if value >= to_beat:
        return None
    groups: list[_NestedGroup] = []
    high, side, reached = len(cuts) - 1, BEFORE, 0.0
    for m, how, x in labels.trace(label):
        groups.append(_NestedGroup(int(cuts[m]), int(cuts[high]), side, reached))
        high, side, reached = m, how, x
    return value, groups[::-1]


def _launches(ends: _Ends, groups: Sequence[_NestedGroup]) -> tuple[Launch, ...]:
    """Order the parts: before the core ascending, the core, after it descending."""
    before: list[Launch] = []
    after: list[Launch] = []
    now = 0.0
    for group in groups[:-1]:
        bucket = tuple(range(group.low, group.high))
        size = int(ends.prefix[group.high] - ends.prefix[group.low])
        start = max(now, float(ends.release[group.high - 1]))
        part = 0
        if group.side == BOTH:
            part = largest_part(ends.cost, group.reached - start, size, ends.element)
        elif group.side == BEFORE:
            part = size
        if part:
            before.append(Launch(bucket, part))
            now = start + ends.cost.time(part)
        if size > part:
            after.append(Launch(bucket, size - part))
    core = groups[-1]
    size = int(ends.prefix[core.high] - ends.prefix[core.low])
    return (*before, Launch(tuple(range(core.low, core.high)), size), *after[::-1])
