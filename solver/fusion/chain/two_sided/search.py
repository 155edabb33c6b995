"""A bound on the plans of a chain, and a plan, by the labels from the core outwards."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from solver.buckets import Launch, Launches, largest_part
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.chain.two_sided.labels import Labels
from solver.units import FloatArray, IntArray, same, slack

#: Most tensors taken one by one; more are taken in as many blocks of neighbours.
_BLOCKS = 320
#: Most labels kept at once; more than four times as many made no bound sharper that was tried.
_LABELS, MOST_EFFORT = 64, 4
#: How many plans are made of each order and minorant.
_PLANS = 8
#: How many minorants of a cost are tried, those with the largest start-ups that count.
_LINES = 4


class MinorantSearch(NamedTuple):
    """No plan is below the bound [us]; the plans are the best ones of the minorants of a cost."""

    bound: float
    plans: tuple[Launches, ...]


def bound_and_plan(chain: Chain, cost: Cost, to_beat: float, effort: int = 1) -> MinorantSearch:
    """Bound all plans of a chain, up to a time to beat [us], and find some.

    Tails that do not ascend are lowered to the least of all later ones, or releases in the order of
    tails; blocks have the least release and tail of their tensors: the bound holds, and is less
    sharp. Plans are made where no tensors are taken together; they may be worse than the time to
    beat where the cost is not affine, times were lowered or labels became one.

    Parameters
    ----------
    chain, cost
        The tensors of one channel, and any cost of a launch.
    to_beat
        The time of a plan that is known [us].
    effort
        Multiplies the labels, up to four times.

    Notes
    -----
    O(labels^2 n + n^2).
    """
    target = to_beat - slack(to_beat) / 2 if to_beat < inf else inf
    total = int(chain.bytes.sum())
    lines = sorted(cost.minorants(total), key=lambda line: -line[0] - line[1] * total)
    bound = 0.0
    plans = []
    for order in _orders(chain):
        for line in lines[:_LINES]:
            if bound < target:
                least, some = _in_order(chain, cost, order, line, target, effort)
                bound = max(bound, least)
                plans += some
    return MinorantSearch(bound, tuple(plans))


class NestedProof(NamedTuple):
    """What a bound by the labels rests on: the tensors of each block, in order, and a line."""

    blocks: tuple[tuple[int, ...], ...]
    line: tuple[float, float]


def proof_of(chain: Chain, cost: Cost, value: float) -> NestedProof | None:
    """Return the order and the line below the cost by which no plan is below a value [us].

    None where none of those that :func:`bound_and_plan` tries says so.
    """
    total = int(chain.bytes.sum())
    lines = sorted(cost.minorants(total), key=lambda line: -line[0] - line[1] * total)
    for order in _orders(chain):
        for line in lines[:_LINES]:
            tries = (_in_order(chain, cost, order, line, value, n)[0] for n in (1, MOST_EFFORT))
            if any(same(bound, value) for bound in tries):
                work = np.concatenate([[0.0], line[1] * np.cumsum(chain.bytes[order])])
                bounds = np.append(_blocks(work), len(chain)).tolist()
                places = order.tolist()
                blocks = (tuple(places[a:b]) for a, b in pairwise(bounds))
                return NestedProof(tuple(blocks), line)
    return None


def _orders(chain: Chain) -> Iterator[IntArray]:
    """Yield the orders in which releases ascend, and tails if those do not."""
    yield np.arange(len(chain))
    if np.any(np.diff(chain.tail) < 0):
        yield np.lexsort((chain.release, chain.tail))


def _in_order(
    chain: Chain,
    cost: Cost,
    order: IntArray,
    line: tuple[float, float],
    target: float,
    effort: int,
) -> tuple[float, list[Launches]]:
    """Bound all plans by a minorant of the cost, and make plans of the best labels."""
    startup, per_byte = line
    total = np.concatenate([[0.0], per_byte * np.cumsum(chain.bytes[order])])
    first = _blocks(total)
    bounds = np.append(first, len(chain))
    labels = Labels(
        _ascending(chain.release[order])[first].tolist(),
        _ascending(chain.tail[order])[first].tolist(),
        total[bounds].tolist(),
        (np.diff(bounds) > 1).tolist(),
        startup,
        _LABELS * min(effort, MOST_EFFORT),
    )
    bound = labels.run(target)
    if labels.value >= target or len(first) < len(chain):
        return bound, []
    ways = labels.chosen(_PLANS)
    return bound, [_plan(chain, cost, order.tolist(), choices) for choices in ways]


def _ascending(times: FloatArray) -> FloatArray:
    """Lower times so that they ascend: the least of all later ones."""
    least: FloatArray = np.minimum.accumulate(times[::-1])[::-1]
    return least


def _blocks(total: FloatArray) -> IntArray:
    """Return the first tensors of at most :data:`_BLOCKS` blocks; the last tensor is one itself."""
    count = len(total) - 1
    if count <= _BLOCKS:
        return np.arange(count)
    weight = np.arange(count) / count + total[:-1] / max(total[-1], 1e-9)
    even = np.searchsorted(weight, np.linspace(0, weight[-1], _BLOCKS - 1))
    return np.unique(np.append(even, count - 1))


def _plan(chain: Chain, cost: Cost, order: Sequence[int], choices: Sequence[str]) -> Launches:
    """Make launches of where the tensor at each place goes, the last one's bucket being the core.

    Of a bucket in two parts the one before the core carries what delays nothing.
    """
    core = [order[-1]]
    before: list[list[int]] = []
    after: list[list[int]] = []
    torn: list[int] = []
    for i, choice in zip(order[-2::-1], choices[::-1], strict=True):
        if choice == "core":
            core.append(i)
        elif choice == "before":
            before[-1].append(i)
        elif choice == "after":
            after[-1].append(i)
        elif choice == "both":
            torn.append(i)
        else:
            bucket = [i]
            if choice != "new after":
                before.append(bucket)
            if choice != "new before":
                after.append(bucket)
            if choice == "new both":
                torn = bucket
    members = [tuple(sorted(bucket)) for bucket in (*before[::-1], core, *after)]
    return _sized(chain, cost, members, len(before))


def _sized(chain: Chain, cost: Cost, members: Sequence[tuple[int, ...]], core: int) -> Launches:
    """Choose the bytes of parts: as many before the core as delay neither it nor others there."""
    totals = [int(chain.bytes[list(bucket)].sum()) for bucket in members]
    release = [float(chain.release[list(bucket)].max()) for bucket in members]
    later = set(members[core:])
    sizes = [0 if bucket in later else totals[j] for j, bucket in enumerate(members[:core])]
    element = chain.element_bytes(0)
    for j, size in enumerate(sizes):
        if not size:
            starts = _starts(release, sizes, cost, core)
            limit = starts[core]
            for i in range(core - 1, j, -1):
                limit -= cost.time(sizes[i])
            sizes[j] = largest_part(cost, limit - starts[j], totals[j], element)
    launches = [Launch(members[j], size) for j, size in enumerate(sizes) if size]
    sent = {bucket: size for bucket, size in launches if bucket in later}
    for j in range(core, len(members)):
        rest = totals[j] - sent.get(members[j], 0)
        if rest:
            launches.append(Launch(members[j], rest))
    return tuple(launches)


def _starts(release: Sequence[float], sizes: Sequence[int], cost: Cost, core: int) -> list[float]:
    """When launches up to the core could start [us]; those of no bytes take no time."""
    starts = []
    now = 0.0
    for j in range(core + 1):
        if j == core or sizes[j]:
            now = max(now, release[j])
        starts.append(max(now, release[j]))
        now += cost.time(sizes[j]) if j < core else 0.0
    return starts
