"""Launches of layered chains: each channel is a problem of its own."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

from solver.chain import Buckets, Chain, on_channel, picked
from solver.costs import Cost
from solver.errors import InvalidOptions
from solver.fusion.improve import Judge
from solver.fusion.joint import first_in_first_out, joint
from solver.fusion.maxmin import max_min, unfused
from solver.fusion.search import Fusion, Order, Search, Tell
from solver.schedule import SCHEDULERS
from solver.schedule.execute import Launch, cut_at_releases, follow, jobs_of, value_of
from solver.schedule.slots import on_slots
from solver.simulation.engine import Send
from solver.simulation.replay import sends

#: The fusions by name, called alike; add one here.
FUSIONS: dict[str, Fusion] = {"joint": joint, "maxmin": max_min, "none": unfused}


def decide(
    chain: Chain, costs: Sequence[Cost], fusion: str, order: str, slot_us: float | None, how: Search
) -> tuple[Send, ...]:
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
    parts = [picked(chain, some) for some in kept]
    rivals = [tuple(restricted(rival, some) for rival in how.rivals) for some in kept]
    judges = [Judge(part, cost) for part, cost in zip(parts, costs, strict=True)]
    known = _Known(kept, how.tell)
    if fusion == "joint" and len(kept) > 1:  # a channel's own search tells what it begins with
        for c, judge in enumerate(judges):
            for rival in (first_in_first_out(judge), *rivals[c]):
                known.found(c, rival, judge.value(rival))
    sent: list[Send] = []
    for c, (part, cost, judge) in enumerate(zip(parts, costs, judges, strict=True)):
        search = replace(
            how,
            time_limit_s=how.time_limit_s / len(costs),
            rivals=rivals[c],
            tell=partial(known.found, c),
        )
        ordered = _order(cost, order, slot_us)
        buckets, launches = FUSIONS[fusion](part, cost, ordered, search)
        if not launches:  # the slots are too short for every fusion: say so
            on_slots(jobs_of(buckets, cost), slot_us, SCHEDULERS[order])
        found = tuple(sends(buckets, launches))
        known.found(c, found, judge.value(found))
        sent += [_named(send, kept[c]) for send in found]
    return tuple(sent)


class _Known:
    """The best launches known of each channel, told together once all have some."""

    def __init__(self, kept: Sequence[Sequence[int]], tell: Tell) -> None:
        self._kept = kept
        self._tell = tell
        self._sends: list[list[Send]] = [[] for _ in kept]
        self._values = [inf] * len(kept)

    def found(self, channel: int, sends: Sequence[Send], value: float) -> None:
        """Take a plan of one channel, by its own indices, if it is better [us]."""
        if value < self._values[channel]:
            self._values[channel] = value
            self._sends[channel] = [_named(send, self._kept[channel]) for send in sends]
            if max(self._values) < inf:
                self._tell([send for sends in self._sends for send in sends], max(self._values))


def restricted(rival: Sequence[Send], kept: Sequence[int]) -> tuple[Send, ...]:
    """Keep the sends of one channel, by its own indices."""
    index = {i: k for k, i in enumerate(kept)}
    return tuple(
        Send(tuple(index[i] for i in bucket), size) for bucket, size in rival if bucket[0] in index
    )


def _named(send: Send, kept: Sequence[int]) -> Send:
    return Send(tuple(kept[i] for i in send.bucket), send.bytes)


def _order(cost: Cost, order: str, slot_us: float | None) -> Order:
    """How the chosen scheduler turns buckets into launches that pay their start-ups."""
    if order == "jackson":
        return partial(cut_at_releases, cost=cost)

    def by_slots(buckets: Buckets) -> tuple[list[Launch], float]:
        try:
            slotted = on_slots(jobs_of(buckets, cost), slot_us, SCHEDULERS[order])
        except InvalidOptions:  # not this fusion; the one that is chosen is not excused
            return [], inf
        launches = follow(slotted.schedule, slotted.grid, buckets)
        return launches, value_of(launches, buckets, cost)

    return by_slots
