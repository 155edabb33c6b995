"""A bound on the plans of a chain, and a plan, by the labels from the core outwards."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from math import ceil, floor, inf
from typing import NamedTuple

import numpy as np

from solver.buckets import Launch, Launches
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.chain.two_sided.branches import Branching, branched
from solver.fusion.chain.two_sided.labels import Labels
from solver.units import FloatArray, IntArray, same, slack

#: Most tensors taken one by one; more are taken in as many blocks of neighbours.
_BLOCKS = 320
#: Most labels kept at once; more than four times as many made no bound sharper that was tried.
_LABELS, MOST_EFFORT = 64, 4
#: How many plans are made of each order and minorant, and how often the bytes of their parts are
#: looked for in two thirds of a range.
_PLANS, _THIRDS = 8, 80
#: How many minorants of a cost are tried, those with the largest start-ups that count.
_LINES = 4


class MinorantSearch(NamedTuple):
    """No plan is below the bound [us]; the plans are the best ones of the minorants of a cost."""

    bound: float
    plans: tuple[Launches, ...]


def bound_and_plan(
    chain: Chain,
    cost: Cost,
    to_beat: float,
    effort: int = 1,
    branching: Branching | None = None,
    most_plans: int = _PLANS,
) -> MinorantSearch:
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
    branching
        How long plans with one beginning or another are bounded after that, all orders and
        minorants together; None: not at all.
    most_plans
        Of each order and minorant.

    Notes
    -----
    O(labels^2 n + n^2).
    """
    target = to_beat - slack(to_beat) / 2 if to_beat < inf else inf
    total = int(chain.bytes.sum())
    lines = sorted(cost.minorants(total), key=lambda line: -line[0] - line[1] * total)
    bound = 0.0
    plans = []
    ways = list(product(_orders(chain), lines[:_LINES]))
    if branching:
        branching = branching._replace(looks=branching.looks // len(ways))
    for order, line in ways:
        if bound < target:
            least, some = _in_order(chain, order, line, target, effort, branching, most_plans)
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
            tries = (_in_order(chain, order, line, value, n)[0] for n in (1, MOST_EFFORT))
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
    order: IntArray,
    line: tuple[float, float],
    target: float,
    effort: int,
    branching: Branching | None = None,
    most_plans: int = 0,
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
    ways = labels.chosen(most_plans)
    if bound < target and branching:
        outcome = branched(labels, target, branching)
        bound, ways = max(bound, outcome.bound), [*map(list, outcome.ways), *ways]
    if len(first) < len(chain):
        return bound, []
    return bound, [_plan(chain, line, order.tolist(), choices) for choices in ways]


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


def _plan(
    chain: Chain, line: tuple[float, float], order: Sequence[int], choices: Sequence[str]
) -> Launches:
    """Make launches of where the tensor at each place goes, the last one with the core.

    One that is to ride with a bucket that is not there rides with the core: where labels became
    one, a choice may be another label's.
    """
    core = [order[-1]]
    before: list[list[int]] = []
    after: list[list[int]] = []
    torn: list[int] = []
    for i, choice in zip(order[-2::-1], choices[::-1], strict=True):
        if choice == "before":
            (before[-1] if before else core).append(i)
        elif choice == "after":
            (after[-1] if after else core).append(i)
        elif choice in {"core", "both"}:
            (torn if torn and choice == "both" else core).append(i)
        else:
            bucket = [i]
            if choice != "new after":
                before.append(bucket)
            if choice != "new before":
                after.append(bucket)
            if choice == "new both":
                torn = bucket
    members = [tuple(sorted(bucket)) for bucket in (*before[::-1], core, *after)]
    return _sized(chain, line, members, len(before))


def _sized(
    chain: Chain, line: tuple[float, float], members: Sequence[tuple[int, ...]], core: int
) -> Launches:
    """Choose the bytes of both parts of buckets: those of the least time, at the cost of a line.

    Let launches before the core be done so that it could start at E. Of the last k buckets in two
    parts no more can go before it than any top outside of them leaves room for, nor more than they
    have; all these are reached at once, and nothing is better behind the core. What is needed there
    is convex in E.
    """
    startup, per_byte = line
    sizes = [int(chain.bytes[list(bucket)].sum()) for bucket in members]
    torn = [bucket for bucket in members[:core] if bucket in set(members[core:])]
    work = np.array(
        [0.0 if b in torn else per_byte * n for b, n in zip(members, sizes, strict=True)]
    )
    work += startup
    release = np.array([chain.release[list(bucket)].max() for bucket in members[: core + 1]])
    tail = np.array([chain.tail[list(bucket)].max() for bucket in members[core:]])
    before = release + np.append(np.cumsum(work[:core][::-1])[::-1], 0.0)
    after = tail + np.append(0.0, np.cumsum(work[core + 1 :]))
    places = [members.index(bucket) for bucket in torn]
    late = [members.index(bucket, core) - core for bucket in torn]
    whole = [per_byte * sizes[place] for place in places]

    def shares(level: float) -> list[float]:
        """Return the work of each part before the core where that could start at a level."""
        room = np.minimum.accumulate(level - before)
        taken, parts = 0.0, []
        for place, most in zip(places[::-1], whole[::-1], strict=True):
            parts.append(min(most, max(0.0, float(room[place]) - taken)))
            taken += parts[-1]
        return parts[::-1]

    def time_of(parts: Sequence[float]) -> float:
        first, behind = before.copy(), after.copy()
        for part, place, end, most in zip(parts, places, late, whole, strict=True):
            first[: place + 1] += part
            behind[end:] += most - part
        return float(first.max() + behind.max())

    def in_bytes(how: Callable[[float], int]) -> list[int]:
        elements = (how(part / per_byte / element) for part in shares(level))
        return [min(n * element, sizes[place]) for n, place in zip(elements, places, strict=True)]

    level = float(before.max())
    bytes_before = [0] * len(torn)
    if torn and per_byte:
        element = chain.element_bytes(0)
        level = _lowest(lambda level: time_of(shares(level)), level, level + sum(whole))
        bytes_before = min(
            map(in_bytes, (floor, ceil)),
            key=lambda some: time_of([per_byte * size for size in some]),
        )
    launches = []
    for i, bucket in enumerate(members):
        size = sizes[i]
        if bucket in torn:
            part = bytes_before[torn.index(bucket)]
            size = part if i < core else size - part
        if size:
            launches.append(Launch(bucket, size))
    return tuple(launches)


def _lowest(value: Callable[[float], float], low: float, high: float) -> float:
    """Return where a convex function is least, by thirds of an interval."""
    for _ in range(_THIRDS if high > low else 0):
        third = (high - low) / 3
        if value(low + third) <= value(high - third):
            high -= third
        else:
            low += third
    return min((low, high), key=value)
