"""Launches of layered chains: each channel is a problem of its own."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

from solver.buckets import Buckets, Launch
from solver.chain import Chain, on_channel, subchain
from solver.costs import Cost
from solver.fusion.chain.joint import joint
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.maxmin import max_min, unfused
from solver.fusion.search import Fusion, Order, Search, Tell
from solver.schedule import SCHEDULERS
from solver.schedule.execute import cut_at_releases, follow, jobs_of, value_of
from solver.schedule.slots import on_slots

#: The fusions by name, called alike; add one here.
FUSIONS: dict[str, Fusion] = {"joint": joint, "maxmin": max_min, "none": unfused}


def decide(
    chain: Chain, costs: Sequence[Cost], fusion: str, order: str, slot_us: float | None, how: Search
) -> tuple[Launch, ...]:
    """Choose buckets and launches of a layered chain, channel by channel.

    ``fusion`` and ``order`` are keys of :data:`FUSIONS` and of
    :data:`solver.schedule.SCHEDULERS`. The channels' launches come one channel after the other;
    the time limit of ``how`` is shared among them. What is found for one channel is told with the
    best that is known of the others.

    Raises
    ------
    InvalidOptions
        When ``slot_us`` needs too many slots for every fusion.
    """
    kept = [on_channel(chain, channel) for channel in chain.channels]
    parts = [subchain(chain, some) for some in kept]
    rivals = [tuple(restricted(rival, some) for rival in how.rivals) for some in kept]
    judges = [ChainJudge(part, cost) for part, cost in zip(parts, costs, strict=True)]
    known = _Known(kept, how.tell)
    if fusion == "joint" and len(kept) > 1:  # a channel's own search tells what it begins with
        for c, judge in enumerate(judges):
            for rival in (judge.alone(), *rivals[c]):
                known.found(c, rival, judge.value(rival))
    sent: list[Launch] = []
    for c, (part, cost, judge) in enumerate(zip(parts, costs, judges, strict=True)):
        search = replace(
            how,
            time_limit_s=how.time_limit_s / len(costs),
            rivals=rivals[c],
            tell=partial(known.found, c),
        )
        found = FUSIONS[fusion](part, cost, _order(cost, order, slot_us), search)
        known.found(c, found, judge.value(found))
        sent += [_named(launch, kept[c]) for launch in found]
    return tuple(sent)


class _Known:
    """The best launches known of each channel, told together once all have some."""

    def __init__(self, kept: Sequence[Sequence[int]], tell: Tell) -> None:
        self._kept = kept
        self._tell = tell
        self._launches: list[list[Launch]] = [[] for _ in kept]
        self._values = [inf] * len(kept)

    def found(self, channel: int, launches: Sequence[Launch], value: float) -> None:
        """Take a plan of one channel, by its own indices, if it is better [us]."""
        if value < self._values[channel]:
            self._values[channel] = value
            self._launches[channel] = [_named(launch, self._kept[channel]) for launch in launches]
            if max(self._values) < inf:
                self._tell(
                    [launch for launches in self._launches for launch in launches],
                    max(self._values),
                )


def restricted(rival: Sequence[Launch], kept: Sequence[int]) -> tuple[Launch, ...]:
    """Keep the launches of one channel, by its own indices."""
    index = {i: k for k, i in enumerate(kept)}
    return tuple(
        Launch(tuple(index[i] for i in bucket), size)
        for bucket, size in rival
        if bucket[0] in index
    )


def _named(launch: Launch, kept: Sequence[int]) -> Launch:
    return Launch(tuple(kept[i] for i in launch.bucket), launch.bytes)


def _order(cost: Cost, order: str, slot_us: float | None) -> Order:
    """How the chosen scheduler turns buckets into launches that pay their start-ups."""
    if order == "jackson":
        return partial(cut_at_releases, cost=cost)

    def by_slots(buckets: Buckets) -> tuple[list[Launch], float]:
        slotted = on_slots(jobs_of(buckets, cost), slot_us, SCHEDULERS[order])
        launches = follow(slotted.schedule, slotted.grid, buckets)
        return launches, value_of(launches, buckets, cost)

    return by_slots
