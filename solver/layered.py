"""Plans of layered chains: each channel is a problem of its own, exact for given buckets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import NamedTuple

from solver.bounds import LowerBound, lower_bound
from solver.chain import Buckets, Chain, bucketed, on_channel, picked
from solver.costs import Cost
from solver.errors import InvalidOptions
from solver.fusion import Fusion, Order, Search, max_min, unfused
from solver.improve import Judge
from solver.joint import first_in_first_out, joint
from solver.policies.plan import sends
from solver.schedule import SCHEDULERS, Jobs, jackson
from solver.schedule.execute import Launch, cut_at_releases, follow, jobs_of, value_of
from solver.simulate import Send
from solver.slots import Slotted, on_slots
from solver.watch import Tell

#: The fusions by name, called alike; add one here.
FUSIONS: dict[str, Fusion] = {"joint": joint, "maxmin": max_min, "none": unfused}

Bucket = tuple[int, ...]


class Run(NamedTuple):
    """So many slots from ``slot`` on serve a bucket."""

    slot: int
    slots: int
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class Ideal:
    """The optimum of given buckets with start-up paid once a bucket; buckets as chain indices.

    Attributes
    ----------
    value
        Iteration time [us].
    critical, release, work, tail
        The buckets that attain it and the three terms that add up to it [us]; empty and None when
        compute alone takes that long.
    slot, runs, slots_value
        The same on a grid: length of a slot [us], who is served when, its value [us].
    """

    value: float
    critical: tuple[Bucket, ...]
    release: float | None
    work: float | None
    tail: float | None
    slot: float
    runs: tuple[Run, ...]
    slots_value: float


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
    rivals = [tuple(_restricted(rival, some) for rival in how.rivals) for some in kept]
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


def bound_of(chain: Chain, costs: Sequence[Cost]) -> LowerBound:
    """Return the largest bound of the channels, for any fusion, partition and order."""
    best: LowerBound | None = None
    for channel, cost in zip(chain.channels, costs, strict=True):
        kept = on_channel(chain, channel)
        found = lower_bound(picked(chain, kept), cost)
        if best is None or found.value > best.value:
            best = replace(found, members=tuple(kept[i] for i in found.members))
    assert best is not None, "a graph has a collective"
    return best


def _restricted(rival: Sequence[Send], kept: Sequence[int]) -> tuple[Send, ...]:
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


def ideal_of(
    chain: Chain,
    costs: Sequence[Cost],
    sent: Sequence[Send],
    order: str,
    slot_us: float | None,
) -> Ideal:
    """Solve each channel for the buckets that are sent, in continuous time and on one grid for all.

    Raises
    ------
    InvalidOptions
        When ``slot_us`` needs too many slots.
    """
    found: list[tuple[Buckets, Jobs, Sequence[int]]] = []
    for channel, cost in zip(chain.channels, costs, strict=True):
        kept = on_channel(chain, channel)
        groups = {send.bucket for send in _restricted(sent, kept)}
        buckets = bucketed(picked(chain, kept), groups)
        found.append((buckets, jobs_of(buckets, cost), kept))
    schedules = [jackson(jobs) for _, jobs, _ in found]
    last = max(range(len(found)), key=lambda c: schedules[c].value)
    value = max(schedules[last].value, chain.compute_time)
    critical = schedules[last].critical if schedules[last].value >= chain.compute_time else None
    slotted = _on_one_grid([jobs for _, jobs, _ in found], order, slot_us)

    def name(channel: int, job: int) -> Bucket:
        buckets, _, kept = found[channel]
        return tuple(kept[i] for i in buckets.members[job])

    return Ideal(
        value=value,
        critical=tuple(name(last, j) for j in critical.jobs) if critical else (),
        release=critical.release if critical else None,
        work=critical.work if critical else None,
        tail=critical.tail if critical else None,
        slot=slotted[0].slot,
        runs=tuple(
            Run(int(piece.start), int(piece.end - piece.start), name(channel, piece.job))
            for channel, each in enumerate(slotted)
            for piece in each.schedule.pieces
        ),
        slots_value=max(chain.compute_time, *(s.schedule.value * s.slot for s in slotted)),
    )


def _on_one_grid(jobs: Sequence[Jobs], order: str, slot_us: float | None) -> list[Slotted]:
    """Solve all channels on the coarsest grid that one of them chooses."""
    solver = SCHEDULERS[order]
    slotted = [on_slots(each, slot_us, solver) for each in jobs]
    slot = max(each.slot for each in slotted)
    return [
        found if found.slot == slot else on_slots(each, slot, solver)
        for each, found in zip(jobs, slotted, strict=True)
    ]
