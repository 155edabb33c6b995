"""The optimum of given buckets, start-up once a bucket: in continuous time and on a grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.buckets import ChannelBuckets, Launch, Members, buckets_of
from solver.chain import Chain, by_channel, subchain
from solver.costs import Cost
from solver.fusion.layered import launches_on
from solver.schedule import SCHEDULERS, Jobs, jackson
from solver.schedule.execute import jobs_of
from solver.schedule.slots import SlotSchedule, on_slots


class SlotSpan(NamedTuple):
    """``slots`` slots from ``slot`` on serve one bucket."""

    slot: int
    slots: int
    bucket: Members


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
    slot, spans, slots_value
        The same on a grid: length of a slot [us], who is served when, its value [us].
    """

    value: float
    critical: tuple[Members, ...]
    release: float | None
    work: float | None
    tail: float | None
    slot: float
    spans: tuple[SlotSpan, ...]
    slots_value: float


def ideal_of(
    chain: Chain,
    costs: Sequence[Cost],
    launches: Sequence[Launch],
    order: str,
    slot_us: float | None,
) -> Ideal:
    """Solve each channel for the launches' buckets, in continuous time and on one grid for all.

    Raises
    ------
    InvalidOptions
        When ``slot_us`` needs too many slots.
    """
    channels: list[tuple[ChannelBuckets, Jobs, Sequence[int]]] = []
    for tensors, cost in zip(by_channel(chain), costs, strict=True):
        groups = {launch.bucket for launch in launches_on(launches, tensors)}
        buckets = buckets_of(subchain(chain, tensors), groups)
        channels.append((buckets, jobs_of(buckets, cost), tensors))
    schedules = [jackson(jobs) for _, jobs, _ in channels]
    last = max(range(len(channels)), key=lambda c: schedules[c].value)
    value = max(schedules[last].value, chain.compute_time)
    critical = schedules[last].critical if schedules[last].value >= chain.compute_time else None
    slotted = _on_one_grid([jobs for _, jobs, _ in channels], order, slot_us)

    def members(channel: int, job: int) -> Members:
        buckets, _, tensors = channels[channel]
        return tuple(tensors[i] for i in buckets.members[job])

    return Ideal(
        value=value,
        critical=tuple(members(last, j) for j in critical.jobs) if critical else (),
        release=critical.release if critical else None,
        work=critical.work if critical else None,
        tail=critical.tail if critical else None,
        slot=slotted[0].slot,
        spans=tuple(
            SlotSpan(int(piece.start), int(piece.end - piece.start), members(channel, piece.job))
            for channel, each in enumerate(slotted)
            for piece in each.schedule.pieces
        ),
        slots_value=max(chain.compute_time, *(s.schedule.value * s.slot for s in slotted)),
    )


def _on_one_grid(jobs: Sequence[Jobs], order: str, slot_us: float | None) -> list[SlotSchedule]:
    """Solve all channels on the coarsest grid that one of them chooses."""
    solver = SCHEDULERS[order]
    slotted = [on_slots(each, slot_us, solver) for each in jobs]
    slot = max(each.slot for each in slotted)
    return [
        schedule if schedule.slot == slot else on_slots(each, slot, solver)
        for each, schedule in zip(jobs, slotted, strict=True)
    ]
