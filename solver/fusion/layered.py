"""Launches of layered chains: each channel is a problem of its own."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain as joined
from math import inf

import numpy as np

from solver.buckets import ChannelBuckets, Launch, Launches, Members, whole_elements
from solver.chain import Chain, by_channel, subchain
from solver.costs import Cost
from solver.fusion.chain.fewest import with_fewest_launches
from solver.fusion.chain.groups import fewest_groups
from solver.fusion.chain.joint import joint
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.maxmin import max_min, unfused
from solver.fusion.chain.maxmin_momentum import max_min_momentum
from solver.fusion.search import Fusion, Order, Reporter, SearchOptions
from solver.fusion.ties import ceiling
from solver.schedule import SCHEDULERS
from solver.schedule.execute import cut_at_releases, follow, jobs_of, value_of
from solver.schedule.slots import on_slots

#: The fusions by name, called alike; add one here.
FUSIONS: dict[str, Fusion] = {
    "joint": joint,
    "maxmin": max_min,
    "maxmin_momentum": max_min_momentum,
    "none": unfused,
}


def decide(
    chain: Chain,
    costs: Sequence[Cost],
    fusion: str,
    order: str,
    slot_us: float | None,
    search: SearchOptions,
) -> Launches:
    """Choose buckets and launches of a layered chain, channel by channel.

    ``fusion`` and ``order`` are keys of :data:`FUSIONS` and of
    :data:`solver.schedule.SCHEDULERS`. The channels' launches come one channel after the other;
    what is left of the allowance of ``search`` is shared among them. A better plan of one channel
    is reported together with the best of the others.

    Raises
    ------
    InvalidOptions
        When ``slot_us`` needs too many slots for every fusion.
    """
    tensors = by_channel(chain)
    chains = [subchain(chain, some) for some in tensors]
    plans = [tuple(launches_on(plan, some) for plan in search.plans) for some in tensors]
    judges = [ChainJudge(each, cost) for each, cost in zip(chains, costs, strict=True)]
    best = _BestOfChannels(tensors, search.report)
    if fusion == "joint" and len(tensors) > 1:  # a channel's own search reports its first plan
        for c, judge in enumerate(judges):
            for plan in (judge.alone(), *plans[c]):
                best.offer(c, plan, judge.value(plan))
    chosen: list[Launches] = []
    for c, (each, cost, judge) in enumerate(zip(chains, costs, judges, strict=True)):
        own = replace(
            search,
            allowance=search.allowance.part(1 / (len(costs) - c)),
            plans=plans[c],
            report=partial(best.offer, c),
        )
        plan = FUSIONS[fusion](each, cost, _order(cost, order, slot_us), own)
        best.offer(c, plan, judge.value(plan))
        chosen.append(plan)
    launches = tuple(joined(*map(_in_chain, chosen, tensors)))
    if fusion == "joint" and len(tensors) > 1:
        launches = with_fewest(launches, chain, costs, search.bound)
    return launches


def value(launches: Launches, chain: Chain, costs: Sequence[Cost]) -> float:
    """Return the iteration time of the launches of a layered chain [us]."""
    tensors = by_channel(chain)
    return max(
        ChainJudge(subchain(chain, some), cost).value(launches_on(launches, some))
        for some, cost in zip(tensors, costs, strict=True)
    )


def with_fewest(launches: Launches, chain: Chain, costs: Sequence[Cost], bound: float) -> Launches:
    """Join launches that gain nothing, in channels with time to spare beside the slowest one too.

    The answer takes no longer than ``launches`` or, where they reach it, than the lower bound [us].
    The chain must be separable; ``costs`` are those of its lanes.
    """
    shared = [costs[chain.lane[some[0]]] for some in by_channel(chain)]
    return within(launches, chain, costs, ceiling(value(launches, chain, shared), bound))


def within(launches: Launches, chain: Chain, costs: Sequence[Cost], limit: float) -> Launches:
    """Join launches of a separable chain wherever they stay within a time [us]."""
    tensors = by_channel(chain)
    chains = [subchain(chain, some) for some in tensors]
    plans = [launches_on(launches, some) for some in tensors]
    shared = [costs[chain.lane[some[0]]] for some in tensors]
    judges = [ChainJudge(each, cost) for each, cost in zip(chains, shared, strict=True)]
    fewer = (
        with_fewest_launches(plan, each, judge, limit)
        for plan, each, judge in zip(plans, chains, judges, strict=True)
    )
    return tuple(joined(*map(_in_chain, fewer, tensors)))


def in_groups(launches: Launches, chain: Chain, costs: Sequence[Cost], limit: float) -> Launches:
    """Send the channels of layer chains in fewer groups of neighbours that end in a time [us].

    Channels of several lanes, of tails that do not ascend, or where no fewer are found stay as
    they are.
    """
    sent: list[Launch] = []
    for some, cost in zip(by_channel(chain), costs, strict=True):
        own, known = subchain(chain, some), launches_on(launches, some)
        is_layers = len(own.lanes) == 1 and bool(np.all(np.diff(own.tail) >= 0))
        found = fewest_groups(own, cost, limit, len(known) - 1) if is_layers else None
        sent += _in_chain(found or known, some)
    return tuple(sent)


def by_lane(launches: Sequence[Launch], chain: Chain) -> Launches:
    """Let launches of any tensors of a channel carry those of one lane each, in the same order.

    A launch becomes one for each lane of its bucket, which carry its bytes lane after lane; what
    is no whole element goes with the bucket's next part.
    """
    left: dict[Members, dict[Members, int]] = {}
    room: dict[Members, int] = {}
    found: list[Launch] = []
    for bucket, size in launches:
        if bucket not in left:
            lanes = dict.fromkeys(chain.lane[i] for i in bucket)
            each = [tuple(i for i in bucket if chain.lane[i] == lane) for lane in lanes]
            left[bucket] = {some: sum(chain.bytes[list(some)].tolist()) for some in each}
            room[bucket] = 0
        room[bucket] += size
        for some, rest in left[bucket].items():
            part = min(rest, whole_elements(room[bucket], chain.element_bytes(some[0])))
            left[bucket][some] -= part
            room[bucket] -= part
            if part:
                found.append(Launch(some, part))
    return tuple(found)


class _BestOfChannels:
    """The best launches so far of each channel, reported together once all have some."""

    def __init__(self, tensors: Sequence[Sequence[int]], report: Reporter) -> None:
        self._tensors = tensors
        self._report = report
        self._launches: list[list[Launch]] = [[] for _ in tensors]
        self._values = [inf] * len(tensors)

    def offer(self, channel: int, launches: Sequence[Launch], value: float) -> None:
        """Take a plan of one channel, by its own indices, if it is better [us]."""
        if value < self._values[channel]:
            self._values[channel] = value
            self._launches[channel] = _in_chain(launches, self._tensors[channel])
            if max(self._values) < inf:
                self._report([*joined(*self._launches)], max(self._values))


def launches_on(plan: Sequence[Launch], tensors: Sequence[int]) -> Launches:
    """Keep the launches of one channel, by its own indices."""
    index = {i: k for k, i in enumerate(tensors)}
    return tuple(
        Launch(tuple(index[i] for i in bucket), size) for bucket, size in plan if bucket[0] in index
    )


def instead_on(plan: Sequence[Launch], tensors: Sequence[int], launches: Launches) -> Launches:
    """Replace the launches of one channel, by its own indices."""
    others = (launch for launch in plan if launch.bucket[0] not in set(tensors))
    return (*others, *_in_chain(launches, tensors))


def _in_chain(launches: Sequence[Launch], tensors: Sequence[int]) -> list[Launch]:
    """Turn the indices of one channel back to those of the whole chain."""
    return [Launch(tuple(tensors[i] for i in bucket), size) for bucket, size in launches]


def _order(cost: Cost, order: str, slot_us: float | None) -> Order:
    """How the chosen scheduler turns buckets into launches that pay their start-ups."""
    if order == "jackson":
        return partial(cut_at_releases, cost=cost)

    def by_slots(buckets: ChannelBuckets) -> tuple[list[Launch], float]:
        slotted = on_slots(jobs_of(buckets, cost), slot_us, SCHEDULERS[order])
        launches = follow(slotted.schedule, slotted.grid, buckets)
        return launches, value_of(launches, buckets, cost)

    return by_slots
